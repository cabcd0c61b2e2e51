"""Sign-in codes: each opens the page once, in place of a key that would have to be typed.

They live in the memory of one process, and only their hashes. Whoever sends a code gets the key
with which it was made, so a code gives nobody more than its maker has.
"""

import hmac
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock

from opencrab.domain.errors import Unauthenticated
from opencrab.domain.identifier import content_hash
from opencrab.ports.clock import Clock

SIGN_IN_MINUTES = 10
MOST_WRONG = 20
"""After so many wrong codes all that are open are void; each has 256 bits, so nobody gets there."""

MOST_OPEN = 16
"""So many codes may be open at once; another one replaces the oldest."""


@dataclass(frozen=True)
class SignInCode:
    """A new code, which is shown once, and the time at which it expires."""

    code: str
    expires_at: datetime


@dataclass(frozen=True)
class _OpenCode:
    """A code that nobody has used; `wrong` counts the wrong ones that were sent since."""

    digest: str
    key: str
    expires_at: datetime
    wrong: int = 0


class SignInCodes:
    """The codes of one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._open: tuple[_OpenCode, ...] = ()

    def make(self, key: str) -> SignInCode:
        """Make a code for this key, good for one use within ten minutes."""
        made = SignInCode(
            self._clock.secret(), self._clock.now() + timedelta(minutes=SIGN_IN_MINUTES)
        )
        with self._lock:
            kept = self._valid()[1 - MOST_OPEN :]
            self._open = (*kept, _OpenCode(_digest(made.code), key, made.expires_at))
        return made

    def redeem(self, code: str) -> str:
        """Return the key of a code and use the code up; raises Unauthenticated for a wrong one."""
        digest = _digest(code)
        with self._lock:
            # Every open code is compared, so that the time tells nothing about any of them.
            found = [each for each in self._valid() if hmac.compare_digest(each.digest, digest)]
            kept = (each for each in self._valid() if each not in found)
            if found:
                self._open = tuple(kept)
                return found[0].key
            counted = (replace(each, wrong=each.wrong + 1) for each in kept)
            self._open = tuple(each for each in counted if each.wrong < MOST_WRONG)
        raise Unauthenticated(
            "this sign-in link is wrong, used up or expired",
            field="code",
            cure="make another one with `opencrab open`, or sign in with an API key",
        )

    def _valid(self) -> tuple[_OpenCode, ...]:
        now = self._clock.now()
        return tuple(each for each in self._open if each.expires_at > now)


def _digest(code: str) -> str:
    return content_hash(code.encode())
