"""Undoing changes: the earlier status of a skill, the earlier or best model of a traffic split."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.document import Document
from opencrab.domain.errors import Conflict
from opencrab.domain.learning.change import (
    ADJUSTMENT,
    MEMORIES,
    STOPPED,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    describe_mix,
    end_adjustment,
    is_learning_pinned,
    mix_of,
)
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.skill_lifecycle import (
    place_learned_skill,
    put_skill_on_trial,
    restore_learned_skill,
    toggle_learned_skill,
)
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.skills.skill import AcquiredSkill, SkillStatus
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

WAS_PINNED = "was_pinned"
"""Key in the evidence of a stop: undoing the stop must keep the pin."""


def skill_before_learned_change(
    skill: AcquiredSkill, found: Adjustment, mind: AgentState, trials: TrialSettings, now: datetime
) -> AcquiredSkill:
    """Return a skill with a status change undone; raises Conflict if it would stay the same."""
    before = place_learned_skill(_before(skill, found, now), mind, trials)
    if before.status is skill.status:
        why, cure = "skill trials are disabled", "disable it, or retire it"
        if is_learning_pinned(mind, LearnedSubject(kind=found.kind, name=found.subject)):
            why, cure = "it is pinned", "unpin it first"
        raise Conflict(f"skill {skill.name!r} remains {skill.status.value}: {why}", cure=cure)
    return before


def mix_before(listed: Iterable[Adjustment], found: Adjustment) -> Adjustment | None:
    """Return the change that made the split which a later change ended, None if there is none.

    The later change may have ended proposals too; these are newer, so the oldest is returned.
    """
    if found.kind is not AdjustmentKind.MODELS:
        return None
    over = (each for each in listed if each.ended_by == found.id)
    ended_ones = (each for each in over if each.state is AdjustmentState.SUPERSEDED)
    held = (each for each in ended_ones if each.after == found.before)
    return min(held, key=lambda each: each.id, default=None)


def mix_and_best(mind: AgentState, name: str) -> tuple[Mix, Mix]:
    """Return a split, and its best model alone; raises Conflict if there is no difference."""
    mix = mix_of(mind, name)
    if mix is None:
        raise Conflict(
            f"there is no traffic split for {name!r}",
            field="subject",
            cure="nothing to stop; list the experiments to see which run",
        )
    best = max(sorted(mix.weights), key=lambda alias: mix.weights[alias])
    alone = mix.replaced(weights={best: 1.0})
    if describe_mix(mix) == describe_mix(alone):
        raise Conflict(
            f"{best!r} is already the only model for {name!r}", field="subject", cure="pin it"
        )
    return mix, alone


def release_experiment_stops(
    facts: Documents, agent_id: str, subject: LearnedSubject, now: datetime
) -> Iterator[Document]:
    """Yield a subject's stops once its pin is removed, so that undoing one keeps later pins.

    A stop of a split can still restore the split before it; one of the memory hold-out has ended.
    """
    for fact in all_pages(facts, agent_id, ADJUSTMENT):
        made = fact.read(Adjustment)
        about = (made.kind, made.subject) == (subject.kind, subject.name)
        if not about or (made.reason, made.state) != (STOPPED, AdjustmentState.APPLIED):
            continue
        if subject == MEMORIES:
            yield fact.with_body(end_adjustment(made, AdjustmentState.SUPERSEDED, now))
        elif subject.kind is AdjustmentKind.MODELS:
            yield fact.with_body(made.replaced(evidence=made.evidence | {WAS_PINNED: True}))


def _before(skill: AcquiredSkill, found: Adjustment, now: datetime) -> AcquiredSkill:
    """Return a skill with its status from before a change."""
    if found.before.get("status") == SkillStatus.DISABLED.value:
        return toggle_learned_skill(skill, now, on=False)
    if skill.status is SkillStatus.ARCHIVED:
        return restore_learned_skill(skill, now, owner=found.by)
    return put_skill_on_trial(skill, now)
