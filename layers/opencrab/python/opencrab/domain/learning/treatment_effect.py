"""Effect: by how much a skill changes what turns are worth, and what follows from that."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from opencrab.domain.learning.evidence import Evidence, TreatedAndControl
from opencrab.domain.learning.reward_model import FIT, RewardBelief, RewardPosterior, normal_share
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.statistics.confidence import Estimate
from opencrab.domain.value import Unit, Value

EXPECTED = 0.1
"""The prior's standard deviation of what withholding memories changes (10 points)."""

USEFUL = 0.05
"""The least effect of a skill that is worth its place (5 points)."""

LOSS, MISSED, MISSED_ELSEWHERE = 0.004, 0.03, 0.04
"""The greatest expected loss of a decision, as a share of a turn's worth: of giving a skill to
everybody, of no longer trying one that seems to harm, which is withheld from most turns anyhow, and
of no longer trying in other types of task one that helps in some."""

MISSED_A_DAY = 0.08
"""The same as MISSED, on all judged turns of a day together: where a skill fits many, it had bad
luck in thirty of them within days, and a little more patience tells bad luck from harm."""

SURE, LIKELY, HARMS = 0.95, 0.7, 0.33
"""The probabilities of a benefit: the least in a type of task for which a skill is promoted; the
least in the other types if it is promoted for all; and the greatest of one that is retired, which
by then is given in few turns, so that hardly more is learned of it."""

LONG = 150
"""The least judged turns of a skill that is promoted for some types of task only: the others would
miss it for good."""

SMALL = 0.15
"""The share of turns below which a type of task does not keep a skill from being promoted for all.
"""

HOPELESS = 0.1
"""The greatest probability of an effect of USEFUL in any type of task that ends a long trial."""

EXPLORED, SCALE = 0.4, 0.5
"""The share of turns that draw from the posterior, and the factor of its standard deviation."""

_NO_ERROR = 1e-9

LEAST_WITHHELD, MOST_WITHHELD = 0.04, 0.96
"""Limits of the probability with which a skill on trial is withheld: both sides stay measured."""


class SkillEffect(Value):
    """The measured effect of a skill for one type of task, or for all ("") in their proportions.

    `given` and `held` are the numbers of judged turns with the skill and without it, rounded where
    older ones count less. `estimate` is the posterior mean with its 95 % credible interval; None
    without any turn. `helps` is the probability that the effect is above 0, `useful` that it is at
    least USEFUL; `lost` is the expected loss if it is given, `missed` if it is not.
    """

    skill: str
    task_type: str = ""
    estimate: Estimate | None = None
    given: int = 0
    held: int = 0
    helps: Unit = 0.5
    useful: Unit = 0.5
    lost: float = 0.0
    missed: float = 0.0

    @property
    def turns(self) -> int:
        """The number of judged turns on which the estimate rests."""
        return self.given + self.held


class TrialVerdict(StrEnum):
    """The decision about a skill on trial."""

    PROMOTE = "promote"
    KEEP = "keep"
    RETIRE = "retire"


class SkillVerdict(NamedTuple):
    """A decision, the code of its reason, and the only types of task that it keeps a skill for."""

    word: TrialVerdict
    reason: str
    only: tuple[str, ...] = ()


def trial_effects_of_skill(
    posterior: RewardPosterior, evidence: Evidence, skill: str
) -> tuple[SkillEffect, ...]:
    """Compute the effect over all types of task, then for each, most turns first.

    () without any turn.
    """
    paired = (found for key, found in evidence.skills.items() if key.partition("/")[0] == skill)
    counts = sum(paired, TreatedAndControl())
    weights = posterior.skill_task_weights(skill)
    if not counts.given.n + counts.held.n:
        return ()
    whole = sum(weights.values())
    shares = {kind: weight / whole for kind, weight in weights.items()} if whole else {}
    found = [_effect(posterior, skill, "", shares, (counts.given.n, counts.held.n))]
    for kind in sorted(weights, key=lambda kind: (-weights[kind], kind)):
        fit = f"{FIT}/{skill}/{kind}"
        given = posterior.sums.weight(fit)
        turns = round(given), round(max(weights[kind] - given, 0.0))
        found.append(_effect(posterior, skill, kind, {kind: 1.0}, turns))
    return tuple(found)


def _effect(
    posterior: RewardPosterior,
    skill: str,
    task_type: str,
    shares: Mapping[str, float],
    turns: tuple[int, int],
) -> SkillEffect:
    bare = SkillEffect(skill=skill, task_type=task_type, given=turns[0], held=turns[1])
    return _of_belief(bare, posterior.of_skill(skill, shares))


def skill_trial_verdict(
    effects: Sequence[SkillEffect], trials: TrialSettings, tried: timedelta
) -> SkillVerdict:
    """Decide about a skill, `tried` for so long, by its effects: over all types of task first.

    A decision is made when little worth can be lost by it (LOSS, MISSED and MISSED_A_DAY,
    MISSED_ELSEWHERE): giving the skill to all turns it fits (`helps`), to those of the types of
    task for which it helps (`helps_some`), or to none (`harms`). Until then its turns are its
    experiment, at a cost that the posterior keeps small. A skill without effect is let go only
    after `most_turns` (`no_use_seen`): it costs nothing but its place.
    """
    if not effects or effects[0].turns < trials.least_turns:
        return SkillVerdict(TrialVerdict.KEEP, "too_little_data")
    whole, by_task = effects[0], effects[1:] or effects
    good = tuple(each.task_type for each in by_task if _surely_helps(each))
    others = tuple(each for each in by_task if each.task_type not in good)
    few = SMALL * sum(each.turns for each in by_task)
    if good and all(_may_help(each, few) for each in others):
        if _surely_helps(whole):
            return SkillVerdict(TrialVerdict.PROMOTE, "helps")
    elif good and whole.turns >= LONG and all(_is_needless(each) for each in others):
        return SkillVerdict(TrialVerdict.PROMOTE, "helps_some", good)
    days = max(tried / timedelta(days=1), 1.0)
    little = min(MISSED, MISSED_A_DAY * days / whole.turns)
    if whole.helps <= HARMS and not good and all(each.missed < little for each in effects):
        return SkillVerdict(TrialVerdict.RETIRE, "harms")
    over = whole.turns >= trials.most_turns
    if over and not good and all(each.useful <= HOPELESS for each in effects):
        return SkillVerdict(TrialVerdict.RETIRE, "no_use_seen")
    return SkillVerdict(TrialVerdict.KEEP, "undecided")


def withheld_share(belief: RewardBelief) -> float:
    """Return the probability with which a skill on trial is withheld from a turn that it fits.

    It is given if its effect is believed to be above 0, by the mean in most turns and by a draw
    from the posterior in the others: one that may help costs few turns, one that seems to harm
    gets few.
    """
    drawn = normal_share(belief.mean / (SCALE * belief.sd))
    given = (1 - EXPLORED) * (belief.mean > 0) + EXPLORED * drawn
    return round(min(max(1 - given, LEAST_WITHHELD), MOST_WITHHELD), 4)


def _surely_helps(effect: SkillEffect) -> bool:
    return effect.helps >= SURE and effect.lost < LOSS


def _may_help(effect: SkillEffect, few: float) -> bool:
    is_positive = effect.estimate is not None and effect.estimate.mean > 0
    return effect.helps >= LIKELY or (is_positive and effect.turns < few)


def _is_needless(effect: SkillEffect) -> bool:
    return effect.helps < LIKELY and effect.missed < MISSED_ELSEWHERE


def effect_of_treatment(paired: TreatedAndControl) -> SkillEffect:
    """Compute the effect of what was withheld from random turns, with a normal prior.

    The posterior of a normal mean with known error (Gelman et al., "Bayesian Data Analysis", 2.5).
    """
    given, held = paired.given, paired.held
    if given.mean is None or held.mean is None:
        return SkillEffect(skill="", given=given.n, held=held.n)
    error = max(given.variance / given.n + held.variance / held.n, _NO_ERROR)
    precision = 1 / EXPECTED**2 + 1 / error
    belief = RewardBelief((given.mean - held.mean) / error / precision, precision**-0.5)
    return _of_belief(SkillEffect(skill="", given=given.n, held=held.n), belief)


def _of_belief(effect: SkillEffect, belief: RewardBelief) -> SkillEffect:
    low, high = belief.limits
    return effect.replaced(
        estimate=Estimate(
            n=effect.turns, mean=belief.mean, low=max(low, -1.0), high=min(high, 1.0)
        ),
        helps=belief.positive,
        useful=RewardBelief(belief.mean - USEFUL, belief.sd).positive,
        lost=belief.loss,
        missed=RewardBelief(-belief.mean, belief.sd).loss,
    )
