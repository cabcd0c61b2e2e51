"""Following a proposal of a nightly run or of the agent at the owner's request."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Conflict
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    is_learning_pinned,
)
from opencrab.domain.learning.model_selection import why_learned_subject_is_fixed
from opencrab.domain.learning.review_period import Remark
from opencrab.domain.skills.lifecycle import retire_learned_skill
from opencrab.domain.skills.skill import AcquiredSkill, Effectiveness, SkillStatus
from opencrab.engine.learning.candidate_models import learning_candidate_models
from opencrab.engine.learning.changes import (
    LearningChange,
    MindAndSkill,
    find_adjustment,
    open_adjustments_of,
    page_of_adjustments,
    require_agent_able_to_learn,
    store_adjustment,
)
from opencrab.engine.learning.experience_changes import (
    followed_learning_proposal_of_experience,
    retire_learned_experience,
)
from opencrab.engine.learning.nightly.models import apply_mix
from opencrab.engine.models.preferences import current_model_preferences
from opencrab.engine.runtime import Runtime

FRESH = timedelta(days=30)
"""Time for which a proposal can be followed; after that its evidence is too old."""

_FIXED = {
    "pinned": ("it is pinned", "unpin it first"),
    "chosen": ("a model is set permanently for this use", "reset that choice first"),
}


def follow_learning_proposal(
    runtime: Runtime, agent_id: str, change_id: str, by: str
) -> Adjustment:
    """Apply a proposal; the change then belongs to the owner.

    Raises NotFound, and Conflict if it is no longer proposed, is older than FRESH, is advice that
    needs new text, or no longer fits the present state.
    """
    require_agent_able_to_learn(runtime.home.agents, agent_id)
    current_model_preferences(runtime)
    found, now = find_adjustment(runtime.home.facts, agent_id, change_id), runtime.clock.now()
    if found.state is not AdjustmentState.PROPOSED:
        raise Conflict(
            f"change {change_id!r} is {found.state.value}, not proposed",
            field="change_id",
            cure="only a proposed change can be accepted",
        )
    if found.at < now - FRESH:
        raise Conflict(
            f"change {change_id!r} was proposed more than {FRESH.days} days ago",
            field="change_id",
            cure="wait until the next nightly run proposes it again",
        )
    evidence = {**found.evidence, "proposed_by": found.by}
    made = found.replaced(state=AdjustmentState.APPLIED, at=now, by=by, evidence=evidence)
    if found.kind is AdjustmentKind.MODELS:
        change = _mixing(runtime, agent_id, made)
    elif found.kind is AdjustmentKind.EXPERIENCE:
        change = LearningChange(
            followed_learning_proposal_of_experience(made),
            beside=retire_learned_experience(runtime.home.facts, agent_id, made),
        )
    else:
        change = _retiring(found, made)
    listed = page_of_adjustments(runtime.home.facts, agent_id)
    earlier = open_adjustments_of(listed, found.about)
    ends = tuple(each for each in earlier if each.id != found.id)
    change = replace(change, ends=ends, was=AdjustmentState.PROPOSED)
    return store_adjustment(runtime.home.facts, agent_id, change)


def find_followed_learning_proposal(
    runtime: Runtime, agent_id: str, change_id: str, by: str
) -> Adjustment:
    """Retry `follow_proposal`: returns the change if this owner followed it already."""
    found = find_adjustment(runtime.home.facts, agent_id, change_id)
    if (found.state, found.by) == (AdjustmentState.APPLIED, by):
        return found
    return follow_learning_proposal(runtime, agent_id, change_id, by)


def _mixing(runtime: Runtime, agent_id: str, made: Adjustment) -> LearningChange:
    """Return a proposed traffic split as a change; raises Conflict if it no longer fits."""
    profile, name = runtime.home.agents.get(agent_id), made.subject
    why = why_learned_subject_is_fixed(profile.agent, profile.mind, name)
    if why:
        reason, cure = _FIXED[why]
        raise Conflict(f"the traffic split for {name!r} was not accepted: {reason}", cure=cure)
    models: Mapping[str, str] = made.evidence.get("models", {})
    choices = learning_candidate_models(runtime.models, profile.agent)
    for alias in made.after["weights"]:
        if alias not in choices or choices[alias].name != models.get(alias):
            raise Conflict(
                f"alias {alias!r} may no longer be selected, or now names another model",
                cure="wait for the next nightly run",
            )
    return LearningChange(made, apply_mix(name, made.before, made.after))


def _retiring(found: Adjustment, made: Adjustment) -> LearningChange:
    """Return the change that retires a skill; raises Conflict if the proposal is only advice."""
    remark = found.after.get("remark")
    if remark != Remark.RETIRE:
        raise Conflict(
            f"change {found.id!r} is advice to {remark} skill {found.subject!r}: it needs new text",
            field="change_id",
            cure="teach the skill again, or retire it yourself",
        )
    subject = found.about

    def alter(mind: AgentState, skill: AcquiredSkill | None) -> MindAndSkill:
        cure = "read the skill and the change again"
        if skill is None or skill.status.value != found.before.get("status"):
            raise Conflict(f"skill {subject.name!r} was changed concurrently", cure=cure)
        if skill.worded_at is not None and skill.worded_at > found.at:
            raise Conflict(f"skill {subject.name!r} got new text concurrently", cure=cure)
        if is_learning_pinned(mind, subject):
            raise Conflict(f"skill {subject.name!r} is pinned", cure="unpin it first")
        return mind, retire_learned_skill(
            skill, made.at, owner=made.by, effectiveness=_effect(found)
        )

    return LearningChange(made.replaced(after={"status": SkillStatus.ARCHIVED.value}), alter)


def _effect(found: Adjustment) -> Effectiveness | None:
    numbers = {name: found.evidence.get(name) for name in Effectiveness.model_fields}
    return None if None in numbers.values() else Effectiveness.model_validate(numbers)
