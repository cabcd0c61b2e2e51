"""Changes to an agent based on evidence, each stored in one transaction.

It has the agent's state, the skill concerned, and the adjustment that records the change. A
concurrent update causes a retry.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import takewhile

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.learning.change import (
    ADJUSTMENT,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    end_adjustment,
)
from opencrab.domain.learning.skill_trials import index_learned_skill
from opencrab.domain.skills.skill import SKILL, AcquiredSkill
from opencrab.engine.learning.experience_changes import Beside
from opencrab.engine.memory.records import stored_memory_state_of_agent
from opencrab.engine.retry import retry_after_changes
from opencrab.ports.agents import Agents
from opencrab.ports.documents import Documents
from opencrab.ports.paging import paginate

log = logging.getLogger(__name__)

_PAGE = 100
_MOST_ENDED = 10
_HELD = {AdjustmentState.APPLIED, AdjustmentState.PROPOSED}

MindAndSkill = tuple[AgentState, AcquiredSkill | None]
Alter = Callable[[AgentState, AcquiredSkill | None], MindAndSkill]
"""Function that changes an agent's state and the skill concerned, or raises Conflict."""


@dataclass(frozen=True)
class LearningChange:
    """An adjustment to store, with its effect, what it ends, and what it puts back in force.

    `ends` are superseded, `again` is applied again. `beside` gives documents other than the agent's
    state and skill to write with it. `was` is the state that an adjustment stored before must still
    have; None for a new one.
    """

    adjustment: Adjustment
    alter: Alter | None = None
    ends: tuple[Adjustment, ...] = ()
    was: AdjustmentState | None = None
    again: Adjustment | None = None
    beside: Beside | None = None

    def apply(self, mind: AgentState, skill: AcquiredSkill | None) -> MindAndSkill:
        """Return the agent's state and the skill after this change; raises Conflict."""
        if self.alter is None:
            return mind, skill
        after, changed = self.alter(mind, skill)
        if changed is None or changed == skill or skill is None:
            return after, skill
        return index_learned_skill(after, changed), changed


def page_of_adjustments(
    facts: Documents, agent_id: str, *, after: str = "", limit: int = _PAGE
) -> tuple[Adjustment, ...]:
    """Return an agent's adjustments, applied or proposed, newest first, before the id `after`."""
    page = facts.page(agent_id, ADJUSTMENT, after=after, limit=limit, newest_first=True)
    return tuple(fact.read(Adjustment) for fact in page)


def every_adjustment(facts: Documents, agent_id: str) -> Iterator[Adjustment]:
    """Yield all adjustments, applied or proposed, newest first."""
    return paginate(partial(page_of_adjustments, facts), agent_id, after="", limit=_PAGE)


def recent_adjustments(facts: Documents, agent_id: str, since: datetime) -> tuple[Adjustment, ...]:
    """Return the adjustments since a time, applied or proposed, newest first."""
    return tuple(takewhile(lambda each: each.at >= since, every_adjustment(facts, agent_id)))


def find_adjustment(facts: Documents, agent_id: str, adjustment_id: str) -> Adjustment:
    """Return one adjustment; raises NotFound."""
    return _require_adjustment(facts, agent_id, adjustment_id).read(Adjustment)


def adjustments_about(found: Iterable[Adjustment], subject: LearnedSubject) -> Iterator[Adjustment]:
    """Yield the adjustments of a subject, in the given order."""
    return (each for each in found if each.about == subject)


def open_adjustments_of(
    found: Iterable[Adjustment], subject: LearnedSubject
) -> tuple[Adjustment, ...]:
    """Return a subject's adjustments in force or proposed, which a new one ends."""
    same = adjustments_about(found, subject)
    return tuple(each for each in same if each.state in _HELD)[:_MOST_ENDED]


def store_adjustment(facts: Documents, agent_id: str, change: LearningChange) -> Adjustment:
    """Store an adjustment together with its effect, once however often it is called.

    Raises Conflict if the change no longer fits, and Changed after 5 concurrent updates.
    """
    made = retry_after_changes(lambda: _commit_change(facts, agent_id, change))
    shown = made.id, agent_id, f"{made.kind.value}:{made.subject}", made.state.value
    log.info("learning change stored: id=%s, agent=%s, subject=%s, state=%s", *shown)
    return made


def require_agent_able_to_learn(agents: Agents, agent_id: str) -> None:
    """Raise Conflict if the agent has retired, NotFound if it does not exist."""
    if not agents.get(agent_id).agent.answers:
        raise Conflict(
            f"agent {agent_id!r} has retired and cannot be changed", cure="choose another agent"
        )


def learned_mind(facts: Documents, agent_id: str) -> AgentState:
    """Return an agent's stored state, an empty one if there is none."""
    return stored_memory_state_of_agent(facts, agent_id)[1]


def mind_document(agent_id: str, stored: Document | None, mind: AgentState) -> Document:
    """Return the document that stores an agent's state, in place of the stored one."""
    return stored.with_body(mind) if stored else new_fact(agent_id, MIND, MIND, mind)


def _commit_change(facts: Documents, agent_id: str, change: LearningChange) -> Adjustment:
    wanted = change.adjustment
    stored = facts.get(agent_id, ADJUSTMENT, wanted.id)
    known = stored.read(Adjustment) if stored else None
    if known is not None and (change.was is None or known.state is wanted.state):
        return known
    if known is not None and change.was is not None and known.state is not change.was:
        raise Conflict(
            f"change {wanted.id!r} is no longer {change.was.value}", cure="read the change again"
        )
    made = stored.with_body(wanted) if stored else new_fact(agent_id, ADJUSTMENT, wanted.id, wanted)
    writes = [made, *_ending(facts, agent_id, change)]
    if change.again is not None:
        fact = _require_adjustment(facts, agent_id, change.again.id)
        again = fact.read(Adjustment).replaced(ended_at=None, ended_by="")
        writes.append(fact.with_body(again.replaced(state=AdjustmentState.APPLIED)))
    if change.alter is not None:
        writes += _mind_and_skill(facts, agent_id, change)
    if change.beside is not None:
        writes += change.beside()
    facts.commit(*writes)
    return wanted


def _ending(facts: Documents, agent_id: str, change: LearningChange) -> Iterator[Document]:
    """Yield the superseded adjustments; raises Conflict if one was followed since it was read."""
    new = change.adjustment
    for earlier in change.ends:
        fact = _require_adjustment(facts, agent_id, earlier.id)
        known = fact.read(Adjustment)
        if known.state is earlier.state:
            yield fact.with_body(end_adjustment(known, AdjustmentState.SUPERSEDED, new.at, new.id))
        elif known.state in _HELD:
            raise Conflict(
                f"change {earlier.id!r} is already {known.state.value}", cure="reload it"
            )


def _mind_and_skill(facts: Documents, agent_id: str, change: LearningChange) -> Iterator[Document]:
    wanted, held = change.adjustment, None
    stored, mind = stored_memory_state_of_agent(facts, agent_id)
    if wanted.kind is AdjustmentKind.SKILL:
        held = facts.get(agent_id, SKILL, wanted.subject)
    skill = held.read(AcquiredSkill) if held else None
    after, changed = change.apply(mind, skill)
    if changed is not None and changed != skill and held is not None:
        yield held.with_body(changed)
    if after != mind:
        yield mind_document(agent_id, stored, after)


def _require_adjustment(facts: Documents, agent_id: str, adjustment_id: str) -> Document:
    fact = facts.get(agent_id, ADJUSTMENT, adjustment_id)
    if fact is None:
        raise NotFound(
            f"there is no change {adjustment_id!r}",
            field="change_id",
            cure=f"list them with GET /api/agents/{agent_id}/changes",
        )
    return fact
