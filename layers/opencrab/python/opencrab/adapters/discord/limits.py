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
    """The scope of a rate limit: kind of request, major parameter, and whether it is the bot's.

    Requests with an interaction's token do not count toward the bot's global limit.
    """

    kind: str
    major: str
    as_bot: bool


@dataclass
class _Bucket:
    left: int
    until: datetime


class DiscordRateLimits:
    """Discord's rate limits as this process knows them from response headers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._names: dict[str, str] = {}
        self._buckets: dict[tuple[str, str], _Bucket] = {}
        self._everything = clock.now()

    def try_acquire(self, route: Route, *, spare: int = 0) -> float:
        """Count a request as sent and return 0, or return the seconds until one may be sent.

        At least `spare` requests are left for others.
        """
        with self._lock:
            key, now = self._key(route), self._clock.now()
            if route.as_bot and now < self._everything:
                return (self._everything - now).total_seconds()
            bucket = self._buckets.get(key)
            if bucket is None or now >= bucket.until:
                return 0.0
            if bucket.left > spare:
                bucket.left -= 1
                return 0.0
            return (bucket.until - now).total_seconds()

    def update_from_headers(self, route: Route, headers: Mapping[str, str]) -> None:
        """Update a route's bucket from the rate limit headers of a response."""
        left = _number(headers.get("x-ratelimit-remaining"))
        seconds = _number(headers.get("x-ratelimit-reset-after"))
        if left is None or seconds is None:
            return
        name = headers.get("x-ratelimit-bucket", "")
        with self._lock:
            if name:
                self._names[route.kind] = name
            self._put(route, int(left), seconds)

    def block(self, route: Route, seconds: float, *, everything: bool) -> None:
        """Record an HTTP 429: block this route, or with `everything` all of the bot's routes."""
        with self._lock:
            until = self._put(route, 0, seconds)
            if everything:
                self._everything = max(self._everything, until)

    def _put(self, route: Route, left: int, seconds: float) -> datetime:
        """Set a bucket's remaining requests for a number of seconds; return when it resets."""
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
    """Parse a header as a non-negative number; None if it is none or too large for a timedelta."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if 0 <= found < timedelta.max.total_seconds() // 2 else None
