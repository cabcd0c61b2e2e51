"""Comparison of learning policies in simulated environments whose true effects are known.

The product's policy runs the product's own functions: hash buckets, rewards, evidence, confidence
intervals, verdicts on skills, and traffic splits.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from opencrab.domain.errors import Invalid
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    describe_mix,
    heaviest_learned_alias,
    mix_of,
)
from opencrab.domain.learning.signals import ServedCalls
from opencrab.domain.statistics.confidence import estimate_mean
from opencrab.engine.simulation.learning.policies import (
    ByMean,
    BySelfGrade,
    SelectionRule,
    SimulatedDay,
    fitting_simulated_skills,
    simulated_row_id,
)
from opencrab.engine.simulation.learning.product import USE, ProductPolicy
from opencrab.engine.simulation.learning.scores import (
    LearningTrial,
    MeasuredQuality,
    QualityDrop,
    SkillFate,
    simulated_policy_score,
    simulation_share_in_points,
)
from opencrab.engine.simulation.learning.world import (
    START,
    TASK_TYPES,
    LearningWorld,
    SimulatedQuestion,
    TrialModel,
    TrialSkill,
    TurnInputs,
    simulated_action_rate_with_skills,
    simulated_judgement_rates,
    simulated_learning_environment,
    simulated_turn_signals,
)

NIGHTS, TURNS = 60, 100
MOST_NIGHTS, MOST_TURNS = 1_000, 10_000
LOSS, SETTLED = 0.35, 12
"""Loss of quality in `run_quality_drop`, and nights before a drop is possible."""


@dataclass
class TrueEffect:
    """True turn values with and without a skill: weighted sums and sums of weights.

    The weight is the probability that a turn is judged.
    """

    given: list[float] = field(default_factory=lambda: [0.0, 0.0])
    held: list[float] = field(default_factory=lambda: [0.0, 0.0])

    @property
    def effect(self) -> float:
        """Difference of the weighted mean values with and without the skill."""
        return self.given[0] / self.given[1] - self.held[0] / self.held[1]


@dataclass(frozen=True)
class TrialTurn:
    """An answered question: its model and skills; `less` is the model's loss of quality.

    `silent` is the model that was called first and did not answer, if any.
    """

    asked: SimulatedQuestion
    model: TrialModel
    silent: TrialModel | None
    given: Sequence[TrialSkill]
    held: Sequence[TrialSkill]
    less: float


@dataclass
class PolicyRun:
    """A run of one policy in one environment, with true values that the policy does not see."""

    world: LearningWorld
    rule: SelectionRule
    best: dict[int, dict[str, float]]
    effects: defaultdict[str, TrueEffect] = field(default_factory=lambda: defaultdict(TrueEffect))
    models: defaultdict[tuple[int, str], list[float]] = field(
        default_factory=lambda: defaultdict(lambda: [0.0, 0.0])
    )
    truths: dict[str, float] = field(default_factory=dict)
    regrets: list[float] = field(default_factory=list)
    best_quality: float = 0.0
    unanswered: int = 0
    most_spent: int = 0
    worse: dict[str, float] = field(default_factory=dict)
    corrects: str = ""

    def run_day(self, day: int, asked_today: Sequence[SimulatedQuestion]) -> None:
        """Run all turns of a day, then the policy's nightly learning."""
        seen, left = SimulatedDay(), self.world.day_micro_usd
        for place, asked in enumerate(asked_today, start=1):
            left -= self._answer(asked, seen, left, len(asked_today) - place)
        self.most_spent = max(self.most_spent, self.world.day_micro_usd - left)
        self.rule.learn_from_day(day, seen)
        if isinstance(self.rule, ProductPolicy):
            for decision in self.rule.decisions:
                if decision.skill not in self.truths:
                    self.truths[decision.skill] = self.effects[decision.skill].effect

    def _answer(self, asked: SimulatedQuestion, seen: SimulatedDay, left: int, others: int) -> int:
        """Run one turn and return its cost in micro-dollars."""
        best = self._best(asked)
        self.best_quality += best
        given, held = self.rule.choose_skills(asked)
        wanted, probability = self.rule.choose_model(asked)
        model = self._affordable(wanted, left, others)
        if model is None:
            self.unanswered += 1
            self.regrets.append(best)
            return 0
        silent = model if asked.failing < model.fails else None
        model = self.world.cheapest if silent else model
        turn = TrialTurn(asked, model, silent, given, held, self.worse.get(model.name, 0.0))
        self.regrets.append(best - self._quality(turn, given))
        self._note(turn, silent or model)
        served = tuple(_calls_by_model(turn, wanted, probability))
        self._see(turn, seen, served)
        return sum(each.cost for each in served)

    def _quality(self, turn: TrialTurn, skills: Sequence[TrialSkill]) -> float:
        return self.world.quality(turn.model, turn.asked, skills, turn.less)

    def _affordable(self, wanted: str, left: int, others: int) -> TrialModel | None:
        """Return the wanted model, or the cheapest, or None, so that the day's budget holds.

        The upper bound of the remaining turns with the cheapest model is reserved.
        """
        model = next(each for each in self.world.models if each.name == wanted)
        cheapest = self.world.cheapest
        if model.bound + others * cheapest.bound <= left:
            return model
        return cheapest if cheapest.bound <= left else None

    def _see(self, turn: TrialTurn, seen: SimulatedDay, served: tuple[ServedCalls, ...]) -> None:
        asked, quality = turn.asked, self._quality(turn, turn.given)
        part = TurnInputs(
            served=served,
            given=self.rule.measured_skills(turn.given),
            held=self.rule.measured_skills(turn.held),
            corrects=self.corrects,
            acts=simulated_action_rate_with_skills(turn.given),
        )
        signals, opinions, is_corrected = simulated_turn_signals(asked, quality, part)
        self.corrects = asked.id if is_corrected else ""
        seen.signals.append(signals)
        seen.opinions.extend(opinions)
        if asked.is_graded:
            seen.grades[simulated_row_id(signals)] = self.world.grade(turn.model, asked, quality)

    def _note(self, turn: TrialTurn, first: TrialModel) -> None:
        """Record the true values of a turn, for the model that was called first."""
        less = self.worse.get(first.name, 0.0)
        quality = self.world.quality(first, turn.asked, turn.given, less)
        judged, value = simulated_judgement_rates(
            quality, simulated_action_rate_with_skills(turn.given)
        )
        truth = self.models[turn.asked.task, first.name]
        truth[0] += judged * value * (1 - first.fails)
        truth[1] += judged
        if turn.silent:
            self._note(replace(turn, silent=None), turn.model)
            return
        if not isinstance(self.rule, ProductPolicy):
            return
        for skill in (*turn.given, *turn.held):
            others = [each for each in turn.given if each is not skill]
            kept = self.effects[skill.name]
            for sums, skills in ((kept.given, [*others, skill]), (kept.held, others)):
                judged, value = simulated_judgement_rates(self._quality(turn, skills), 0.0)
                sums[0] += judged * value
                sums[1] += judged

    def _best(self, asked: SimulatedQuestion) -> float:
        """Return the expected quality of the optimal policy within the budget."""
        helpful = (skill.name for skill in self.world.skills if skill.effect > 0)
        skills = fitting_simulated_skills(self.world, asked, helpful)
        by_name = {model.name: model for model in self.world.models}
        return sum(
            weight
            * self.world.expected_quality(
                by_name[name], lambda model: self.world.quality(model, asked, skills)
            )
            for name, weight in self.best[asked.task].items()
        )


def run_simulated_learning_trial(
    seed: int, *, nights: int = NIGHTS, turns: int = TURNS, lying: bool = False
) -> LearningTrial:
    """Run all policies in the environment of a seed; raises Invalid for a number out of range."""
    if not 1 <= nights <= MOST_NIGHTS:
        raise Invalid(f"--nights must be from 1 to {MOST_NIGHTS}, not {nights}", field="nights")
    if not 1 <= turns <= MOST_TURNS:
        raise Invalid(f"--turns must be from 1 to {MOST_TURNS}, not {turns}", field="turns")
    found = simulated_learning_environment(seed, turns=turns, lying=lying)
    best, ours = optimal_mix_in_simulation(found), ProductPolicy(found)
    rules: dict[str, SelectionRule] = {
        "ours": ours,
        "greedy": ByMean(found),
        "self_grade": BySelfGrade(found),
    }
    pupils = {name: PolicyRun(found, rule, best) for name, rule in rules.items()}
    for day in range(nights):
        asked_today = tuple(found.day(day))
        for pupil in pupils.values():
            pupil.run_day(day, asked_today)
    first = pupils["ours"]
    return LearningTrial(
        seed=seed,
        lying=lying,
        nights=nights,
        turns_a_day=turns,
        day_micro_usd=found.day_micro_usd,
        best_quality=round(first.best_quality / len(first.regrets), 4),
        outcomes={
            name: simulated_policy_score(
                pupil.regrets,
                most_spent=pupil.most_spent,
                day_micro_usd=found.day_micro_usd,
                unanswered=pupil.unanswered,
            )
            for name, pupil in pupils.items()
        },
        fates=tuple(_fate(first, ours, skill) for skill in found.skills),
        qualities=tuple(_qualities(first, ours)),
        changes=len(ours.adjustments),
        undone=ours.newest_undone(),
        dropped=simulate_model_quality_drop(found, nights),
    )


def simulate_model_quality_drop(of: LearningWorld, nights: int) -> QualityDrop:
    """Run the product's policy again, and let a newly chosen model's quality drop.

    Returns the number of nights until the policy chose another model.
    """
    rule = ProductPolicy(of)
    pupil = PolicyRun(of, rule, optimal_mix_in_simulation(of))
    found = QualityDrop()
    for day in range(nights):
        pupil.run_day(day, tuple(of.day(day)))
        if not found.night:
            fresh = _first_adjustment_of_day(rule, day)
            if fresh is not None:
                model = rule.routing.aliases[heaviest_learned_alias(fresh.after)]
                pupil.worse[model] = LOSS
                found = QualityDrop(subject=fresh.subject, model=model, night=day + 1)
            continue
        if (
            rule.routing.aliases[
                heaviest_learned_alias(describe_mix(mix_of(rule.mind, found.subject)))
            ]
            != found.model
        ):
            return found.replaced(left_after=day + 1 - found.night)
    return found


def _first_adjustment_of_day(rule: ProductPolicy, day: int) -> Adjustment | None:
    fresh = (
        each
        for each in rule.adjustments
        if (each.kind, each.state) == (AdjustmentKind.MODELS, AdjustmentState.APPLIED)
        and each.at == START + timedelta(days=day + 1)
    )
    return next(fresh, None) if day >= SETTLED else None


def _fate(pupil: PolicyRun, rule: ProductPolicy, skill: TrialSkill) -> SkillFate:
    decision = next((each for each in rule.decisions if each.skill == skill.name), None)
    found = rule.effect(skill.name) if decision is None else decision.effect
    known, truth = found.estimate, pupil.truths.get(skill.name)
    if decision is None and found.given and found.held:
        truth = pupil.effects[skill.name].effect
    waits = rule.skills_kept[skill.name].waits
    return SkillFate(
        skill=skill.name,
        kind=skill.kind,
        verdict=decision.verdict.value if decision else "waiting" if waits else "on_trial",
        reason=decision.reason if decision else "",
        night=decision.day + 1 if decision else None,
        turns=found.turns,
        points=simulation_share_in_points(None if known is None else known.mean),
        low=simulation_share_in_points(None if known is None else known.low),
        high=simulation_share_in_points(None if known is None else known.high),
        truth=simulation_share_in_points(truth),
        true_quality=round(100 * skill.effect, 1),
    )


def _qualities(pupil: PolicyRun, rule: ProductPolicy) -> Iterator[MeasuredQuality]:
    for key, evidence in sorted(rule.evidence.models.items()):
        _, task, model = key.split("/", 2)
        worth, judged = pupil.models[TASK_TYPES.index(task), model]
        found = estimate_mean(evidence.value_sums)
        if found is not None and judged:
            yield MeasuredQuality(
                subject=key,
                turns=found.n,
                points=simulation_share_in_points(found.mean),
                low=simulation_share_in_points(found.low),
                high=simulation_share_in_points(found.high),
                truth=simulation_share_in_points(worth / judged),
            )


def optimal_mix_in_simulation(of: LearningWorld) -> dict[int, dict[str, float]]:
    """Return the optimal model shares by type of task within the average daily budget.

    Solves the linear relaxation of a multiple-choice knapsack by its Lagrange multiplier: at a
    price on money each type of task has a best model. Bisection finds the lowest price at which the
    day can be paid, and at it the shares are split between the two models of one type of task.
    """

    def chosen(price: float) -> list[TrialModel]:
        return [
            max(of.models, key=lambda model: _worth(of, model, task) - price * model.cost)
            for task in range(len(TASK_TYPES))
        ]

    def cost(models: Sequence[TrialModel]) -> float:
        shares = zip(of.shares, models, strict=True)
        return of.turns * sum(share * model.cost for share, model in shares)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(chosen(middle)) > of.day_micro_usd else (low, middle)
    dear, cheap = chosen(low), chosen(high)
    room = cost(dear) - cost(cheap)
    share = min((of.day_micro_usd - cost(cheap)) / room, 1.0) if room > 0 else 1.0
    found = dict[int, dict[str, float]]()
    for task, (one, other) in enumerate(zip(dear, cheap, strict=True)):
        found[task] = {one.name: 1.0} if one is other else {one.name: share, other.name: 1 - share}
    return found


def _worth(of: LearningWorld, model: TrialModel, task: int) -> float:
    return of.expected_quality(model, lambda each: each.quality[task])


def _calls_by_model(turn: TrialTurn, wanted: str, probability: float) -> Iterator[ServedCalls]:
    """Yield the calls of a turn; one without an answer costs nothing."""
    if turn.silent:
        yield _call(turn, turn.silent, wanted, probability).model_copy(
            update={"failed": 1, "cost": 0, "latency_ms": 0}
        )
    yield _call(turn, turn.model, wanted, probability)


def _call(turn: TrialTurn, model: TrialModel, wanted: str, probability: float) -> ServedCalls:
    stood_in, asked = model.name != wanted, turn.asked
    return ServedCalls.model_construct(
        model=model.name,
        purpose=USE,
        task_type=TASK_TYPES[asked.task],
        chosen_by="fallback" if stood_in else "learned",
        probability=1.0 if stood_in else probability,
        calls=1,
        failed=0,
        cost=int(model.cost * asked.cost_factor),
        latency_ms=int(model.latency_ms * asked.cost_factor),
        last_row="",
    )
