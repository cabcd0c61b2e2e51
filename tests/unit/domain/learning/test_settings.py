"""Settings of learning: what they decide where an owner chose nothing."""

import pytest

from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.models.optimization import Aim, LearningMode, OptimizationGoal


def test_settings_decide_where_the_owner_chose_nothing() -> None:
    aim = Aim(goal=OptimizationGoal.MINIMIZE_COST, min_quality=0.9)
    found = TrialSettings().aim_of(aim)
    assert (found.leave, found.explore) == (LearningMode.APPLY, 0.2)
    assert (found.goal, found.min_quality) == (aim.goal, aim.min_quality)
    assert TrialSettings().extra_of_day(aim, 1_000_000) == 100_000
    assert TrialSettings(model_percent=0).aim_of(aim) == aim


@pytest.mark.parametrize(
    "aim",
    [
        Aim(leave=LearningMode.OFF),
        Aim(leave=LearningMode.APPLY),
        Aim(explore=0.1),
        Aim(chosen=True),
    ],
)
def test_what_the_owner_chose_is_kept(aim: Aim) -> None:
    assert TrialSettings().aim_of(aim) == aim
    assert TrialSettings().extra_of_day(aim, 1_000_000) is None


def test_an_aim_of_the_release_before_reads_as_not_chosen() -> None:
    stored = (
        '{"leave":"recommend","goal":"balance","min_quality":0.7,"day_micro_usd":null,'
        '"explore":0.0,"worded":false}'
    )
    assert not Aim.from_stored(stored).is_chosen
