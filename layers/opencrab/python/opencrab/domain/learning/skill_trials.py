"""What learning does with acquired skills: who vouches for them, and room for their trials."""

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.signals import learned_skill_pin, learned_skills_on_trial
from opencrab.domain.skills.skill import AcquiredSkill, IndexedSkill, SkillStatus
from opencrab.domain.turn.turn import Turn

INDEXED_BYTES = 300
"""The limit of a live skill's description, and of its pattern, in the agent state."""

_VOUCHING = frozenset({Authority.OWNER, Authority.USER, Authority.SELF})


def may_vouch_for_learned_skill(turn: Turn) -> bool:
    """Check whether skills learned in a turn need no approval before their trial.

    The turn must be untainted and act for an owner, for a user, or for the agent itself.
    """
    return not turn.taint and turn.authority in _VOUCHING


def place_learned_skill(
    skill: AcquiredSkill, mind: AgentState, trials: TrialSettings
) -> AcquiredSkill:
    """Return a candidate with the status for which this agent state has room.

    It becomes active if nothing would be withheld: the owner pinned it, or trials are off. If all
    places on trial are taken it waits, switched off until one is free.
    """
    if skill.status is not SkillStatus.CANDIDATE:
        return skill
    if trials.skill_percent == 0 or learned_skill_pin(skill.name) in mind.pinned:
        return skill.replaced(status=SkillStatus.ACTIVE)
    if len(learned_skills_on_trial(mind) - {skill.name}) < trials.candidates:
        return skill
    return skill.replaced(status=SkillStatus.DISABLED, waits=True)


def index_learned_skill(mind: AgentState, skill: AcquiredSkill) -> AgentState:
    """Return the agent state with the skill listed if it is live, else without it."""
    others = [each for each in mind.skills if each.name != skill.name]
    if skill.status.is_live:
        description = _cut(skill.description, INDEXED_BYTES)
        pattern = _cut(skill.situation_pattern, INDEXED_BYTES)
        shown = IndexedSkill(
            name=skill.name,
            description=description,
            situation_pattern=pattern,
            on_trial=skill.status is SkillStatus.CANDIDATE,
        )
        others = sorted((*others, shown), key=lambda each: each.name)
    return mind.replaced(skills=tuple(others))


def _cut(text: str, most: int) -> str:
    content = text.encode()
    if len(content) <= most:
        return text
    return content[: most - 3].decode(errors="ignore") + "…"
