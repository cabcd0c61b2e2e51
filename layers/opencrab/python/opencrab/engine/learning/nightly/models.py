"""Nightly decisions on models: new traffic splits."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import ceil, hypot
from typing import Any

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Conflict
from opencrab.domain.learning.bandit import SURE, BanditMix, BanditSubject
from opencrab.domain.learning.change import (
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    are_mixes_alike,
    describe_mix,
    is_learning_pinned,
    mix_of,
    with_told_mix,
)
from opencrab.domain.learning.model_selection import (
    CandidateModel,
    ModelMixes,
    SelectionInput,
    adjustments_ended_by,
    bandit_budget_left,
    bandit_current_alias,
    bandit_routed_alias,
    learn_model_choices,
    learnable_choices,
    mix_adjustment,
    mix_adjustments,
    mix_of_bandit,
    open_bandit_choices,
)
from opencrab.domain.learning.review_period import ReviewSpan, Standstill
from opencrab.domain.learning.reward_model import RewardBelief
from opencrab.domain.models.optimization import LearningMode
from opencrab.domain.models.routing import LOW_STAKES, Use
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.engine.learning.changes import Alter, LearningChange, MindAndSkill
from opencrab.engine.learning.snapshot import EvidenceSnapshot

_EVERYDAY = 0.75
"""The share of the money for trying models that everyday work gets."""

_BY_NIGHT = tuple(f"{span.value}-" for span in ReviewSpan)


def learned_mixes(
    findings: EvidenceSnapshot,
) -> tuple[tuple[LearningChange, ...], tuple[Standstill, ...]]:
    """Return new traffic splits, and the reason for each subject that stays the same.

    Nothing is decided for a frozen agent, or if the owner switched it off.
    """
    if findings.frozen:
        return (), (Standstill(subject="models", reason="frozen"),)
    aim = findings.aim
    if aim.leave is LearningMode.OFF:
        return (), (Standstill(subject="models", reason="off"),)
    seed = f"{findings.agent.id}/{findings.period}"
    if findings.extra_micro_usd is None or aim.leave is not LearningMode.APPLY:
        follows = learn_model_choices(findings, aim, findings.at, seed=seed)
    else:
        follows = _learn_unasked(findings, seed)
    changes, still = [], dict(follows.still)
    for name, mixed in follows.found.items():
        if aim.leave is LearningMode.RECOMMEND and _is_proposed(findings, name, mixed):
            still[name] = "proposed"
        else:
            changes.append(_change(findings, name, mixed))
    told = (Standstill(subject=name, reason=why) for name, why in sorted(still.items()))
    return tuple(changes), tuple(told)


def _learn_unasked(ground: EvidenceSnapshot, seed: str) -> ModelMixes:
    """Choose splits where nobody chose how models are learned, at little more than the usual cost.

    Everyday work comes first. In other work only a model is tried of which everyday work has shown
    that it is probably better. A subject whose usual model is no choice is left alone, and where
    a usual model is private, only private ones are tried.
    """
    if ground.agent.model is not None:
        return ModelMixes(found={}, still=dict.fromkeys(open_bandit_choices(ground), "chosen"))
    arms = learnable_choices(ground)
    usual = {name: _usual_alias(ground, name) for name in arms}
    hidden = {name for name in arms if not usual[name]}
    everyday = {name for name in arms if Use(name.partition("/")[0]) in LOW_STAKES} - hidden
    others = {name: _probably_better(ground, name, usual[name]) for name in arms.keys() - everyday}
    extra = ground.extra_micro_usd or 0
    found, still = dict[str, BanditMix](), dict.fromkeys(hidden, "usual_not_selectable")
    plans = [(everyday, _may_replace(ground, everyday, usual), extra * _EVERYDAY)]
    rest = {name: choices for name, choices in others.items() if len(choices) > 1} if others else {}
    plans += [({name}, each, extra * (1 - _EVERYDAY) / len(rest)) for name, each in rest.items()]
    still |= dict.fromkeys(others.keys() - rest.keys() - hidden, "everyday_first")
    for names, choices, more in plans:
        cost = sum(arms[name].day_cost(usual[name]) for name in names)
        within = _with_budget(replace(ground, choices=choices), arms, names, cost + more)
        follows = learn_model_choices(within, ground.aim, ground.at, seed=seed, only=names)
        found |= follows.found
        still = {**follows.still, **still}
    return ModelMixes(found=found, still=still)


def _usual_alias(ground: SelectionInput, name: str) -> str:
    """Return the alias of the model that is used without learning, or that the owner decided on.

    "" if it is not among the choices.
    """
    known = mix_adjustments(ground.recent, name)
    held = next((each for each in known if each.state is AdjustmentState.APPLIED), None)
    if mix_of(ground.mind, name) and not (held and held.by.startswith(_BY_NIGHT)):
        return bandit_current_alias(ground, name)
    return bandit_routed_alias(ground, name)


def _may_replace(
    ground: SelectionInput, names: Collection[str], usual: Mapping[str, str]
) -> dict[str, CandidateModel]:
    """Return the choices for these subjects: private ones only if a usual model is private."""
    confined = any(ground.choices[usual[name]].private for name in names)
    return {alias: each for alias, each in ground.choices.items() if each.private or not confined}


def _probably_better(ground: SelectionInput, name: str, usual: str) -> dict[str, CandidateModel]:
    """Return the usual model with those that are better at a subject with probability SURE."""
    if not usual:
        return {}
    now, found = ground.choices[usual], {usual: ground.choices[usual]}
    known = ground.posterior.of_model(name, now.name)
    for alias, each in _may_replace(ground, {name}, {name: usual}).items():
        other = ground.posterior.of_model(name, each.name)
        gain = RewardBelief(other.mean - known.mean, hypot(other.sd, known.sd))
        if alias != usual and gain.positive >= SURE:
            found[alias] = each
    return found


def _with_budget(
    ground: SelectionInput, arms: Mapping[str, BanditSubject], names: Collection[str], cost: float
) -> SelectionInput:
    """Return the input with a budget that leaves so much to these subjects in the mean of days."""
    free = {name: arms[name] for name in names}
    others = ground.day_micro_usd - bandit_budget_left(ground, free)
    return replace(ground, day_micro_usd=ceil(cost) + others, on_average=True)


def _is_proposed(ground: SelectionInput, name: str, mixed: BanditMix) -> bool:
    after = describe_mix(mix_of_bandit(name, mixed))
    return any(
        each.state is AdjustmentState.PROPOSED and are_mixes_alike(each.after, after)
        for each in mix_adjustments(ground.recent, name)
    )


def _change(findings: EvidenceSnapshot, name: str, mixed: BanditMix) -> LearningChange:
    """Return the change that proposes a split, or applies it if the owner allows that."""
    applies = findings.aim.leave is LearningMode.APPLY
    state = AdjustmentState.APPLIED if applies else AdjustmentState.PROPOSED
    made = mix_adjustment(findings, name, mixed, findings.at, by=findings.period, state=state)
    alter = apply_mix(name, made.before, made.after) if applies else None
    return LearningChange(made, alter, adjustments_ended_by(findings, made))


def apply_mix(name: str, before: dict[str, Any], after: dict[str, Any]) -> Alter:
    """Return a function that applies a split; it raises Conflict if the split or pin changed."""
    subject = LearnedSubject(kind=AdjustmentKind.MODELS, name=name)

    def alter(mind: AgentState, _skill: AcquiredSkill | None) -> MindAndSkill:
        is_same = describe_mix(mix_of(mind, name)) == before
        if not is_same or is_learning_pinned(mind, subject):
            raise Conflict(f"the traffic split for {name!r} was changed or pinned concurrently")
        return with_told_mix(mind, name, after), None

    return alter
