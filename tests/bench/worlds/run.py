"""All learners in the same worlds: regret a turn, fates of skills, and whether intervals hold."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from opencrab.domain.learning.reward_model import RewardPosterior
from opencrab.domain.learning.signals import ServedCalls
from opencrab.domain.learning.treatment_effect import trial_effects_of_skill
from opencrab.engine.simulation.learning.policies import SimulatedDay
from opencrab.engine.simulation.learning.product import USE
from opencrab.engine.simulation.learning.world import TASK_TYPES
from tests.bench.worlds.families import FITTING, Asked, BenchModel, BenchSkill, BenchWorld
from tests.bench.worlds.ours import Ours
from tests.bench.worlds.textbook import RULES, Learner

NIGHTS = 60
_BOUND = 1.5


@dataclass
class Lived:
    """What one learner's life in one world came to; regrets are in points a turn, by night."""

    family: str
    regrets: list[float] = field(default_factory=list)
    over_budget: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    held: int = 0
    intervals: int = 0

    @property
    def regret(self) -> float:
        """The mean over all nights."""
        return sum(self.regrets) / len(self.regrets)

    @property
    def first(self) -> float:
        """The mean over the first third of the nights."""
        early = self.regrets[: max(len(self.regrets) // 3, 1)]
        return sum(early) / len(early)


def live(family: str, seed: int, rule: str, nights: int = NIGHTS) -> Lived:
    """Run one learner through one world; `rule` is "ours" or one of the textbook's."""
    world, found = BenchWorld(family, seed), Lived(family)
    learner: Learner = Ours(world) if rule == "ours" else RULES[rule](world)
    for day in range(nights):
        asked_today, seen, regret = tuple(world.questions(day)), SimulatedDay(), 0.0
        best, left = world.best_mix(), float(world.day_micro_usd)
        for place, asked in enumerate(asked_today, start=1):
            lost, cost = _answer(
                world, learner, asked, seen, (left, len(asked_today) - place, best)
            )
            regret, left = regret + lost, left - cost
        found.regrets.append(100 * regret / len(asked_today))
        found.over_budget += left < 0 and not world.rules.heavy
        learner.learn(day, seen)
    if isinstance(learner, Ours):
        _judge(world, learner, found)
    return found


def _answer(
    world: BenchWorld,
    learner: Learner,
    asked: Asked,
    seen: SimulatedDay,
    room: tuple[float, int, dict[int, dict[str, float]]],
) -> tuple[float, float]:
    """Run one turn; returns the quality that the oracle has more, and the cost."""
    left, others, best = room
    given, held = learner.choose_skills(asked)
    wanted, probability = learner.choose_model(asked)
    models = world.models
    cheapest = min(models, key=lambda each: each.cost)
    model = next((each for each in models if each.name == wanted), cheapest)
    if _BOUND * (model.cost + others * cheapest.cost) > left:
        model = cheapest
    optimum = _optimum(world, models, asked, best)
    if _BOUND * model.cost > left:
        return optimum, 0.0
    quality, cost = world.quality(model, asked, given), model.cost * asked.cost_factor
    served = ServedCalls.model_construct(
        model=model.name,
        purpose=USE,
        task_type=TASK_TYPES[asked.task],
        chosen_by="learned" if model.name == wanted else "fallback",
        probability=probability if model.name == wanted else 1.0,
        calls=1,
        failed=0,
        cost=int(cost),
        latency_ms=1_000,
        last_row="",
    )
    skills = learner.measured(given), learner.measured(held)
    signals, opinions = world.observe(asked, quality, (served,), skills)
    seen.signals.append(signals)
    seen.opinions.extend(opinions)
    return optimum - quality, cost


def _optimum(
    world: BenchWorld,
    models: Sequence[BenchModel],
    asked: Asked,
    best: dict[int, dict[str, float]],
) -> float:
    fit = [world.skills[place] for place in asked.topic]
    helping = sorted(fit, key=lambda each: -each.effects[asked.task])[:FITTING]
    skills = [each for each in helping if each.effects[asked.task] > 0]
    by_name = {each.name: each for each in models}
    shares = best[asked.task].items()
    return sum(share * world.quality(by_name[name], asked, skills) for name, share in shares)


def _judge(world: BenchWorld, ours: Ours, found: Lived) -> None:
    """Count the fates of skills, and the intervals of their effects that hold the truth.

    Only where effects are differences of quality themselves.
    """
    fates = ours.fates()
    for skill in world.skills:
        word, only = fates.get(skill.name, ("open", ()))
        if only and word == "promote":
            word = "kept for it" if _is_right(skill, only) else "kept for others"
        found.fates[f"{skill.kind}: {word}"] += 1
    if world.rules.logit:
        return
    posterior = RewardPosterior(ours.policy.folded.reward_sums)
    trust = 1 - 2 * world.rules.inverted * _said_share(world)
    for skill in world.skills:
        effects = trial_effects_of_skill(posterior, ours.policy.evidence, skill.name)
        for each in effects[1:]:
            truth = trust * skill.effects[TASK_TYPES.index(each.task_type)]
            if each.estimate is not None and each.turns:
                found.intervals += 1
                found.held += each.estimate.low <= truth <= each.estimate.high


def _said_share(world: BenchWorld) -> float:
    """Return about how much of a turn's worth opinions make up."""
    return 0.45 if world.rules.inverted else 0.0


def _is_right(skill: BenchSkill, only: Sequence[str]) -> bool:
    helped = {TASK_TYPES[task] for task, effect in enumerate(skill.effects) if effect > 0}
    return set(only) <= helped
