"""Limits: Discord's rate limits per bucket, as headers tell them and as 429 enforces them."""

import hashlib
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from opencrab.ports.clock import Clock


@dataclass(frozen=True)
class Rate:
    """So many requests in so many seconds."""

    requests: int
    seconds: float


@dataclass
class _Window:
    rate: Rate
    began: datetime
    used: int = 0

    def left(self, now: datetime) -> float:
        """Seconds until it begins anew."""
        return (self.began + timedelta(seconds=self.rate.seconds) - now).total_seconds()


@dataclass
class Verdict:
    """The headers of an answer, and after how many seconds a refused request may come again."""

    headers: dict[str, str]
    retry_after: float | None = None
    everywhere: bool = False


@dataclass
class Limits:
    """Buckets, one for each kind of route and its main parameter; off, they are told only."""

    clock: Clock
    enforced: bool = False
    rates: dict[str, Rate] = field(default_factory=dict)
    overall: Rate = field(default_factory=lambda: Rate(50, 1))
    _windows: dict[str, _Window] = field(default_factory=dict)

    def take(self, kind: str, major: str, *, as_bot: bool) -> Verdict:
        """Count a request, and tell whether it is one too many."""
        if as_bot and self.enforced:
            overall = self._window("overall", self.overall)
            overall.used += 1
            if overall.used > overall.rate.requests:
                after = overall.left(self.clock.now())
                return Verdict({"X-RateLimit-Global": "true"}, after, everywhere=True)
        return self._one(kind, major)

    def _one(self, kind: str, major: str) -> Verdict:
        rate = self._rate(kind)
        window = self._window(f"{kind} {major}", rate)
        window.used += 1
        now = self.clock.now()
        after = window.left(now)
        headers = {
            "X-RateLimit-Limit": str(rate.requests),
            "X-RateLimit-Remaining": str(max(0, rate.requests - window.used)),
            "X-RateLimit-Reset": f"{now.timestamp() + after:.3f}",
            "X-RateLimit-Reset-After": f"{after:.3f}",
            "X-RateLimit-Bucket": hashlib.sha256(kind.encode()).hexdigest()[:32],
        }
        if self.enforced and window.used > rate.requests:
            return Verdict({**headers, "X-RateLimit-Scope": "user"}, after)
        return Verdict(headers)

    def _rate(self, kind: str) -> Rate:
        for pattern, rate in self.rates.items():
            if re.search(pattern, kind):
                return rate
        return Rate(5, 5)

    def _window(self, key: str, rate: Rate) -> _Window:
        now = self.clock.now()
        window = self._windows.get(key)
        if window is None or window.left(now) <= 0 or window.rate != rate:
            window = self._windows[key] = _Window(rate, now)
        return window
