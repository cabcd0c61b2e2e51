"""Health of a provider: after some failures in a row nobody asks it for a while, then one does."""

from datetime import datetime, timedelta

from opencrab.domain.value import Value

FAILURES = 3
"""So many failures in a row begin a pause."""

_WINDOW = timedelta(minutes=10)
_SHORTEST = timedelta(seconds=30)
_LONGEST = timedelta(minutes=5)


class BreakerState(Value):
    """Failures in a row, when the last one was, and until when the provider is left alone."""

    failures: int = 0
    failed_at: datetime
    paused_until: datetime | None = None

    def is_paused(self, now: datetime) -> bool:
        """Whether nobody should ask it now; a pause that no rule gives is a clock gone wrong."""
        return self.paused_until is not None and now < self.paused_until <= now + _LONGEST

    def needs_probe(self, now: datetime) -> bool:
        """Whether its pause is over, so that one caller should try it and the others wait."""
        return self.paused_until is not None and not self.is_paused(now)

    def probed(self, now: datetime) -> "BreakerState":
        """While one caller tries it."""
        return self.replaced(paused_until=now + _SHORTEST)


def record_model_failure(
    health: BreakerState | None, now: datetime, *, at_once: bool = False
) -> BreakerState:
    """After one more failure; each pause is twice as long as the last, up to five minutes.

    `at_once` is for a failure that leaves no doubt, such as a quota that is spent.
    """
    stale = health is None or now - health.failed_at > _WINDOW
    failures = (0 if health is None or stale else health.failures) + 1
    if at_once:
        failures = max(failures, FAILURES)
    pause = None
    if failures >= FAILURES:
        pause = now + min(_SHORTEST * 2 ** min(failures - FAILURES, 10), _LONGEST)
    return BreakerState(failures=failures, failed_at=now, paused_until=pause)
