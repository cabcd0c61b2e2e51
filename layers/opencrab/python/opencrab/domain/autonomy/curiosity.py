"""Curiosity: what grows in an agent while nothing new happens to it."""

from datetime import datetime, timedelta

PATIENCE, RISK_PATIENCE = 10, 20
"""Cycles without anything new that the careful bear, and those that the daring bear beyond it."""


def curiosity_threshold(risk_tolerance: float) -> float:
    """Cycles without a new experience after which an agent wants to explore (Kingdom 10.4)."""
    return PATIENCE + RISK_PATIENCE * risk_tolerance


def curiosity_pressure(
    lived_at: datetime, now: datetime, longing: timedelta, risk_tolerance: float
) -> float:
    """Cycles since the last new experience over the threshold (Kingdom 10.4).

    Over 1 the agent explores. An experience of the future, after a clock was set back, is one of
    now. `longing` is how long a cycle takes, and longer than nothing.
    """
    return max((now - lived_at) / longing, 0.0) / curiosity_threshold(risk_tolerance)
