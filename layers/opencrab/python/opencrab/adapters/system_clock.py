"""The clock of this machine, and one that stands still until it is told to move."""

import hashlib
import os
import secrets
import string
import time
from datetime import UTC, datetime, timedelta
from threading import Lock

from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import new_ulid

SECRET_LENGTH = 43
"""Letters and digits, 62 of them: 43 are the first number to hold 256 bits."""

_ALPHABET = string.ascii_letters + string.digits
_RANDOM_BYTES = 10


class SystemClock:
    """Time, ids and randomness from the operating system; ids are monotonic ULIDs."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._newest = (0, 0)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def new_id(self) -> str:
        with self._lock:
            milliseconds = time.time_ns() // 1_000_000
            randomness = int.from_bytes(os.urandom(_RANDOM_BYTES), "big")
            self._newest = _after(self._newest, (milliseconds, randomness))
            return _id(*self._newest)

    def secret(self) -> str:
        return "".join(secrets.choice(_ALPHABET) for _ in range(SECRET_LENGTH))

    def monotonic_ms(self) -> float:
        return time.monotonic_ns() / 1_000_000


class FakeClock:
    """A clock for tests: it moves only when told to, and its ids and secrets are deterministic.

    With `step_ms` each call of `now` moves it on, so that a test sees which of two things came
    first.
    """

    def __init__(self, start: datetime, step_ms: int = 0) -> None:
        if start.tzinfo is None:
            raise Invalid("start has no time zone", field="start", cure="add tzinfo=UTC")
        self._lock = Lock()
        self._start = self._now = start.astimezone(UTC)
        self._step = timedelta(milliseconds=step_ms)
        self._newest = (0, 0)
        self._secrets = 0

    def advance(self, seconds: float) -> None:
        """Move the clock forward by a number of seconds."""
        if seconds < 0:
            raise Invalid("time cannot go backwards", field="seconds", cure="use a positive number")
        with self._lock:
            self._now += timedelta(seconds=seconds)

    def now(self) -> datetime:
        with self._lock:
            moment = self._now
            self._now += self._step
            return moment

    def new_id(self) -> str:
        with self._lock:
            milliseconds = (self._now - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)
            self._newest = _after(self._newest, (milliseconds, 0))
            return _id(*self._newest)

    def secret(self) -> str:
        with self._lock:
            self._secrets += 1
            return hashlib.sha256(f"secret {self._secrets}".encode()).hexdigest()

    def monotonic_ms(self) -> float:
        with self._lock:
            return (self._now - self._start) / timedelta(milliseconds=1)


def _after(newest: tuple[int, int], proposed: tuple[int, int]) -> tuple[int, int]:
    """Return the proposed time and randomness, or the next after the newest if that is later.

    Within one millisecond, and after the clock was set back, the randomness is incremented; if it
    overflows, the next millisecond is used.
    """
    if proposed[0] > newest[0]:
        return proposed
    milliseconds, randomness = newest
    if randomness + 1 >= 1 << (8 * _RANDOM_BYTES):
        return milliseconds + 1, 0
    return milliseconds, randomness + 1


def _id(milliseconds: int, randomness: int) -> str:
    return new_ulid(milliseconds, randomness.to_bytes(_RANDOM_BYTES, "big"))
