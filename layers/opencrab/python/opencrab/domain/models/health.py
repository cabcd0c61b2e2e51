"""Circuit breaker of a provider: failures in a row start a pause, then one call probes it."""

from datetime import datetime, timedelta

from opencrab.domain.value import Value

FAILURES = 3
"""The number of failures in a row that starts a pause."""

_WINDOW = timedelta(minutes=10)
_SHORTEST = timedelta(seconds=30)
_LONGEST = timedelta(minutes=5)


class BreakerState(Value):
    """The circuit breaker of a provider: failures in a row, time of the last, end of the pause."""

    failures: int = 0
    failed_at: datetime
    paused_until: datetime | None = None

    def is_paused(self, now: datetime) -> bool:
        """Check whether the provider should not be called now.

        A pause longer than the maximum (5 minutes) comes from a wrong clock and does not count.
        """
        return self.paused_until is not None and now < self.paused_until <= now + _LONGEST

    def needs_probe(self, now: datetime) -> bool:
        """Check whether the breaker is half-open: its pause is over, and one caller may probe."""
        return self.paused_until is not None and not self.is_paused(now)

    def with_probe(self, now: datetime) -> "BreakerState":
        """Return the state while one caller tries the provider (30 seconds)."""
        return self.replaced(paused_until=now + _SHORTEST)


def record_model_failure(
    health: BreakerState | None, now: datetime, *, at_once: bool = False
) -> BreakerState:
    """Return the state after one more failure; each pause doubles, from 30 s to 5 minutes.

    `at_once` starts the pause on the first failure, for a certain one such as a spent quota.
    """
    stale = health is None or now - health.failed_at > _WINDOW
    failures = (0 if health is None or stale else health.failures) + 1
    if at_once:
        failures = max(failures, FAILURES)
    pause = None
    if failures >= FAILURES:
        pause = now + min(_SHORTEST * 2 ** min(failures - FAILURES, 10), _LONGEST)
    return BreakerState(failures=failures, failed_at=now, paused_until=pause)
