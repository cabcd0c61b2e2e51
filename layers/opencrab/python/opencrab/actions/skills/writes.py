"""The only functions that store, change, retire or restore an agent's skills."""

from opencrab.actions.skills.file import write_skill_file
from opencrab.actions.skills.text import skill_action_hint
from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Refused
from opencrab.domain.learning.signals import learned_skill_pin
from opencrab.domain.learning.skill_readers import (
    SKILL_READERS,
    learned_skill_document_names,
    learned_skill_readers,
    may_turn_read_learned_skill,
)
from opencrab.domain.learning.skill_trials import (
    index_learned_skill,
    may_vouch_for_learned_skill,
    place_learned_skill,
)
from opencrab.domain.skills.lifecycle import (
    SkillLesson,
    SkillTeaching,
    is_learned_skill_named,
    learned_skill_name,
    no_learned_skill_error,
    require_learned_skill_room,
    takes_learned_skill_room,
    teach_learned_skill,
)
from opencrab.domain.skills.skill import SKILL, SKILLS_KEPT, AcquiredSkill
from opencrab.domain.turn.action import ActionResult, SkillLearned
from opencrab.ports.turn.action import ActionContext

_WORDS = ("description", "situation_pattern", "guidance")


def store_skill(
    what: SkillLesson, context: ActionContext, teaching: SkillTeaching, given_name: str
) -> ActionResult:
    """Return a result that stores a lesson as a new skill, or a new version, with its file."""
    _require_free(what.name, context)
    found = _stored_skill(what.name, context)
    if found is not None and not _is_readable(found[1], context):
        raise Refused(f"the name {what.name!r} is taken", field="name", cure="choose another name")
    stored = found[1] if found else None
    skill = teach_learned_skill(stored, what, teaching, context.clock.now())
    told: dict[str, str] = {}
    if not is_learned_skill_named(given_name):
        told["note"] = f"it is kept as {skill.name}; its description begins with the given name"
    result = _storing(found[0] if found else None, stored, skill, context, told)
    result = write_skill_file(result, skill, context)
    label = learned_skill_readers(context.agent.id, skill, context.clearance)
    return result if label is None else result.keeping(label)


def move_skill(
    fact: Document, stored: AcquiredSkill, skill: AcquiredSkill, context: ActionContext
) -> ActionResult:
    """Return a result that stores a retired or restored skill, if it has changed."""
    if skill == stored:
        return ActionResult.ok(skill_name=skill.name, status=skill.status.value)
    return _storing(fact, stored, skill, context, {})


def own_skill(name: str, context: ActionContext) -> tuple[Document, AcquiredSkill]:
    """Return a skill that the agent learned and this turn may read.

    Raises Refused if it is standard, NotFound if there is none.
    """
    slug = learned_skill_name(name)
    if context.reach.skills.find(slug) is not None:
        raise Refused(
            f"{slug!r} is a standard skill: only the owner can disable it",
            field="name",
            cure="choose a skill that you learned, or ask your owner",
        )
    found = _stored_skill(slug, context)
    if found is None or not _is_readable(found[1], context):
        raise no_learned_skill_error(slug)
    return found


def _stored_skill(name: str, context: ActionContext) -> tuple[Document, AcquiredSkill] | None:
    """Return an acquired skill with its document, whatever its status; None if there is none."""
    fact = context.reach.facts.get(context.agent.id, SKILL, name)
    return None if fact is None else (fact, fact.read(AcquiredSkill))


def readable_skill(name: str, context: ActionContext) -> AcquiredSkill | None:
    """Return a live acquired skill that the turn may read; None if there is none."""
    found = context.reach.facts.get_many(context.agent.id, *learned_skill_document_names(name))
    by_kind = {fact.kind: fact for fact in found}
    if SKILL not in by_kind:
        return None
    skill = by_kind[SKILL].read(AcquiredSkill)
    readable = may_turn_read_learned_skill(context.clearance, skill, by_kind.get(SKILL_READERS))
    return skill if skill.status.is_live and readable else None


def _is_readable(skill: AcquiredSkill, context: ActionContext) -> bool:
    """Check whether the turn may read a skill: what it may not read, it may not replace."""
    if context.clearance.whole:
        return True
    label = context.reach.facts.get(context.agent.id, SKILL_READERS, skill.name)
    return may_turn_read_learned_skill(context.clearance, skill, label)


def require_skill_authority(context: ActionContext) -> None:
    """Raise Refused in a turn that may not vouch for a skill, such as a tainted one."""
    if not may_vouch_for_learned_skill(context.turn):
        raise Refused(
            "skills can be retired or restored only in your own, your owner's or a user's turn "
            "that has read no untrusted text",
            cure="propose it to your owner",
        )


def _storing(
    fact: Document | None,
    stored: AcquiredSkill | None,
    skill: AcquiredSkill,
    context: ActionContext,
    told: dict[str, str],
) -> ActionResult:
    """Return a result that stores a skill together with the agent's index of skills."""
    agent_id, facts = context.agent.id, context.reach.facts
    known = facts.get(agent_id, MIND, MIND)
    mind = known.read(AgentState) if known else AgentState()
    _require_owners_words(stored, skill, mind, context)
    skill = place_learned_skill(skill, mind, context.trials)
    if takes_learned_skill_room(stored, skill):
        page = facts.page(agent_id, SKILL, limit=SKILLS_KEPT + 1)
        require_learned_skill_room(
            (each.read(AcquiredSkill) for each in page if each.id != skill.name), skill
        )
    changed = [fact.with_body(skill) if fact else new_fact(agent_id, SKILL, skill.name, skill)]
    aware = index_learned_skill(mind, skill)
    if aware != mind:
        changed.append(known.with_body(aware) if known else new_fact(agent_id, MIND, MIND, aware))
    effect = SkillLearned(name=skill.name, status=skill.status.value)
    shown = {"skill_name": skill.name, "version": skill.version, "status": skill.status.value}
    if hint := skill_action_hint(skill, context.agent.language):
        shown["hint"] = hint
    return ActionResult.ok(effect, **shown, **told).keeping(*changed)


def _require_owners_words(
    stored: AcquiredSkill | None, skill: AcquiredSkill, mind: AgentState, context: ActionContext
) -> None:
    """Raise Refused if a pinned skill would change, except in a turn of the owner."""
    if (
        context.turn.authority is Authority.OWNER
        or learned_skill_pin(skill.name) not in mind.pinned
    ):
        return
    if stored is None or any(getattr(stored, each) != getattr(skill, each) for each in _WORDS):
        raise Refused(
            f"skill {skill.name!r} is pinned: only the owner can change its text",
            field="name",
            cure="choose another name, or propose it to your owner",
        )


def _require_free(name: str, context: ActionContext) -> None:
    """Raise Refused if an action or a standard skill has this name."""
    taken = context.actions.find(name.replace("-", "_")) is not None
    if taken or context.reach.skills.find(name) is not None:
        raise Refused(
            f"{name!r} is the name of an action or a standard skill",
            field="name",
            cure="choose another name",
        )
