"""A skill is decided when a wrong decision would cost next to nothing, for each type of task."""

from datetime import timedelta

import pytest

from opencrab.domain.learning.evidence import TreatedAndControl
from opencrab.domain.learning.reward_model import RewardBelief
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.treatment_effect import (
    LEAST_WITHHELD,
    MOST_WITHHELD,
    SkillEffect,
    TrialVerdict,
    effect_of_treatment,
    skill_trial_verdict,
    withheld_share,
)
from opencrab.domain.statistics.confidence import Estimate, MomentSums

TRIALS = TrialSettings(least_turns=30, most_turns=600)
SURE, DOUBTFUL = 0.02, 0.08


def effect(mean: float, sd: float = SURE, *, kind: str = "", turns: int = 100) -> SkillEffect:
    """An effect that is believed to be so."""
    belief = RewardBelief(mean, sd)
    low, high = belief.limits
    return SkillEffect(
        skill="s",
        task_type=kind,
        estimate=Estimate(n=turns, mean=mean, low=low, high=high),
        given=turns,
        helps=belief.positive,
        useful=RewardBelief(mean - 0.05, sd).positive,
        lost=belief.loss,
        missed=RewardBelief(-mean, sd).loss,
    )


def trial(whole: SkillEffect, **by_task: SkillEffect) -> tuple[SkillEffect, ...]:
    """All effects of a skill."""
    return (whole, *(each.replaced(task_type=kind) for kind, each in by_task.items()))


@pytest.mark.parametrize(
    ("found", "what", "why", "only"),
    [
        ((), "keep", "too_little_data", ()),
        (trial(effect(0.2, turns=29)), "keep", "too_little_data", ()),
        (trial(effect(0.2)), "promote", "helps", ()),
        (trial(effect(0.2), code=effect(0.2), chat=effect(0.05, turns=9)), "promote", "helps", ()),
        (
            trial(effect(0.2), code=effect(0.2), chat=effect(0.01, DOUBTFUL, turns=9)),
            "promote",
            "helps",
            (),
        ),
        (
            trial(effect(0.2, turns=150), code=effect(0.2), chat=effect(0.01, DOUBTFUL)),
            "promote",
            "helps_some",
            "code",
        ),
        (trial(effect(0.2, 0.13), code=effect(0.2, 0.13)), "keep", "undecided", ()),
        (trial(effect(0.05), code=effect(0.2), chat=effect(-0.1)), "keep", "undecided", ()),
        (
            trial(effect(0.05, turns=150), code=effect(0.2), chat=effect(-0.1)),
            "promote",
            "helps_some",
            "code",
        ),
        (
            trial(effect(0.05), code=effect(0.2), chat=effect(0.01, DOUBTFUL)),
            "keep",
            "undecided",
            (),
        ),
        (trial(effect(-0.2), code=effect(-0.2), chat=effect(-0.2)), "retire", "harms", ()),
        (
            trial(effect(-0.1), code=effect(-0.2), chat=effect(0.05, DOUBTFUL)),
            "keep",
            "undecided",
            (),
        ),
        (trial(effect(0.0), code=effect(0.0)), "keep", "undecided", ()),
        (trial(effect(0.0, turns=600), code=effect(0.0)), "retire", "no_use_seen", ()),
        (trial(effect(0.03, turns=600), code=effect(0.03, DOUBTFUL)), "keep", "undecided", ()),
    ],
)
def test_a_verdict_follows_from_what_a_wrong_one_would_lose(
    found: tuple[SkillEffect, ...], what: str, why: str, only: str | tuple[str, ...]
) -> None:
    kinds = (only,) if isinstance(only, str) else only
    assert skill_trial_verdict(found, TRIALS, timedelta(days=30)) == (
        TrialVerdict(what),
        why,
        kinds,
    )


@pytest.mark.parametrize(("days", "why"), [(3, "undecided"), (30, "harms"), (0, "undecided")])
def test_what_fits_many_turns_a_day_is_tried_with_more_patience(days: float, why: str) -> None:
    unlucky = trial(effect(-0.05, DOUBTFUL), code=effect(-0.05, DOUBTFUL))
    assert skill_trial_verdict(unlucky, TRIALS, timedelta(days=days)).reason == why


def test_what_may_help_is_seldom_withheld_and_what_seems_to_harm_nearly_always() -> None:
    shares = [withheld_share(RewardBelief(mean, 0.1)) for mean in (0.2, 0.03, -0.03, -0.2)]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (LEAST_WITHHELD, MOST_WITHHELD)
    assert shares[1] < 0.15
    assert shares[2] > 0.85


def ones(good: float, n: int) -> MomentSums:
    """So many zeros and ones with this mean."""
    return MomentSums(n=n, total=good * n, squares=good * n)


def test_what_memories_change_is_told_with_its_interval() -> None:
    found = effect_of_treatment(TreatedAndControl(given=ones(0.7, 900), held=ones(0.5, 100)))
    assert found.estimate is not None
    assert 0.1 < found.estimate.mean < 0.2
    assert found.estimate.low > 0
    assert (found.given, found.held, found.turns) == (900, 100, 1_000)
    alone = effect_of_treatment(TreatedAndControl(given=ones(0.7, 900)))
    assert (alone.estimate, alone.helps) == (None, 0.5)
