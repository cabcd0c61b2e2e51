"""Agent state: the small document about an agent that every turn reads with the agent."""

from collections.abc import Callable, Iterable
from typing import Annotated

from pydantic import Field

from opencrab.domain.memory.memory import CoreMemory
from opencrab.domain.models.traffic_split import MIXES, Mix
from opencrab.domain.skills.skill import IndexedSkill, SkillName, StandardSkill
from opencrab.domain.value import GoalId, Value

MIND = "mind"
"""Kind and id of the document that stores the agent state."""


class Agenda(Value):
    """The numbers of an agent's open goals; `current` is carried out, those in `waiting` queue.

    `last_number` is the highest goal number ever given.
    """

    last_number: int = 0
    current: GoalId | None = None
    waiting: tuple[GoalId, ...] = ()
    open: tuple[GoalId, ...] = ()


class AgentState(Value):
    """Open goals, live acquired skills and core memories of an agent.

    `enabled` and `disabled` are the standard skills that the owner switched to differ from their
    default. `mixes` are the learned traffic splits of models per task, `pinned` the subjects that
    the owner fixed: no evidence changes them. `reported` has the subscriptions that are told of
    the agent's events, by name, and the types of events.
    """

    stored_version = 2
    # The release before keeps `reported` unread, and tells nobody.

    agenda: Agenda = Agenda()
    skills: tuple[IndexedSkill, ...] = ()
    core: tuple[CoreMemory, ...] = ()
    disabled: tuple[SkillName, ...] = ()
    enabled: tuple[SkillName, ...] = ()
    mixes: Annotated[tuple[Mix, ...], Field(max_length=MIXES)] = ()
    pinned: Annotated[tuple[str, ...], Field(max_length=100)] = ()
    reported: dict[str, tuple[str, ...]] = Field(default_factory=dict)


def is_skill_in_agent_state(
    skill: StandardSkill, mind: AgentState, has_files: Callable[[str], bool] = lambda _folder: False
) -> bool:
    """Check whether an agent has a standard skill, by default or for the folder that it is about.

    What its owner has switched holds. `has_files` tells whether the agent has files in a folder.
    """
    if skill.name in mind.disabled:
        return False
    if skill.by_default or skill.name in mind.enabled:
        return True
    return bool(skill.folder) and has_files(skill.folder)


def skills_for_folders_of_agent(
    skills: Iterable[StandardSkill], mind: AgentState, has_files: Callable[[str], bool]
) -> tuple[StandardSkill, ...]:
    """Return the enabled skills that are about a folder in which the agent has files."""
    return tuple(
        skill
        for skill in skills
        if skill.folder
        and is_skill_in_agent_state(skill, mind, has_files)
        and has_files(skill.folder)
    )
