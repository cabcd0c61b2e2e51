"""Effect: by how much a skill changes what turns are worth, and what follows from that."""

from enum import StrEnum
from math import erf, sqrt

from opencrab.domain.learning.evidence import Evidence, TreatedAndControl
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.statistics.confidence import Estimate, estimate_difference
from opencrab.domain.value import Unit, Value

EXPECTED = 0.1
"""The prior's standard deviation of a skill's effect (10 points)."""

USEFUL = 0.05
"""The least effect of a skill that is worth its place (5 points)."""

SURE, LIKELY, HARMS, HOPELESS = 0.975, 0.95, 0.1, 0.15
"""Probabilities by which trials end: SURE is that of a 95 % credible interval above 0."""

_NO_ERROR = 1e-9


class SkillEffect(Value):
    """The measured effect of a skill with one model, or with all ("").

    `given` and `held` are the numbers of judged turns with the skill and without it. `estimate` is
    the difference of their rewards; None if one of both has none. `helps` is the probability that
    the effect is above 0, `useful` that it is at least USEFUL.
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
        """The number of judged turns on which the estimate rests."""
        return self.given + self.held


class TrialVerdict(StrEnum):
    """The decision about a skill on trial."""

    PROMOTE = "promote"
    KEEP = "keep"
    RETIRE = "retire"


def trial_effects_of_skill(evidence: Evidence, skill: str) -> tuple[SkillEffect, ...]:
    """Compute the effect with all models together, then with each; () without evidence."""
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
        trial_effect_of_skill(skill, "", together),
        *(trial_effect_of_skill(skill, model, by_model[model]) for model in sorted(by_model)),
    )


def trial_effect_of_skill_over_models(evidence: Evidence, skill: str) -> SkillEffect:
    """Compute the effect with all models together."""
    paired = (found for key, found in evidence.skills.items() if key.partition("/")[0] == skill)
    return trial_effect_of_skill(skill, "", sum(paired, TreatedAndControl()))


def trial_effect_of_skill(skill: str, model: str, paired: TreatedAndControl) -> SkillEffect:
    """Compute the effect of a skill from turns with it and without it."""
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
    """Decide about a skill on trial; returns the verdict and the code of the reason.

    Benefit must be nearly certain: the interval lies above 0 (`helps`), or the narrower one of the
    posterior does (`probably_helps`: SURE, and LIKELY once the trial is over). As the posterior is
    checked each night, a few skills without effect pass. Harm needs less: if a benefit is nearly
    ruled out the trial ends (`harms`, `probably_harms`), since every further turn costs users
    something, and a retired skill can come back. A skill that hardly can be useful, or whose trial
    is over without a sign of it, is retired too (`no_use_seen`): others wait for its place.
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
    """Compute the probability that the difference is above `least`, with the prior of EXPECTED.

    The posterior of a normal mean with known error (Gelman et al., "Bayesian Data Analysis", 2.5).
    """
    given, held = paired.given, paired.held
    if given.mean is None or held.mean is None:
        return 0.5 * (1 - erf(least / EXPECTED / sqrt(2)))
    error = max(given.variance / given.n + held.variance / held.n, _NO_ERROR)
    precision = 1 / EXPECTED**2 + 1 / error
    middle = (given.mean - held.mean) / error / precision
    return 0.5 * (1 + erf((middle - least) * sqrt(precision / 2)))
