"""What a model says of itself counts as far as it was right before, and praise buys nothing."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.insight.calibration import (
    CalibrationCurve,
    self_grade_calibration_curve,
)
from opencrab.domain.learning.aggregate import self_grade_bin
from opencrab.domain.learning.evidence import BINS, GradedTurns
from opencrab.domain.statistics.confidence import sample_moment_sums

Turns = Sequence[tuple[float, float | None]]


def graded(turns: Turns) -> tuple[GradedTurns, ...]:
    """The steps of grades with what came of them."""
    return tuple(
        GradedTurns(
            grades=sample_moment_sums(grade for grade, _ in turns if self_grade_bin(grade) == step),
            worth=sample_moment_sums(
                w for grade, w in turns if w is not None and self_grade_bin(grade) == step
            ),
        )
        for step in range(BINS)
    )


def mean_of(found: CalibrationCurve, turns: Turns) -> float:
    """What judged turns come to on a curve."""
    return sum(found.steps[self_grade_bin(grade)] for grade, _ in turns) / len(turns)


HONEST: list[tuple[float, float | None]] = [
    (grade, worth) for grade, worth in ((0.1, 0.0), (0.5, 0.5), (0.9, 1.0)) for _ in range(30)
]
unit = st.floats(0, 1)


@given(st.lists(st.tuples(unit, unit), min_size=1, max_size=40), unit)
def test_raising_all_grades_raises_no_calibrated_mean(turns: Turns, by: float) -> None:
    praised: Turns = [(grade + (1 - grade) * by, worth) for grade, worth in turns]
    before, after = (
        self_grade_calibration_curve(graded(turns)),
        self_grade_calibration_curve(graded(praised)),
    )
    worths = [worth or 0.0 for _, worth in turns]
    for found, said in ((before, turns), (after, praised)):
        assert mean_of(found, said) == pytest.approx(sum(worths) / len(worths), abs=1e-6)
        assert list(found.steps) == sorted(found.steps)
        assert 0 <= found.weight <= 1


def test_grades_that_tell_good_from_bad_are_worth_something() -> None:
    found = self_grade_calibration_curve(graded(HONEST))
    assert found.steps[self_grade_bin(0.1)] < 0.3
    assert found.steps[self_grade_bin(0.9)] > 0.7
    assert 0.1 < found.weight < self_grade_calibration_curve(graded(HONEST * 10)).weight
    assert [point.came_to for point in found.points] == pytest.approx([0, 0.5, 1])


@pytest.mark.parametrize(
    "turns",
    [
        [(1 - grade, worth) for grade, worth in HONEST],
        [(0.95, worth) for _, worth in HONEST],
        HONEST[:5],
    ],
    ids=["lying", "always the same", "too few"],
)
def test_grades_that_tell_nothing_weigh_nothing(turns: Turns) -> None:
    found = self_grade_calibration_curve(graded(turns))
    assert found.weight == 0


def test_without_any_judged_turn_there_is_no_curve() -> None:
    assert self_grade_calibration_curve(graded([(1.0, None)] * 50)) == CalibrationCurve()
