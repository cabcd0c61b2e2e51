"""Curiosity: what grows in an agent while nothing new happens to it."""

from datetime import datetime, timedelta

PATIENCE, RISK_PATIENCE = 10, 20
"""Cycles without a new experience that any agent waits, and those added by risk tolerance 1."""


def autonomy_curiosity_threshold(risk_tolerance: float) -> float:
    """Return the cycles without a new experience before an agent explores (Kingdom 10.4)."""
    return PATIENCE + RISK_PATIENCE * risk_tolerance


def autonomy_curiosity_pressure(
    lived_at: datetime, now: datetime, longing: timedelta, risk_tolerance: float
) -> float:
    """Compute the cycles since the last new experience, divided by the threshold (Kingdom 10.4).

    Above 1 the agent explores. `lived_at` in the future, after a clock was set back, counts as now.
    `longing` is the length of a cycle and must be positive.
    """
    return max((now - lived_at) / longing, 0.0) / autonomy_curiosity_threshold(risk_tolerance)
