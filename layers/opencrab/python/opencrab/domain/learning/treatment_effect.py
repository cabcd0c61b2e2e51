"""Effect: by how much a skill changes what turns are worth, and what follows from that."""

from enum import StrEnum
from math import erf, sqrt

from opencrab.domain.learning.evidence import Evidence, TreatedAndControl
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.statistics.confidence import Estimate, estimate_difference
from opencrab.domain.value import Unit, Value

EXPECTED = 0.1
"""Standard deviation of what skills are expected to change before anything is known (10 points)."""

USEFUL = 0.05
"""What a skill must change to be worth its place (5 points)."""

SURE, LIKELY, HARMS, HOPELESS = 0.975, 0.95, 0.1, 0.15
"""Probabilities by which trials end: SURE is that of a 95 % credible interval above 0."""

_NO_ERROR = 1e-9


class SkillEffect(Value):
    """What a skill does with one model, or with all ("").

    `given` and `held` are the judged turns of which it was part and from which it was withheld.
    `estimate` is the difference of their worths; None where one of both has none. `helps` is how
    probable it is that the skill does some good, `useful` that it does as much as USEFUL.
    """

    skill: str
    model: str = ""
    estimate: Estimate | None = None
    given: int = 0
    held: int = 0
    helps: Unit = 0.5
    useful: Unit = 0.5

    @property
    def turns(self) -> int:
        """Judged turns on which this rests."""
        return self.given + self.held


class TrialVerdict(StrEnum):
    """What becomes of a skill on trial."""

    PROMOTE = "promote"
    KEEP = "keep"
    RETIRE = "retire"


def skill_effects(evidence: Evidence, skill: str) -> tuple[SkillEffect, ...]:
    """The effect with all models together, then with each; () where nothing is known."""
    by_model = {
        model: paired
        for name, _, model in (key.partition("/") for key in evidence.skills)
        if name == skill
        for paired in (evidence.skills[f"{name}/{model}"],)
    }
    if not by_model:
        return ()
    together = sum(by_model.values(), TreatedAndControl())
    return (
        skill_effect(skill, "", together),
        *(skill_effect(skill, model, by_model[model]) for model in sorted(by_model)),
    )


def overall_skill_effect(evidence: Evidence, skill: str) -> SkillEffect:
    """The effect with all models together."""
    paired = (found for key, found in evidence.skills.items() if key.partition("/")[0] == skill)
    return skill_effect(skill, "", sum(paired, TreatedAndControl()))


def skill_effect(skill: str, model: str, paired: TreatedAndControl) -> SkillEffect:
    """What two groups of turns tell of a skill."""
    return SkillEffect(
        skill=skill,
        model=model,
        estimate=estimate_difference(paired.given, paired.held),
        given=paired.given.n,
        held=paired.held.n,
        helps=_above(paired, 0.0),
        useful=_above(paired, USEFUL),
    )


def skill_trial_verdict(effect: SkillEffect, trials: TrialSettings) -> tuple[TrialVerdict, str]:
    """What becomes of a skill, and the word for why.

    Good must be all but certain: the interval lies above 0 (`helps`), or so does the narrower one
    of the posterior (`probably_helps`: SURE, and LIKELY once the trial is over). As that one is
    looked at each night, a few skills pass that do nothing. Harm need not be: where good is as good
    as ruled out the trial ends (`harms`, `probably_harms`), since every further turn of it costs
    people something, and a retired skill can come back. So does one that leaves hardly any hope of
    being useful, or whose trial is over without a sign of it (`no_use_seen`): others wait for its
    place.
    """
    if effect.estimate is None or effect.turns < trials.least_turns:
        return TrialVerdict.KEEP, "too_little_data"
    over = effect.turns >= trials.most_turns
    words = (
        (effect.estimate.low > 0, TrialVerdict.PROMOTE, "helps"),
        (effect.estimate.high < 0, TrialVerdict.RETIRE, "harms"),
        (effect.helps <= HARMS, TrialVerdict.RETIRE, "probably_harms"),
        (effect.helps >= (LIKELY if over else SURE), TrialVerdict.PROMOTE, "probably_helps"),
        (over or effect.useful <= HOPELESS, TrialVerdict.RETIRE, "no_use_seen"),
    )
    fitting = ((found, why) for applies, found, why in words if applies)
    return next(fitting, (TrialVerdict.KEEP, "undecided"))


def _above(paired: TreatedAndControl, least: float) -> float:
    """How probable it is that the difference is above `least`, with the prior of EXPECTED.

    The posterior of a normal mean with known error (Gelman et al., "Bayesian Data Analysis", 2.5).
    """
    given, held = paired.given, paired.held
    if given.mean is None or held.mean is None:
        return 0.5 * (1 - erf(least / EXPECTED / sqrt(2)))
    error = max(given.variance / given.n + held.variance / held.n, _NO_ERROR)
    precision = 1 / EXPECTED**2 + 1 / error
    middle = (given.mean - held.mean) / error / precision
    return 0.5 * (1 + erf((middle - least) * sqrt(precision / 2)))
