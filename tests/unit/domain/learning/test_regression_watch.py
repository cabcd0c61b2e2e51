"""A mix is taken back where its own models became worse, and for nothing else."""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.learning.bandit import BanditMix
from opencrab.domain.learning.change import Adjustment, AdjustmentState
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.learning.model_selection import mix_adjustment
from opencrab.domain.learning.regression_watch import (
    WATCHED,
    models_with_regression,
    start_regression_watch_after,
)
from opencrab.domain.statistics.confidence import Estimate
from tests.unit.domain.learning.test_model_selection import MIXED, TASK, ground
from tests.unit.domain.measured import GPT, MINI, NOW, evidence, of


@pytest.mark.parametrize(
    ("later", "is_so"),
    [
        (of(60, 0.9), False),
        (of(60, 0.1), True),
        (of(0, 0).replaced(failed=60), True),
        (of(60, 0.9).replaced(failed=60), True),
        (of(10, 0.0), False),
    ],
)
def test_a_mix_fell_where_later_turns_or_missing_answers_say_so(
    later: ModelEvidence,
    is_so: bool,  # noqa: FBT001 - a table
) -> None:
    before = evidence(mini=of(100, 0.8).replaced(failed=3))
    made = mix_adjustment(
        ground(evidence=before), TASK, MIXED, NOW, by="x", state=AdjustmentState.APPLIED
    )
    then = made.evidence["then"][MINI]
    assert (then["n"], then["failed"]) == (100, 3)
    assert bool(models_with_regression(made, before + evidence(mini=later))) is is_so
    assert not models_with_regression(made.replaced(evidence={}), before)


def test_models_that_stay_as_they_were_are_no_reason_however_often_each_is_asked() -> None:
    """Half and half of 0.3 and 0.9 was expected; then nine of ten turns are those of the worse."""
    before = evidence(mini=of(300, 0.3), gpt=of(300, 0.9))
    halves = MIXED.replaced(
        weights={"fast": 0.5, "smart": 0.5}, quality=Estimate(n=600, mean=0.6, low=0.55, high=0.65)
    )
    made = mix_adjustment(
        ground(evidence=before), TASK, halves, NOW, by="x", state=AdjustmentState.APPLIED
    )
    assert not models_with_regression(made, before + evidence(mini=of(180, 0.3), gpt=of(20, 0.9)))
    assert models_with_regression(made, before + evidence(mini=of(180, 0.3), gpt=of(60, 0.1)))
    # What is asked now and then says nothing of the mix.
    seldom = made.replaced(after={"weights": {"fast": 0.9, "smart": 0.1}})
    assert not models_with_regression(seldom, before + evidence(gpt=of(100, 0.1)))


def test_a_mix_is_judged_by_what_follows_its_own_day() -> None:
    before = evidence(mini=of(100, 0.8))
    made = mix_adjustment(
        ground(evidence=before), TASK, MIXED, NOW, by="x", state=AdjustmentState.APPLIED
    )
    day = before + evidence(mini=of(60, 0.1))
    counted = start_regression_watch_after(made, day, "2026-11-22")
    assert counted.evidence["until"] == "2026-11-22"
    assert (models_with_regression(made, day), models_with_regression(counted, day)) == (
        (MINI,),
        (),
    )
    assert models_with_regression(counted, day + evidence(mini=of(60, 0.1)))


def test_a_mix_that_only_tries_another_model_is_watched_on_and_not_anew() -> None:
    """Else whoever tries one model after the other never notices that the best one fell."""
    before = evidence(mini=of(100, 0.8))
    first = start_regression_watch_after(applied(before), before, "2026-11-22")
    fallen = before + evidence(mini=of(30, 0.1))
    other = MIXED.replaced(weights={"fast": 0.8, "smart": 0.2})
    second = applied(fallen, other, earlier=(first,))
    assert second.evidence["from"] == first.at.isoformat()
    assert second.evidence["then"][MINI] == first.evidence["then"][MINI]
    assert second.evidence["then"][GPT]["n"] == 0
    later = start_regression_watch_after(second, fallen, "2026-11-23")
    assert models_with_regression(later, fallen + evidence(mini=of(30, 0.1))) == (MINI,)


def test_what_a_watch_begins_with_is_not_carried_to_another_best_model_nor_for_ever() -> None:
    before = evidence(mini=of(100, 0.8), gpt=of(100, 0.8))
    first = start_regression_watch_after(applied(before), before, "2026-11-22")
    another = MIXED.replaced(weights={"smart": 1.0}, best=("smart",))
    assert "from" not in applied(before, another, earlier=(first,)).evidence
    assert "from" not in applied(before).evidence
    old = first.replaced(at=NOW - WATCHED - timedelta(days=1))
    assert "from" not in applied(before, earlier=(old,)).evidence
    uncounted = applied(before)
    assert "from" not in applied(before, earlier=(uncounted,)).evidence


def test_only_the_models_that_fell_are_named() -> None:
    before = evidence(mini=of(300, 0.9), gpt=of(300, 0.9))
    made = applied(before, MIXED.replaced(weights={"fast": 0.9, "smart": 0.1}))
    after = before + evidence(mini=of(90, 0.1), gpt=of(60, 0.9))
    assert models_with_regression(made, after) == (MINI,)


def applied(known: Evidence, mixed: BanditMix = MIXED, **changes: Any) -> Adjustment:
    """A mix that holds, on what is known."""
    rests_on = ground(evidence=known, **changes)
    return mix_adjustment(rests_on, TASK, mixed, NOW, by="x", state=AdjustmentState.APPLIED)
