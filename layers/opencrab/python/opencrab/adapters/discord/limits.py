"""Limits: how many requests Discord takes, as its answers tell it for each bucket.

A bucket holds for one main parameter, such as a channel; which routes share one is known only from
answers. What is not known is allowed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from opencrab.ports.clock import Clock

_KEPT = 500


@dataclass(frozen=True)
class Route:
    """A request as far as limits go: its kind, its main parameter, and whether the bot's own.

    What is answered by an interaction's token is outside the limit of all requests together.
    """

    kind: str
    major: str
    as_bot: bool


@dataclass
class _Bucket:
    left: int
    until: datetime


class RateLimits:
    """What one process knows of the limits."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._names: dict[str, str] = {}
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._everything = clock.now()

    def wait(self, route: Route) -> float:
        """Seconds until a request may be sent; 0 takes one of those that are left."""
        with self._lock:
            key, now = self._key(route), self._clock.now()
            if route.as_bot and now < self._everything:
                return (self._everything - now).total_seconds()
            bucket = self._buckets.get(key)
            if bucket is None or now >= bucket.until:
                return 0.0
            if bucket.left > 0:
                bucket.left -= 1
                return 0.0
            return (bucket.until - now).total_seconds()

    def learn(self, route: Route, headers: Mapping[str, str]) -> None:
        """Remember what an answer says of its bucket."""
        left = _number(headers.get("x-ratelimit-remaining"))
        seconds = _number(headers.get("x-ratelimit-reset-after"))
        if left is None or seconds is None:
            return
        name = headers.get("x-ratelimit-bucket", "")
        with self._lock:
            if name:
                self._names[route.kind] = name
            self._put(route, int(left), seconds)

    def refused(self, route: Route, seconds: float, *, everything: bool) -> None:
        """Remember that nothing is taken for so long: on this route, or at all."""
        with self._lock:
            until = self._put(route, 0, seconds)
            if everything:
                self._everything = max(self._everything, until)

    def _put(self, route: Route, left: int, seconds: float) -> datetime:
        """Keep what is left of a bucket for so many seconds; answers until when that is."""
        key, now = self._key(route), self._clock.now()
        until = now + timedelta(seconds=seconds)
        if len(self._buckets) >= _KEPT:
            self._buckets = {
                key: known for key, known in self._buckets.items() if known.until > now
            }
        self._buckets[key] = _Bucket(left, until)
        return until

    def _key(self, route: Route) -> tuple[str, str]:
        return self._names.get(route.kind, route.kind), route.major


def _number(text: str | None) -> float | None:
    """A header's number, if it is one that can be counted with."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if 0 <= found < timedelta.max.total_seconds() // 2 else None
