"""Nightly decisions on models: new traffic splits, and regressions of those in force."""

from datetime import UTC
from typing import Any

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Conflict
from opencrab.domain.learning.bandit import BanditMix
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentState,
    are_mixes_alike,
    describe_mix,
    heaviest_learned_alias,
    is_learning_pinned,
    mix_of,
    with_told_mix,
)
from opencrab.domain.learning.model_selection import (
    SelectionInput,
    adjustments_ended_by,
    learn_model_choices,
    mix_adjustment,
    mix_of_bandit,
)
from opencrab.domain.learning.regression_watch import (
    WATCHED,
    is_watched_mix,
    mix_adjustments,
    mix_subject,
    models_with_regression,
    start_regression_watch_after,
)
from opencrab.domain.learning.review_period import Standstill
from opencrab.domain.models.optimization import LearningMode
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.engine.learning.changes import Alter, LearningChange
from opencrab.engine.learning.snapshot import EvidenceSnapshot


def find_model_regressions(findings: EvidenceSnapshot) -> tuple[Adjustment, ...]:
    """Return traffic splits in force whose models fell below the quality they were chosen for.

    Only whole days after that of the change count, since earlier turns did not use the split. Each
    result lists the models that `fell`.
    """
    watching = (
        each
        for each in findings.recent
        if is_watched_mix(each)
        and "until" in each.evidence
        and each.at >= findings.at - WATCHED
        and not is_learning_pinned(findings.mind, mix_subject(each.subject))
    )
    fell = ((each, models_with_regression(each, findings.evidence)) for each in watching)
    return tuple(
        each.replaced(evidence={**each.evidence, "fell": list(models)})
        for each, models in fell
        if models
    )


def learning_subjects_rolled_back(findings: EvidenceSnapshot) -> frozenset[str]:
    """Return subjects that this run rolled back to another best model; a run skips these."""
    return frozenset(
        each.subject
        for each in findings.recent
        if each.state is AdjustmentState.ROLLED_BACK
        and each.ended_by == findings.period
        and heaviest_learned_alias(each.before) != heaviest_learned_alias(each.after)
    )


def update_regression_watches(findings: EvidenceSnapshot) -> dict[str, Adjustment]:
    """Return the splits in force, by id, whose baseline at the end of their first day is new."""
    found = dict[str, Adjustment]()
    for each in findings.recent:
        day = each.at.astimezone(UTC).date()
        evidence = findings.aggregated.until(day) if is_watched_mix(each) else None
        if evidence is not None:
            counted = start_regression_watch_after(each, evidence, day.isoformat())
            if counted != each:
                found[each.id] = counted
    return found


def learned_mixes(
    findings: EvidenceSnapshot, skipped: frozenset[str] = frozenset()
) -> tuple[tuple[LearningChange, ...], tuple[Standstill, ...]]:
    """Return new traffic splits, and the reason for each subject that stays the same.

    Nothing is decided for a frozen agent, if the owner switched it off, or for `skipped` subjects.
    """
    if findings.frozen:
        return (), (Standstill(subject="models", reason="frozen"),)
    aim = findings.agent.llm.aim
    if aim.leave is LearningMode.OFF:
        return (), (Standstill(subject="models", reason="off"),)
    ground, seed = findings.selection_input(), f"{findings.agent.id}/{findings.period}"
    follows = learn_model_choices(ground, aim, findings.at, seed=seed, skipped=skipped)
    changes, still = [], dict(follows.still)
    for name, mixed in follows.found.items():
        if aim.leave is LearningMode.RECOMMEND and _is_proposed(ground, name, mixed):
            still[name] = "proposed"
        else:
            changes.append(_change(findings, ground, name, mixed))
    told = (Standstill(subject=name, reason=why) for name, why in sorted(still.items()))
    return tuple(changes), tuple(told)


def _is_proposed(ground: SelectionInput, name: str, mixed: BanditMix) -> bool:
    after = describe_mix(mix_of_bandit(name, mixed))
    return any(
        each.state is AdjustmentState.PROPOSED and are_mixes_alike(each.after, after)
        for each in mix_adjustments(ground.earlier, name)
    )


def _change(
    findings: EvidenceSnapshot, ground: SelectionInput, name: str, mixed: BanditMix
) -> LearningChange:
    """Return the change that proposes a split, or applies it if the owner allows that."""
    applies = findings.agent.llm.aim.leave is LearningMode.APPLY
    state = AdjustmentState.APPLIED if applies else AdjustmentState.PROPOSED
    made = mix_adjustment(ground, name, mixed, findings.at, by=findings.period, state=state)
    alter = apply_mix(name, made.before, made.after) if applies else None
    return LearningChange(made, alter, adjustments_ended_by(ground, made))


def apply_mix(name: str, before: dict[str, Any], after: dict[str, Any]) -> Alter:
    """Return a function that applies a split; it raises Conflict if the split or pin changed."""

    def alter(
        mind: AgentState, _skill: AcquiredSkill | None
    ) -> tuple[AgentState, AcquiredSkill | None]:
        if describe_mix(mix_of(mind, name)) != before or is_learning_pinned(
            mind, mix_subject(name)
        ):
            raise Conflict(f"the traffic split for {name!r} was changed or pinned concurrently")
        return with_told_mix(mind, name, after), None

    return alter
