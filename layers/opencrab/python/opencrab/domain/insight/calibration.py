"""Calibration: what a model's grades of itself are worth, learned from what happened."""

from collections.abc import Sequence
from math import atanh, sqrt, tanh

from opencrab.domain.learning.evidence import BINS, GradedTurns
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.value import Unit, Value

SHRUNK_BY = 20.0
"""The number of turns at the model's mean that are mixed into each step of the curve."""


class CalibrationPoint(Value):
    """One range of self-given grades: their mean, and the mean reward of the turns."""

    said: Unit
    came_to: Unit
    turns: int


class CalibrationCurve(Value):
    """Calibration of self-given grades; `weight` is how informative they are, 0..1.

    `steps` is the estimated reward of a turn by its grade, never falling; `mean` is the mean reward
    of all turns.
    """

    points: tuple[CalibrationPoint, ...] = ()
    steps: tuple[Unit, ...] = ()
    mean: Unit = 0.5
    weight: Unit = 0.0


def self_grade_calibration_curve(bins: Sequence[GradedTurns]) -> CalibrationCurve:
    """Compute a model's calibration curve from its judged turns, by bins of the grade.

    The means of the bins are pooled until they never fall (pool adjacent violators: Ayer, Brunk,
    Ewing, Reid and Silverman 1955) and shrunk towards the model's mean. A model that grades bad
    turns high thus has a flat curve: its grades carry no information. The curve's mean over the
    judged turns is the mean of their rewards: no grades can raise it.
    """
    known = [each for each in bins if each.worth.n]
    together = sum((each.worth for each in known), MomentSums())
    if together.mean is None:
        return CalibrationCurve()
    mean = min(max(together.mean, 0.0), 1.0)
    pooled = _shift_to_mean(_monotone([each.worth for each in bins], mean), bins, mean)
    return CalibrationCurve(
        points=tuple(
            CalibrationPoint(
                said=_unit(each.grades.mean), came_to=_unit(each.worth.mean), turns=each.worth.n
            )
            for each in known
        ),
        steps=tuple(_unit(each) for each in pooled),
        mean=mean,
        weight=_explained_variance(bins, pooled, together),
    )


def _monotone(worths: Sequence[MomentSums], mean: float) -> list[float]:
    """Return means that never fall, each shrunk towards the overall mean."""
    blocks = list[tuple[MomentSums, int]]()
    for each in worths:
        block, width = each, 1
        while blocks and _shrunk_mean(blocks[-1][0], mean) > _shrunk_mean(block, mean):
            before, steps = blocks.pop()
            block, width = before + block, width + steps
        blocks.append((block, width))
    return [_shrunk_mean(block, mean) for block, width in blocks for _ in range(width)]


def _shift_to_mean(steps: Sequence[float], bins: Sequence[GradedTurns], mean: float) -> list[float]:
    """Shift all steps by a constant so that their mean over judged turns is `mean`."""
    turns = sum(each.worth.n for each in bins)
    now = sum(each.worth.n * step for each, step in zip(bins, steps, strict=True)) / turns
    return [step + mean - now for step in steps]


def _shrunk_mean(sums: MomentSums, mean: float) -> float:
    return (sums.total + SHRUNK_BY * mean) / (sums.n + SHRUNK_BY)


def _explained_variance(
    bins: Sequence[GradedTurns], pooled: Sequence[float], together: MomentSums
) -> float:
    """Compute a lower bound of the share of the reward's variance that the curve explains.

    The correlation's lower bound is that of Fisher's z (Fisher 1921), two standard errors down.
    """
    n, mean = together.n, together.total / together.n if together.n else 0.0
    spread = together.squares - n * mean * mean
    fit = sum(each.worth.n * (value - mean) ** 2 for each, value in zip(bins, pooled, strict=True))
    if n < BINS * 2 or spread <= 0:
        return 0.0
    correlation = min(sqrt(max(fit, 0.0) / spread), 0.999)
    bound = tanh(atanh(correlation) - 2 / sqrt(n - 3))
    return min(max(bound, 0.0), 1.0) ** 2


def _unit(value: float | None) -> float:
    return min(max(value or 0.0, 0.0), 1.0)
