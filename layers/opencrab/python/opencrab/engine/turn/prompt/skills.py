"""Skills of a turn: those about folders with files, and learned ones that it goes without."""

from collections.abc import Iterable
from functools import cache, partial

from opencrab.domain.agents.agent_state import AgentState, skills_for_folders_of_agent
from opencrab.domain.learning.signals import draw_learned_skill_holdouts
from opencrab.domain.turn.task_type import turn_think_context
from opencrab.engine.turn.cleared_files import files_a_turn_may_use
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.skills import load_skill_holdouts


def prompt_mind_for_folders(work: TurnWork) -> tuple[AgentState, tuple[str, ...]]:
    """Return the agent's state with the skills for its folders enabled, and these folders.

    Only files that the turn may read count.
    """
    mind = work.profile.mind
    about = [skill for skill in work.runtime.skills.all() if skill.folder]
    if not about:
        return mind, ()
    has_files = cache(partial(files_a_turn_may_use(work).has_files, work.turn.agent_id))
    found = skills_for_folders_of_agent(about, mind, has_files)
    own = {skill.name for skill in found if not skill.by_default}
    enabled = tuple(sorted({*mind.enabled, *own}))
    folders = tuple(skill.folder for skill in found)
    return (mind if enabled == mind.enabled else mind.replaced(enabled=enabled)), folders


def withheld_skills(work: TurnWork, fit: Iterable[str]) -> frozenset[str]:
    """Return the learned skills that are withheld from this turn; one read if any fits.

    A skill that was shipped since under the name of one on trial is not on trial.
    """
    shipped, agent_id = work.runtime.skills, work.turn.agent_id
    learned = {skill.name for skill in work.profile.mind.skills if shipped.find(skill.name) is None}
    if learned.isdisjoint(fit):
        return frozenset()
    trigger = next((x for x in work.history if x.sequence == work.turn.trigger_line), None)
    kind = turn_think_context(trigger.text if trigger else "", work.turn.trigger).task_type
    drawn = draw_learned_skill_holdouts(
        work.profile.mind,
        load_skill_holdouts(work.runtime.home.facts, agent_id),
        work.turn.id,
        kind.value,
        work.runtime.rules.trials.skill_percent,
    )
    return drawn & learned
