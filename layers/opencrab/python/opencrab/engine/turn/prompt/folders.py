"""Folders of a turn's agent: what is in them decides which skills its prompts offer."""

from collections.abc import Sequence
from functools import cache, partial

from opencrab.domain.agents.agent_state import AgentState, skills_for_folders_of_agent
from opencrab.domain.skills.skill import StandardSkill
from opencrab.engine.turn.cleared_files import files_a_turn_may_use
from opencrab.engine.turn.work import TurnWork


def prompt_mind_for_folders(
    work: TurnWork, about: Sequence[StandardSkill]
) -> tuple[AgentState, tuple[str, ...]]:
    """Return the agent's state with the skills for its folders enabled, and these folders.

    `about` are the standard skills that have a folder. Only files that the turn may read count.
    """
    mind = work.profile.mind
    has_files = cache(partial(files_a_turn_may_use(work).has_files, work.turn.agent_id))
    found = skills_for_folders_of_agent(about, mind, has_files)
    own = {skill.name for skill in found if not skill.by_default}
    enabled = tuple(sorted({*mind.enabled, *own}))
    folders = tuple(skill.folder for skill in found)
    return (mind if enabled == mind.enabled else mind.replaced(enabled=enabled)), folders
