"""Models that a turn tries unasked: the draw before anything is learned, and the day's limits.

Loaded only for agents with two or more models whose owner chose nothing about learning.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from opencrab.domain.access.authority import does_authority_taint_reader
from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.conversation.message import Line
from opencrab.domain.errors import Invalid
from opencrab.domain.learning.change import (
    ADJUSTMENT,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    is_learning_pinned,
    mix_of,
)
from opencrab.domain.models.routing import LOW_STAKES, ModelAssignment, RoutingBasis, Use
from opencrab.domain.money.budget import Limits, Price, Usage
from opencrab.domain.statistics.hash_bucket import draw_hash_bucket
from opencrab.domain.turn.task_type import ThinkContext
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.value import MicroUsd
from opencrab.engine.models.router import first_routed_model, model_traffic_split_shares
from opencrab.engine.runtime import Runtime
from opencrab.ports.models.model import ModelInfo, Models

TYPICAL_CALL = Usage(input_tokens=8_000, output_tokens=1_000)
"""A model call for comparing prices, and for what a try may cost."""

_READ = 100
_EXPLICIT = frozenset({"session", "permanent", "agent"})
_MADE_BY_NIGHTS = ("daily-", "weekly-", "review-")


def first_try_shares(
    choices: Mapping[str, ModelInfo], reference: ModelInfo, share: float
) -> dict[str, float]:
    """Return the probability of each other model, by alias, before anything is known of it.

    A dearer model than the usual one is drawn the more rarely the dearer it is. Models on the
    owner's own machines wait for a night, which looks whether they are ready. A private model is
    not replaced by one that is not.
    """
    if reference.private:
        return {}
    usual = price_of_typical_call(reference.price)
    others = {
        alias: price_of_typical_call(info.price)
        for alias, info in choices.items()
        if info.name != reference.name and not info.private
    }
    return {
        alias: share / len(others) * (1.0 if price <= usual else usual / price)
        for alias, price in others.items()
        if usual > 0 or price == 0
    }


def price_of_typical_call(price: Price | None) -> MicroUsd:
    """Return what a typical call costs at a price; 0 if it is not known."""
    return 0 if price is None else price.cost(TYPICAL_CALL)


@dataclass(frozen=True)
class ExploringTurn:
    """A turn that may try a model: its agent, limits and lines, and the models by alias."""

    runtime: Runtime
    turn: Turn
    profile: Profile
    limits: Limits
    choices: Mapping[str, ModelInfo]
    history: tuple[Line, ...] = ()

    @property
    def shows_pictures(self) -> bool:
        """True if pictures came with a line of its conversation."""
        return any(line.data and "images" in line.data for line in self.history)


def basis_with_tried_model(
    work: ExploringTurn, basis: RoutingBasis, context: ThinkContext
) -> RoutingBasis:
    """Return the basis with the model that this turn tries for its own type of task, if any.

    Nothing is tried where a person or the agent chose the model, where the subject is pinned, for
    the public and peers, in work that no person's message began, or once the day's tries have cost
    what they may. What nights have found to be best is used there too.
    """
    models, use, task_type = work.runtime.models, context.use, context.task_type.value
    plain = basis.replaced(lots=())
    leader, by = first_routed_model(models, use, plain, (), task_type)
    drawn = basis.assignment_for(use, task_type)
    if by in _EXPLICIT:
        return basis
    if drawn is None:
        drawn = _first_draw(work, use, task_type, leader.info)
    elif not _is_everyday(work.turn):
        drawn = _best_known(work, drawn)
    if drawn is None:
        return basis
    tried = work.choices.get(drawn.model, leader.info)
    if tried.name != leader.info.name and not _may_be_tried(work, drawn, tried, leader.info):
        usual = models.routing.chosen(use, plain, (), task_type).model
        drawn = drawn.replaced(model=usual, probability=1.0)
    others = (lot for lot in basis.lots if (lot.use, lot.task_type) != (use, task_type))
    return basis.replaced(lots=(*others, drawn))


def _first_draw(
    work: ExploringTurn, use: Use, task_type: str, leader: ModelInfo
) -> ModelAssignment | None:
    """Draw a model where nothing is learned yet; None if this turn's stakes are too high."""
    mind = work.profile.mind
    subject = LearnedSubject(kind=AdjustmentKind.MODELS, name=f"{use.value}/{task_type}")
    if (
        use not in LOW_STAKES
        or not _is_everyday(work.turn)
        or is_learning_pinned(mind, subject)
        or mix_of(mind, subject.name) is not None
    ):
        return None
    shares = first_try_shares(work.choices, leader, work.runtime.rules.trials.model_percent / 100)
    if not shares:
        return None
    usual = work.runtime.models.routing.chosen(use, _agent_basis(work.profile.agent)).model
    shares[usual] = 1 - sum(shares.values())
    model = draw_hash_bucket(shares, "model", work.turn.id, subject.name)
    return ModelAssignment(use=use, task_type=task_type, model=model, probability=shares[model])


def _is_everyday(turn: Turn) -> bool:
    """Check whether a turn answers a message of somebody the agent knows, and serves no task."""
    return (
        turn.trigger is Trigger.MESSAGE
        and turn.task is None
        and not does_authority_taint_reader(turn.authority)
    )


def _best_known(work: ExploringTurn, drawn: ModelAssignment) -> ModelAssignment:
    """Return a split's best model in place of one that is only tried, unless it is the owner's."""
    models, agent = work.runtime.models, work.profile.agent
    mix = mix_of(work.profile.mind, f"{drawn.use.value}/{drawn.task_type}")
    shares = {} if mix is None else model_traffic_split_shares(models, agent, mix)
    best = max(sorted(shares), key=shares.__getitem__, default=drawn.model)
    if best == drawn.model:
        return drawn.replaced(probability=1.0)
    return drawn if _is_by_owner(work, drawn) else drawn.replaced(model=best, probability=1.0)


def _may_be_tried(
    work: ExploringTurn, drawn: ModelAssignment, tried: ModelInfo, usual: ModelInfo
) -> bool:
    """Check whether a model may stand in, answers today, and whether the day can pay for it.

    Costs one read, and another one where the day's limit is reached.
    """
    if usual.private and not tried.private:
        return False
    if usual.vision and not tried.vision and work.shows_pictures:
        return False
    agent, rules = work.profile.agent, work.runtime.rules
    today = work.runtime.clock.now().strftime("%Y-%m-%d")
    tallies = work.runtime.home.tallies.totals(agent.id, today, today)
    own = [tally.counts for tally in tallies if tally.cell.name == tried.name]
    if any(counts.get("failed", 0) for counts in own) and not any(
        counts.get("answered", 0) for counts in own
    ):
        return False
    more = price_of_typical_call(tried.price) - price_of_typical_call(usual.price)
    if more <= 0:
        return True
    day = work.limits.agent_day(agent.day_limit_micro_usd)
    extra = rules.trials.extra_of_day(agent.llm.aim, day)
    spent = sum(_extra_cost(work.runtime.models, agent, tally) for tally in tallies)
    return extra is None or spent + more <= extra or _is_by_owner(work, drawn)


def _extra_cost(models: Models, agent: Agent, tally: DailyTally) -> float:
    """Return what calls cost beyond what the model that is configured would have cost."""
    purpose = tally.cell.purpose
    usual = models.routing.chosen(purpose, _agent_basis(agent)).model
    try:
        prices = [models.get(name).info.price for name in (tally.cell.name, usual)]
    except Invalid:
        return 0.0
    dear, plain = map(price_of_typical_call, prices)
    return tally.counts.get("cost", 0) * (1 - plain / dear) if dear > plain else 0.0


def _is_by_owner(work: ExploringTurn, drawn: ModelAssignment) -> bool:
    """Check whether a person or the agent itself made the traffic split that drew the model."""
    subject = f"{drawn.use.value}/{drawn.task_type}"
    if mix_of(work.profile.mind, subject) is None:
        return False
    made = (
        each
        for fact in work.runtime.home.facts.page(
            work.turn.agent_id, ADJUSTMENT, limit=_READ, newest_first=True
        )
        if ((each := fact.read(Adjustment)).kind, each.subject) == (AdjustmentKind.MODELS, subject)
        and each.state is AdjustmentState.APPLIED
    )
    newest = next(made, None)
    return newest is None or not newest.by.startswith(_MADE_BY_NIGHTS)


def _agent_basis(agent: Agent) -> RoutingBasis:
    return RoutingBasis(model=agent.model, models=agent.llm.models)
