"""Learned skills that a turn goes without, so that their effect can be measured."""

from collections.abc import Iterable

from opencrab.domain.learning.signals import draw_learned_skill_holdouts
from opencrab.domain.turn.task_type import turn_think_context
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.skills import load_skill_holdouts


def withheld_skills(work: TurnWork, fit: Iterable[str]) -> frozenset[str]:
    """Return the learned skills that are withheld from this turn; one read if any fits.

    A skill that was shipped since under the name of one on trial is not on trial.
    """
    shipped, agent_id = work.runtime.skills, work.turn.agent_id
    learned = {skill.name for skill in work.profile.mind.skills if shipped.find(skill.name) is None}
    if learned.isdisjoint(fit):
        return frozenset()
    trigger = work.trigger
    kind = turn_think_context(trigger.text if trigger else "", work.turn.trigger).task_type
    drawn = draw_learned_skill_holdouts(
        work.profile.mind,
        load_skill_holdouts(work.runtime.home.facts, agent_id),
        work.turn.id,
        kind.value,
        work.runtime.rules.trials.skill_percent,
    )
    return drawn & learned
