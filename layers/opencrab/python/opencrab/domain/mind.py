"""Mind: the small document about an agent that every turn reads together with the agent."""

from opencrab.domain.goal import GoalId
from opencrab.domain.memory import CoreMemory
from opencrab.domain.skill import IndexedSkill, SkillName, StandardSkill
from opencrab.domain.value import Value

MIND = "mind"
"""Kind and id of this fact."""


class Agenda(Value):
    """Which goals an agent has open; one at a time is being carried out, the others wait in line.

    `last_number` numbers the newest goal that there ever was.
    """

    last_number: int = 0
    current: GoalId | None = None
    waiting: tuple[GoalId, ...] = ()
    open: tuple[GoalId, ...] = ()


class Mind(Value):
    """Goals that are open, acquired skills that are active, and the core memories.

    `enabled` and `disabled` are the standard skills that the owner switched, against what they are
    by default.
    """

    agenda: Agenda = Agenda()
    skills: tuple[IndexedSkill, ...] = ()
    core: tuple[CoreMemory, ...] = ()
    disabled: tuple[SkillName, ...] = ()
    enabled: tuple[SkillName, ...] = ()


def is_enabled(skill: StandardSkill, mind: Mind) -> bool:
    """Whether an agent has a standard skill: as it is by default, unless its owner switched it."""
    if skill.name in mind.disabled:
        return False
    return skill.by_default or skill.name in mind.enabled
