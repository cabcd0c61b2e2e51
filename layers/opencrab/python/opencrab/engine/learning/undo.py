"""Undoing changes: a skill, a traffic split or an experience is again as it was before."""

from collections.abc import Iterable
from datetime import datetime

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Conflict
from opencrab.domain.learning.change import (
    MEMORIES,
    STOPPED,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    describe_mix,
    end_adjustment,
    is_learning_pinned,
    mix_of,
    with_told_mix,
    without_learned_pin,
)
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.skill_trials import place_learned_skill
from opencrab.domain.skills.lifecycle import (
    put_skill_on_trial,
    restore_learned_skill,
    toggle_learned_skill,
)
from opencrab.domain.skills.skill import AcquiredSkill, SkillStatus
from opencrab.engine.learning.changes import (
    LearningChange,
    MindAndSkill,
    adjustments_about,
    every_adjustment,
    find_adjustment,
    page_of_adjustments,
    require_agent_able_to_learn,
    store_adjustment,
)
from opencrab.engine.learning.experience_changes import restore_learned_experience
from opencrab.engine.learning.experiments import EVERY_MODEL, WAS_PINNED, resume_model_tries
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents


def undo_adjustment(runtime: Runtime, agent_id: str, adjustment_id: str, by: str) -> Adjustment:
    """Undo a change, unless something changed its subject since.

    A retired or promoted skill goes back on trial; an undone traffic split puts the split before it
    back, whose own change can then be undone. Raises NotFound, and Conflict if the change was not
    applied, if a pin or the end of all trials prevents it, or naming the later change.
    """
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    facts = runtime.home.facts
    found = find_adjustment(facts, agent_id, adjustment_id)
    if found.state is AdjustmentState.UNDONE:
        return found
    if found.state is not AdjustmentState.APPLIED:
        raise _changed_since(facts, agent_id, found, f"its state is {found.state.value}")
    back = end_adjustment(found, AdjustmentState.UNDONE, runtime.clock.now(), by)
    return store_adjustment(facts, agent_id, _taking_back(runtime, agent_id, back))


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


def _taking_back(runtime: Runtime, agent_id: str, back: Adjustment) -> LearningChange:
    facts, was = runtime.home.facts, AdjustmentState.APPLIED
    subject = back.about
    if subject == EVERY_MODEL:
        resume_model_tries(runtime, agent_id, back.before)
        return LearningChange(back, was=was)
    if back.kind is AdjustmentKind.EXPERIENCE:
        beside = restore_learned_experience(facts, runtime.clock, agent_id, back)
        return LearningChange(back, was=was, beside=beside)
    now, trials = runtime.clock.now(), runtime.rules.trials

    def alter(mind: AgentState, skill: AcquiredSkill | None) -> MindAndSkill:
        if why := _what_changed(back, mind, skill):
            raise _changed_since(facts, agent_id, back, why)
        if skill is not None:
            return mind, _skill_before(skill, back, mind, trials, now)
        if subject == MEMORIES or (back.reason == STOPPED and not back.evidence.get(WAS_PINNED)):
            mind = without_learned_pin(mind, subject)
        if back.kind is AdjustmentKind.MODELS:
            mind = with_told_mix(mind, back.subject, back.before)
        return mind, None

    again = mix_before(every_adjustment(facts, agent_id), back)
    return LearningChange(back, alter, was=was, again=again)


def _what_changed(back: Adjustment, mind: AgentState, skill: AcquiredSkill | None) -> str:
    """Return what is not as a change left it; "" if nothing."""
    if back.kind is AdjustmentKind.MODELS:
        is_same = describe_mix(mix_of(mind, back.subject)) == back.after
        return "" if is_same else "the traffic split has changed"
    if back.kind is AdjustmentKind.MEMORIES:
        return "" if is_learning_pinned(mind, MEMORIES) else "memories are on trial again"
    is_same = skill is not None and skill.status.value == back.after.get("status")
    return "" if is_same else "the skill has changed"


def _skill_before(
    skill: AcquiredSkill, found: Adjustment, mind: AgentState, trials: TrialSettings, now: datetime
) -> AcquiredSkill:
    """Return a skill with a status change undone; raises Conflict if it would stay the same."""
    if found.before.get("status") == SkillStatus.DISABLED.value:
        before = toggle_learned_skill(skill, now, on=False)
    elif skill.status is SkillStatus.ARCHIVED:
        before = restore_learned_skill(skill, now, owner=found.by)
    else:
        before = put_skill_on_trial(skill, now)
    before = place_learned_skill(before, mind, trials)
    if before.status is skill.status:
        why, cure = "skill trials are disabled", "disable it, or retire it"
        if is_learning_pinned(mind, found.about):
            why, cure = "it is pinned", "unpin it first"
        raise Conflict(f"skill {skill.name!r} remains {skill.status.value}: {why}", cure=cure)
    return before


def _changed_since(facts: Documents, agent_id: str, found: Adjustment, why: str) -> Conflict:
    subject = found.about
    same = adjustments_about(page_of_adjustments(facts, agent_id), subject)
    later = [each.id for each in same if each.id > found.id]
    named = f"; change {later[-1]} came later" if later else ""
    return Conflict(
        f"change {found.id!r} cannot be undone: {why}{named}",
        cure="read the change again, and undo a later one first",
    )
