"""A skill is promoted when its good is proven, and goes as soon as it hardly can be good."""

import pytest

from opencrab.domain.learning.evidence import Evidence, TreatedAndControl
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.treatment_effect import (
    SkillEffect,
    TrialVerdict,
    skill_trial_verdict,
    trial_effect_of_skill,
    trial_effect_of_skill_over_models,
    trial_effects_of_skill,
)
from opencrab.domain.statistics.confidence import MomentSums

TRIALS = TrialSettings(least_turns=30, most_turns=600)


def ones(good: float, n: int) -> MomentSums:
    """So many zeros and ones with this mean."""
    return MomentSums(n=n, total=good * n, squares=good * n)


def trial(given: float, held: float, turns: int) -> SkillEffect:
    """A trial in which 3 of 10 turns were without the skill."""
    few = turns * 3 // 10
    return trial_effect_of_skill(
        "s", "", TreatedAndControl(given=ones(given, turns - few), held=ones(held, few))
    )


@pytest.mark.parametrize(
    ("found", "what", "why"),
    [
        (trial(1.0, 0.0, 20), TrialVerdict.KEEP, "too_little_data"),
        (
            trial_effect_of_skill("s", "", TreatedAndControl(given=ones(0.9, 500))),
            TrialVerdict.KEEP,
            "too_little_data",
        ),
        (trial(0.8, 0.5, 300), TrialVerdict.PROMOTE, "helps"),
        (trial(0.4, 0.8, 300), TrialVerdict.RETIRE, "harms"),
        (trial(0.6, 0.6, 700), TrialVerdict.RETIRE, "no_use_seen"),
        (trial(0.66, 0.58, 700), TrialVerdict.PROMOTE, "probably_helps"),
        (trial(0.66, 0.58, 200), TrialVerdict.KEEP, "undecided"),
        (trial(0.45, 0.65, 80), TrialVerdict.RETIRE, "no_use_seen"),
    ],
)
def test_the_verdict_follows_from_the_turns_with_and_without(
    found: SkillEffect, what: TrialVerdict, why: str
) -> None:
    decided, reason = skill_trial_verdict(found, TRIALS)
    assert (decided, reason) == (what, why) or (decided, reason) == (what, "probably_harms")


def test_doubt_shrinks_what_few_turns_claim() -> None:
    few, many = trial(0.8, 0.6, 40), trial(0.8, 0.6, 4_000)
    assert few.estimate is not None
    assert many.estimate is not None
    assert few.estimate.low < 0 < many.estimate.low < 0.2 < many.estimate.high < few.estimate.high
    assert 0.5 < few.helps < 0.99 < many.helps
    assert few.useful < few.helps
    assert trial_effect_of_skill("s", "", TreatedAndControl()).helps == 0.5


def test_all_models_come_first_and_names_are_whole() -> None:
    known = Evidence(
        skills={
            "s/v:b": TreatedAndControl(given=ones(0.5, 10), held=ones(0.5, 4)),
            "s/v:a/x": TreatedAndControl(given=ones(0.5, 20), held=ones(0.5, 6)),
            "s-2/v:a": TreatedAndControl(given=ones(0.5, 99)),
        }
    )
    found = trial_effects_of_skill(known, "s")
    assert [(each.model, each.given, each.held) for each in found] == [
        ("", 30, 10),
        ("v:a/x", 20, 6),
        ("v:b", 10, 4),
    ]
    assert trial_effect_of_skill_over_models(known, "s") == found[0]
    assert trial_effects_of_skill(known, "none") == ()
    assert trial_effect_of_skill_over_models(known, "none").estimate is None
