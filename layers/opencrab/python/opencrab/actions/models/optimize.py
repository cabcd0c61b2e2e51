"""Choosing models by measured results: a traffic split per kind of work, as advice or applied.

An agent changes nothing here that its owner has not let it change, and never takes a model that it
may not select.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field

from opencrab.actions.models.experience import group
from opencrab.actions.models.measure import require_insider_for_models, selectable_models
from opencrab.actions.models.text import action_text_for_models
from opencrab.actions.models.view import model_action_cost_dollars, model_quality_action_result
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import FACTS_AT_ONCE, Document, new_fact
from opencrab.domain.learning.bandit import BanditMix
from opencrab.domain.learning.change import (
    ADJUSTMENT,
    Adjustment,
    AdjustmentState,
    are_mixes_alike,
    describe_mix,
    end_adjustment,
    mix_of,
    with_told_mix,
)
from opencrab.domain.learning.model_selection import (
    CandidateModel,
    ExpectedGain,
    SelectionInput,
    adjustments_ended_by,
    bandit_current_alias,
    bandit_routed_model,
    day_budget_of_bandit,
    expected_mix_gain,
    learn_model_choices,
    learned_quality_gain,
    learned_savings,
    mix_adjustment,
    mix_adjustments,
    mix_of_bandit,
    open_bandit_choices,
)
from opencrab.domain.learning.skill_trials import may_vouch_for_learned_skill
from opencrab.domain.models.optimization import Aim, LearningMode, OptimizationGoal
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Unit, Value
from opencrab.ports.learning import load_current_learning_data
from opencrab.ports.turn.action import PAGED_BYTES, ActionContext

__all__ = ["group"]

TOLD = 20
"""Most subjects in one result."""

_MILLION = 1_000_000
_EARLIER = 100
_FRESH = timedelta(days=30)
"""Age from which a proposal can no longer be followed, so a new one replaces it."""

_UNKNOWN = {"too_little_data", "no_price", "one_model", "no_models"}


class OptimizeModelSelection(Value):
    optimization_goal: OptimizationGoal | None = Field(None, description="Else your owner's goal")
    budget_limit_usd: Annotated[float, Field(ge=0, le=1_000_000)] | None = Field(
        None, description="A day"
    )
    min_quality_threshold: Unit | None = Field(None, description="Else 0.7 or your owner's")
    apply_immediately: bool = False


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Choose models by what was measured", "実績からモデルの選び方を見直す"),
    ja="実績をもとに、仕事ごとに最適なモデルを提案します。適用はオーナーが許す場合だけです。",
    result_bytes=PAGED_BYTES,
)
def optimize_model_selection(
    arguments: OptimizeModelSelection, context: ActionContext
) -> ActionResult:
    """Find the best models for each kind of work; applied only where your owner lets you."""
    require_insider_for_models(context)
    stored = context.reach.facts.get(context.agent.id, MIND, MIND)
    aim = _aim(arguments, context)
    ground = _ground(aim, stored.read(AgentState) if stored else AgentState(), context)
    seed = f"{context.agent.id}/{context.turn.id}"
    follows = learn_model_choices(ground, aim, context.clock.now(), seed=seed)
    found, still = follows.found, follows.still
    told = _optimization_report(ground, found, still)
    if not found:
        word = "no_choice" if not ground.choices else _nothing(still)
        return ActionResult.ok(
            status=word, note=action_text_for_models(word, context.agent.language), **told
        )
    word = _leave(aim, context) if arguments.apply_immediately else "advice"
    made = _Made(ground.mind)
    if word in {"applied", "not_allowed"}:
        _make(made, word, ground, found, context)
        told |= {"changes": made.changes, "left_for_another_call": made.left}
    result = ActionResult.ok(
        status=word, note=action_text_for_models(word, context.agent.language), **told
    )
    if word == "applied" and made.mind != ground.mind:
        new = new_fact(context.agent.id, MIND, MIND, made.mind)
        result = result.keeping(stored.with_body(made.mind) if stored else new)
    return result.keeping(*made.facts)


@dataclass
class _Made:
    """Changes of one call: the agent's state, documents, ids, and subjects that had no room."""

    mind: AgentState
    facts: list[Document] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def _aim(arguments: OptimizeModelSelection, context: ActionContext) -> Aim:
    """Return the owner's optimisation goal with the values that the call gives in their place."""
    own, limit = context.agent.llm.aim, arguments.budget_limit_usd
    least = arguments.min_quality_threshold
    return own.replaced(
        goal=arguments.optimization_goal or own.goal,
        min_quality=own.min_quality if least is None else least,
        day_micro_usd=own.day_micro_usd if limit is None else round(limit * _MILLION),
    )


def _ground(aim: Aim, mind: AgentState, context: ActionContext) -> SelectionInput:
    agent, reach = context.agent, context.reach
    have = load_current_learning_data(reach.facts, agent.id, context.clock.now())
    page = reach.facts.page(agent.id, ADJUSTMENT, limit=_EARLIER, newest_first=True)
    limit = reach.limits.changed(reach.budgets.limits()).agent_day(agent.day_limit_micro_usd)
    return SelectionInput(
        agent=agent,
        mind=mind,
        routing=reach.models.routing,
        known=have,
        tallies=reach.tallies.between(
            agent.id, min(have.open).isoformat(), max(have.open).isoformat()
        )
        if have.open
        else (),
        choices={
            alias: CandidateModel(name=info.name, price=info.price)
            for alias, info in selectable_models(context).items()
            if info.price is not None
        },
        recent=tuple(fact.read(Adjustment) for fact in page),
        day_micro_usd=day_budget_of_bandit(agent, limit, aim.day_micro_usd),
    )


def _nothing(still: Mapping[str, str]) -> str:
    """Return the key of the text that explains why nothing is to be changed."""
    return "little" if set(still.values()) <= _UNKNOWN else "none_better"


def _leave(aim: Aim, context: ActionContext) -> str:
    """Return `applied`, `not_allowed` (store as a proposal), or why the result is only advice.

    A turn that read untrusted text changes nothing; another goal than the owner's own is only
    applied in a turn of the owner.
    """
    own, turn = context.agent.llm.aim, context.turn
    if own.leave is LearningMode.OFF:
        return "off"
    if not may_vouch_for_learned_skill(turn):
        return "not_your_word"
    if aim != own and turn.authority is not Authority.OWNER:
        return "other_aim"
    return "applied" if own.leave is LearningMode.APPLY else "not_allowed"


def _make(
    made: _Made,
    word: str,
    ground: SelectionInput,
    found: Mapping[str, BanditMix],
    context: ActionContext,
) -> None:
    """Add as many of the changes, or proposals of them, as fit into one transaction."""
    now, agent_id = context.clock.now(), context.agent.id
    state = AdjustmentState.APPLIED if word == "applied" else AdjustmentState.PROPOSED
    for name, mixed in found.items():
        change = mix_adjustment(ground, name, mixed, now, by=context.turn.id, state=state)
        if state is AdjustmentState.PROPOSED and (same := _open_proposal_id(ground, change)):
            made.changes.append(same)
            continue
        ends = _over(ground, change, context)
        if len(made.facts) + 1 + len(ends) >= FACTS_AT_ONCE:
            made.left.append(name)
            continue
        made.facts += [new_fact(agent_id, ADJUSTMENT, change.id, change), *ends]
        made.changes.append(change.id)
        made.mind = with_told_mix(made.mind, name, change.after)


def _open_proposal_id(ground: SelectionInput, change: Adjustment) -> str:
    """Return the id of an open proposal with the same traffic split, or "" if there is none."""
    for each in mix_adjustments(ground.recent, change.subject):
        is_open = each.state is AdjustmentState.PROPOSED and each.at > change.at - _FRESH
        if is_open and each.before == change.before and are_mixes_alike(each.after, change.after):
            return each.id
    return ""


def _over(ground: SelectionInput, change: Adjustment, context: ActionContext) -> list[Document]:
    """Return the earlier adjustments that this change ends, as superseded documents.

    An adjustment that was followed or ended since it was read is left alone.
    """
    facts = list[Document]()
    for earlier in adjustments_ended_by(ground, change):
        stored = context.reach.facts.get(context.agent.id, ADJUSTMENT, earlier.id)
        known = None if stored is None else stored.read(Adjustment)
        if stored is not None and known is not None and known.state is earlier.state:
            superseded = end_adjustment(known, AdjustmentState.SUPERSEDED, change.at, change.id)
            facts.append(stored.with_body(superseded))
    return facts


def _optimization_report(
    ground: SelectionInput, found: Mapping[str, BanditMix], still: Mapping[str, str]
) -> dict[str, Any]:
    """Return current and optimised traffic splits with the expected savings and quality change."""
    present = {name: _present(ground, name) for name in open_bandit_choices(ground)[:TOLD]}
    better = {
        name: describe_mix(mix_of_bandit(name, each))["weights"] for name, each in found.items()
    }
    gains = [expected_mix_gain(ground, name, mixed) for name, mixed in found.items()]
    savings, quality = learned_savings(gains), learned_quality_gain(gains)
    return {
        "current_config": present,
        "optimized_config": present | dict(list(better.items())[:TOLD]),
        "expected_savings": None if savings is None else model_action_cost_dollars(savings),
        "expected_quality_change": None if quality is None else round(quality, 3),
        "task_specific_recommendations": [
            _task(ground, each, found[each.subject]) for each in gains[:TOLD]
        ],
        "unchanged": dict(list(still.items())[:TOLD]),
    }


def _present(ground: SelectionInput, name: str) -> dict[str, float]:
    held = mix_of(ground.mind, name)
    return (
        dict(held.weights)
        if held
        else {bandit_current_alias(ground, name) or bandit_routed_model(ground, name): 1.0}
    )


def _task(ground: SelectionInput, change: ExpectedGain, mixed: BanditMix) -> dict[str, Any]:
    purpose, _, task_type = change.subject.partition("/")
    expected = {
        "quality": change.quality,
        "cost_usd_a_turn": change.cost_micro_usd
        and model_action_cost_dollars(change.cost_micro_usd),
        "latency_ms": change.latency_ms,
    }
    return {
        "purpose": purpose,
        "task_type": task_type,
        "current_model": bandit_current_alias(ground, change.subject)
        or bandit_routed_model(ground, change.subject),
        "suggested_model": max(sorted(mixed.weights), key=lambda alias: mixed.weights[alias]),
        "quality": model_quality_action_result(mixed.quality),
        "reason": mixed.reason,
        "expected_improvement": {
            name: round(value, 6) for name, value in expected.items() if value is not None
        },
    }
