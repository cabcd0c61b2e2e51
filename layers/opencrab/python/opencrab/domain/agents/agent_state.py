"""Mind: the small document about an agent that every turn reads together with the agent."""

from typing import Annotated

from pydantic import Field

from opencrab.domain.memory.memory import CoreMemory
from opencrab.domain.models.traffic_split import MIXES, Mix
from opencrab.domain.skills.skill import IndexedSkill, SkillName, StandardSkill
from opencrab.domain.value import GoalId, Value

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


class AgentState(Value):
    """Goals that are open, acquired skills that are live, and the core memories.

    `enabled` and `disabled` are the standard skills that the owner switched, against what they are
    by default. `mixes` are the models that were learned to be good for something, `pinned` what the
    owner keeps as it is: no evidence moves it.
    """

    agenda: Agenda = Agenda()
    skills: tuple[IndexedSkill, ...] = ()
    core: tuple[CoreMemory, ...] = ()
    disabled: tuple[SkillName, ...] = ()
    enabled: tuple[SkillName, ...] = ()
    mixes: Annotated[tuple[Mix, ...], Field(max_length=MIXES)] = ()
    pinned: Annotated[tuple[str, ...], Field(max_length=100)] = ()


def is_skill_enabled(skill: StandardSkill, mind: AgentState) -> bool:
    """Whether an agent has a standard skill: as it is by default, unless its owner switched it."""
    if skill.name in mind.disabled:
        return False
    return skill.by_default or skill.name in mind.enabled
