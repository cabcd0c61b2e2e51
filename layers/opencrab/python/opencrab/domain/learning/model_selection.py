"""Model selection: choosing traffic splits, and describing the changes that make them.

The night and the agent's own action choose by this. Only models that the agent may select are ever
among the arms.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.aggregate import AggregatedEvidence
from opencrab.domain.learning.bandit import BanditArm, BanditMix, BanditSubject, bandit_mixes
from opencrab.domain.learning.change import (
    ALIKE,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    adjustment_id,
    are_mixes_alike,
    describe_mix,
    heaviest_learned_alias,
    is_learning_pinned,
    mix_of,
)
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.learning.reward_model import RewardPosterior, prior_prices, reward_posterior
from opencrab.domain.models.optimization import Aim
from opencrab.domain.models.routing import Routing, RoutingBasis, Use
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.usage.ledger import parse_usage_task_key
from opencrab.domain.value import MicroUsd, Value

LET_BE = timedelta(days=30)
"""The time in which a split that was rolled back is not made again."""

HELD = timedelta(days=1)
"""The time in which a split with the same best model changes only to explore another model."""

_NEARLY, _PRICED = 1e-3, 10
_TAKEN_BACK = {AdjustmentState.UNDONE, AdjustmentState.ROLLED_BACK}


class CandidateModel(Value):
    """A model that may be chosen, by its full name, with its price; data stays in a private one."""

    name: str
    price: Price
    private: bool = False


@dataclass(frozen=True, kw_only=True)
class SelectionInput:
    """The data from which models are chosen.

    `tallies` are the counts of the open days. `choices` are by alias, `recent` the agent's recent
    adjustments, newest first; `day_micro_usd` is what a day may cost: in the mean if `on_average`,
    else at most.
    """

    agent: Agent
    mind: AgentState
    routing: Routing
    known: AggregatedEvidence
    tallies: tuple[DailyTally, ...]
    choices: dict[str, CandidateModel]
    recent: tuple[Adjustment, ...] = ()
    day_micro_usd: MicroUsd
    on_average: bool = False

    @property
    def evidence(self) -> Evidence:
        """Total evidence of all days."""
        return self.known.evidence

    @property
    def days(self) -> tuple[Evidence, ...]:
        """The evidence of each open day."""
        return tuple(self.known.open.values())

    @cached_property
    def posterior(self) -> RewardPosterior:
        """What is believed of models and skills after all days."""
        prices = {each.name: each.price for each in self.choices.values()}
        return reward_posterior(self.known.reward_sums, prior_prices(prices))


class ModelMixes(Value):
    """The traffic splits to make, and the code for why each other subject stays as it is."""

    found: dict[str, BanditMix]
    still: dict[str, str]


def learn_model_choices(
    ground: SelectionInput,
    aim: Aim,
    now: datetime,
    *,
    seed: str,
    only: Collection[str] | None = None,
) -> ModelMixes:
    """Choose traffic splits for all purposes and types of task, or for some, in one budget."""
    every = learnable_choices(ground)
    free = {name: each for name, each in every.items() if only is None or name in only}
    left, mean = bandit_budget_left(ground, free), ground.on_average
    decided = bandit_mixes(free, aim, day_micro_usd=left, seed=seed, on_average=mean)
    still = {
        name: why
        for name in open_bandit_choices(ground)
        if (why := why_learned_subject_is_fixed(ground.agent, ground.mind, name))
    }
    found = dict[str, BanditMix]()
    for name, (mixed, reason) in decided.items():
        why = reason if mixed is None else _hindrance(ground, aim, name, mixed, now)
        if mixed is None or why:
            still[name] = why
        else:
            found[name] = mixed
    return ModelMixes(found=found, still=still)


def day_budget_of_bandit(
    agent: Agent, limit: MicroUsd, asked_for: MicroUsd | None = None
) -> MicroUsd:
    """Return the day's budget: the least of the agent's limit, its aim and the request."""
    said = (agent.llm.aim.day_micro_usd, asked_for)
    return min([limit, *(each for each in said if each is not None)])


def open_bandit_choices(ground: SelectionInput) -> tuple[str, ...]:
    """Return each purpose and type of task of the open days, except embeddings."""
    found = {_task_of(key) for day in ground.days for key in day.models}
    return tuple(sorted(name for name in found if _use(name) is not Use.EMBEDDING))


class ExpectedGain(Value):
    """The effect of a traffic split on one subject: quality, and a turn's cost and latency.

    Below 0 is less. None if it is not known of the present model.
    """

    subject: str
    turns_a_day: float
    quality: float | None = None
    cost_micro_usd: float | None = None
    latency_ms: float | None = None


def learnable_choices(ground: SelectionInput) -> dict[str, BanditSubject]:
    """Return the open subjects that are neither pinned nor fixed, with their arms."""
    return {
        name: _mixing(ground, name)
        for name in open_bandit_choices(ground)
        if not why_learned_subject_is_fixed(ground.agent, ground.mind, name)
    }


def why_learned_subject_is_fixed(agent: Agent, mind: AgentState, name: str) -> str:
    """Return the code for why a subject of this agent is fixed; "" if it is not."""
    if is_learning_pinned(mind, LearnedSubject(kind=AdjustmentKind.MODELS, name=name)):
        return "pinned"
    return "chosen" if _use(name) in agent.llm.models else ""


def bandit_budget_left(ground: SelectionInput, free: Collection[str]) -> MicroUsd:
    """Return the day's budget for these subjects, less the mean cost of all other calls."""
    days = max(len({tally.day for tally in ground.tallies}), 1)
    others = sum(
        tally.counts.get("cost", 0)
        for tally in ground.tallies
        if f"{tally.cell.purpose.value}/{tally.cell.task_type}" not in free
    )
    return max(ground.day_micro_usd - others // days, 0)


def _hindrance(ground: SelectionInput, aim: Aim, name: str, mixed: BanditMix, now: datetime) -> str:
    """Return why a split is not made: in effect already, too new, or taken back; else ""."""
    after, present = describe_mix(mix_of_bandit(name, mixed)), mix_of(ground.mind, name)
    if present is None and set(mixed.weights) == {bandit_current_alias(ground, name)}:
        return "as_it_is"
    stays = present is not None and _is_allowed(ground, aim, present, mixed)
    within = min(ALIKE, aim.explore / 2) if aim.explore else ALIKE
    tries = present is not None and _tries(mixed, present, within)
    if stays and not tries and are_mixes_alike(describe_mix(present), after, within):
        return "as_it_is"
    for each in mix_adjustments(ground.recent, name):
        is_new = each.state is AdjustmentState.APPLIED and each.at > now - HELD
        is_best = heaviest_learned_alias(each.after) == heaviest_learned_alias(after)
        if is_new and is_best and stays and not tries:
            return "watched"
        late = each.at >= now - LET_BE
        if late and each.state in _TAKEN_BACK and are_mixes_alike(each.after, after):
            return "taken_back"
    return ""


def _tries(mixed: BanditMix, held: Mix, within: float) -> bool:
    """Check whether a split gives a relevant share to a model that the present one does not use."""
    return any(share > within and name not in held.weights for name, share in mixed.weights.items())


def _is_allowed(ground: SelectionInput, aim: Aim, held: Mix, mixed: BanditMix) -> bool:
    """Check whether the present split uses allowed models only and does not explore too much."""
    others = sum(share for alias, share in held.weights.items() if alias not in mixed.best)
    return held.weights.keys() <= ground.choices.keys() and others <= aim.explore + _NEARLY


def mix_adjustment(
    ground: SelectionInput,
    name: str,
    mixed: BanditMix,
    now: datetime,
    *,
    by: str,
    state: AdjustmentState,
) -> Adjustment:
    """Build the adjustment that makes or proposes a split, with the numbers behind it."""
    return Adjustment(
        id=adjustment_id(now, by, f"models:{name}"),
        at=now,
        kind=AdjustmentKind.MODELS,
        subject=name,
        before=describe_mix(mix_of(ground.mind, name)),
        after=describe_mix(mix_of_bandit(name, mixed)),
        evidence={
            "models": {alias: ground.choices[alias].name for alias in mixed.weights},
            "quality": mixed.quality.model_dump(mode="json"),
            "cost_micro_usd": round(mixed.cost_micro_usd, 3),
            "latency_ms": mixed.latency_ms,
            "current": bandit_current_alias(ground, name),
            "turns_a_day": round(_model_turns_a_day(ground, name), 2),
            "day_micro_usd": ground.day_micro_usd,
        },
        reason=mixed.reason,
        by=by,
        state=state,
    )


def mix_adjustments(earlier: Iterable[Adjustment], name: str) -> Iterator[Adjustment]:
    """Return the adjustments of a subject's split, also proposed ones, in the given order."""
    return (each for each in earlier if each.kind is AdjustmentKind.MODELS and each.subject == name)


def adjustments_ended_by(ground: SelectionInput, change: Adjustment) -> tuple[Adjustment, ...]:
    """Return the adjustments on the same subject that a change ends: proposals and its own state.

    If the change is applied, those in effect too.
    """
    ends = {AdjustmentState.PROPOSED, change.state}
    return tuple(
        each for each in mix_adjustments(ground.recent, change.subject) if each.state in ends
    )


def expected_mix_gain(ground: SelectionInput, name: str, mixed: BanditMix) -> ExpectedGain:
    """Estimate the effect of a split compared with the model that is used most now.

    Both sides are what is believed, at today's prices; of the present model only if it has turns.
    """
    routed, alias = bandit_routed_model(ground, name), bandit_current_alias(ground, name)
    known, belief = _model_evidence(ground, name, routed), ground.posterior.of_model(name, routed)
    arms = {each.model: each for each in _mixing(ground, name).arms}
    now = arms.get(alias) or BanditArm(model=alias, name=routed, evidence=known, belief=belief)
    cost, latency = now.cost if now.evidence.cost.n else None, now.evidence.latency.mean
    return ExpectedGain(
        subject=name,
        turns_a_day=_model_turns_a_day(ground, name),
        quality=mixed.quality.mean - now.estimate.mean if now.quality.n else None,
        cost_micro_usd=None if cost is None else mixed.cost_micro_usd - cost,
        latency_ms=None
        if latency is None or mixed.latency_ms is None
        else mixed.latency_ms - latency,
    )


def learned_savings(gains: Sequence[ExpectedGain]) -> float | None:
    """Sum the micro-dollars saved per day; None if no present cost is known."""
    known = [-each.cost_micro_usd * each.turns_a_day for each in gains if each.cost_micro_usd]
    return sum(known) if known or any(each.cost_micro_usd == 0 for each in gains) else None


def learned_quality_gain(gains: Sequence[ExpectedGain]) -> float | None:
    """Return the mean gain in quality, weighted by turns a day; None if it is unknown."""
    known = [(each.quality, each.turns_a_day) for each in gains if each.quality is not None]
    turns = sum(weight for _, weight in known)
    return sum(quality * weight for quality, weight in known) / turns if turns else None


def mix_of_bandit(name: str, mixed: BanditMix) -> Mix:
    """Build the traffic split that the agent state stores."""
    return Mix(purpose=_use(name), task_type=name.partition("/")[2], weights=mixed.weights)


def bandit_current_alias(ground: SelectionInput, name: str) -> str:
    """Return the alias used most now; "" if that model is not among the choices."""
    present = mix_of(ground.mind, name)
    if present is not None:
        return max(sorted(present.weights), key=lambda alias: present.weights[alias])
    return bandit_routed_alias(ground, name)


def bandit_routed_alias(ground: SelectionInput, name: str) -> str:
    """Return the alias of the model that routing gives; "" if it is not among the choices."""
    named = bandit_routed_model(ground, name)
    return next((alias for alias, each in ground.choices.items() if each.name == named), "")


def bandit_routed_model(ground: SelectionInput, name: str) -> str:
    """Return the full name of the model that routing gives a purpose without a traffic split."""
    basis = RoutingBasis(model=ground.agent.model, models=ground.agent.llm.models)
    chosen = ground.routing.chosen(_use(name), basis).model
    return ground.routing.aliases.get(chosen, chosen)


def _model_turns_a_day(ground: SelectionInput, name: str) -> float:
    """Return the mean number of a subject's turns per open day."""
    turns = sum(
        each.turns
        for day in ground.days
        for key, each in day.models.items()
        if _task_of(key) == name
    )
    return turns / max(len(ground.days), 1)


def _mixing(ground: SelectionInput, name: str) -> BanditSubject:
    tokens = _tokens(ground, name)
    arms = tuple(
        BanditArm(
            model=alias,
            name=choice.name,
            evidence=_model_evidence(ground, name, choice.name),
            price=_price(ground, f"{name}/{choice.name}", choice.price, tokens),
            belief=ground.posterior.of_model(name, choice.name),
        )
        for alias, choice in ground.choices.items()
    )
    return BanditSubject(
        arms=arms,
        turns_a_day=_model_turns_a_day(ground, name),
        current=bandit_current_alias(ground, name),
    )


def _price(ground: SelectionInput, key: str, price: Price, tokens: Usage | None) -> float | None:
    """Return what a turn is expected to cost: the open days' mean, drawn to the price of today."""
    if tokens is None:
        return None
    recent = sum((day.models[key].cost for day in ground.days if key in day.models), MomentSums())
    priced = _PRICED * float(price.cost(tokens))
    return ((recent.mean or 0.0) * recent.n + priced) / (recent.n + _PRICED)


def _model_evidence(ground: SelectionInput, name: str, model: str) -> ModelEvidence:
    return ground.evidence.models.get(f"{name}/{model}", ModelEvidence())


def _tokens(ground: SelectionInput, name: str) -> Usage | None:
    """Return the mean tokens of a turn, input and output; None if there are no calls."""
    fitting = [
        tally.counts
        for tally in ground.tallies
        if f"{tally.cell.purpose.value}/{tally.cell.task_type}" == name
    ]
    turns = _model_turns_a_day(ground, name) * len(ground.days)
    read = sum(counts.get("input", 0) for counts in fitting)
    written = sum(counts.get("output", 0) for counts in fitting)
    if not turns or not read:
        return None
    return Usage(input_tokens=round(read / turns), output_tokens=round(written / turns))


def _use(name: str) -> Use:
    return Use(name.partition("/")[0])


def _task_of(key: str) -> str:
    """Return the "purpose/task_type" in a key of evidence about a model."""
    return "/".join(parse_usage_task_key(key)[:2])
