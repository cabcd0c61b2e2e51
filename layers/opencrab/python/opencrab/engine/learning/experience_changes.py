"""Retiring and restoring experiences at their owner's request, and erasing references to them."""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.document import Document
from opencrab.domain.errors import Conflict
from opencrab.domain.learning.change import (
    ADJUSTMENT,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    end_adjustment,
    is_learning_pinned,
)
from opencrab.domain.memory.memory import EXPERIENCE, LIVED, Experience
from opencrab.domain.skills.skill import SkillStatus
from opencrab.engine.memory.records import memory_index_rewrite_mark, stored_memory_state_of_agent
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

OTHER = "other"
"""Key in `after` of an adjustment: the id of the duplicate experience that stays."""

Beside = Callable[[], Iterator[Document]]
"""Function that returns documents to write with a change, or raises Conflict; called per try."""


def has_learned_experience(facts: Documents, agent_id: str, experience_id: str) -> bool:
    """Return True if the agent has this experience, retired or not."""
    return facts.get(agent_id, EXPERIENCE, experience_id) is not None


def experience_adjustments(
    facts: Documents, agent_id: str, *states: AdjustmentState
) -> tuple[Adjustment, ...]:
    """Return all adjustments of experiences in one of these states, oldest first."""
    every = (fact.read(Adjustment) for fact in all_pages(facts, agent_id, ADJUSTMENT))
    about = (each for each in every if each.kind is AdjustmentKind.EXPERIENCE)
    return tuple(each for each in about if each.state in states)


def followed_learning_proposal_of_experience(made: Adjustment) -> Adjustment:
    """Return a followed proposal with the retired status, and the experience it was merged into."""
    after = {name: each for name, each in made.after.items() if name == OTHER}
    return made.replaced(after={"status": SkillStatus.ARCHIVED.value, **after})


def retire_learned_experience(facts: Documents, agent_id: str, made: Adjustment) -> Beside:
    """Return the writes that retire an experience, so that searches no longer show it.

    An experience that another was merged into cannot be retired. The one that stays is written too,
    so that two proposals followed at once retire at most one of a pair.
    """

    def beside() -> Iterator[Document]:
        fact, lived = _require_experience(facts, agent_id, made.subject)
        if lived.retired_at is not None:
            raise Conflict(
                f"experience {lived.id!r} is retired already",
                field="change_id",
                cure="nothing is left to change",
            )
        if is_learning_pinned(stored_memory_state_of_agent(facts, agent_id)[1], made.about):
            raise Conflict(f"experience {lived.id!r} is pinned", cure="unpin it first")
        if other := str(made.after.get(OTHER, "")):
            stays, twin = _require_experience(facts, agent_id, other)
            if twin.retired_at is not None:
                raise Conflict(
                    f"experience {other!r}, which says the same, was retired",
                    cure="restore that one first, by undoing its change",
                )
            yield stays.with_body(twin)
        left = experience_adjustments(facts, agent_id, AdjustmentState.APPLIED)
        if last := next((each for each in left if each.after.get(OTHER) == lived.id), None):
            cure = f"undo change {last.id} first"
            raise Conflict(
                f"another experience depends on {lived.id!r}: change {last.id}", cure=cure
            )
        yield fact.with_body(lived.replaced(retired_at=made.at, restored_at=None))

    return beside


def restore_learned_experience(
    facts: Documents, clock: Clock, agent_id: str, made: Adjustment
) -> Beside:
    """Return the writes that restore a retired experience and have search indexes read it again."""

    def beside() -> Iterator[Document]:
        _, lived = _require_experience(facts, agent_id, made.subject)
        if lived.retired_at is None:
            raise Conflict(
                f"experience {lived.id!r} was restored concurrently", cure="read the change again"
            )
        yield from _restoring_writes(facts, clock, agent_id, made)

    return beside


def _restoring_writes(
    facts: Documents, clock: Clock, agent_id: str, over: Adjustment
) -> Iterator[Document]:
    """Yield the restored experience and its index mark, one write each; a retry repeats both."""
    fact, lived = _require_experience(facts, agent_id, over.subject)
    if lived.retired_at is not None:
        yield fact.with_body(lived.replaced(retired_at=None, restored_at=over.ended_at))
    yield memory_index_rewrite_mark(clock, agent_id, lived.id, kind=EXPERIENCE)


def texts_of_learned_experience_change(
    facts: Documents, agent_id: str, made: Adjustment
) -> tuple[str, ...]:
    """Return the texts of the retired experience and of the one that stays, if any.

    They are read from the store, since an adjustment contains no text of anybody.
    """
    if made.kind is not AdjustmentKind.EXPERIENCE:
        return ()
    ids = tuple(filter(None, (made.subject, str(made.after.get(OTHER, "")))))
    found = facts.get_many(agent_id, *((EXPERIENCE, each) for each in ids))
    stored = {fact.id: fact.read(Experience) for fact in found}
    lived = (stored[each] for each in ids if each in stored)
    return tuple(f"{each.experience}\n{each.lesson}" for each in lived)


def experiences_merged_by_learning(
    facts: Documents, agent_id: str, forgotten: AbstractSet[str]
) -> frozenset[str]:
    """Return the experiences merged into forgotten ones, directly or through others."""
    made = experience_adjustments(facts, agent_id, AdjustmentState.APPLIED) if forgotten else ()
    found = set(forgotten)
    while more := {each.subject for each in made if each.after.get(OTHER) in found} - found:
        found |= more
    return frozenset(found - forgotten)


def close_changes(
    facts: Documents, clock: Clock, agent_id: str, forgotten: AbstractSet[str]
) -> Iterator[Document]:
    """Yield the updates of changes that name forgotten experiences, so that none can be followed.

    An experience that was merged into a forgotten one is restored, and its change has ended.
    """
    for fact in all_pages(facts, agent_id, ADJUSTMENT) if forgotten else ():
        made = fact.read(Adjustment)
        if made.kind is not AdjustmentKind.EXPERIENCE:
            continue
        named = made.after.get(OTHER) in forgotten
        if made.subject in forgotten or (named and made.state is AdjustmentState.PROPOSED):
            yield fact.removed()
        elif named:
            after: dict[str, Any] = {k: each for k, each in made.after.items() if k != OTHER}
            bare = made.replaced(after=after)
            if made.state is AdjustmentState.APPLIED:
                bare = end_adjustment(bare, AdjustmentState.SUPERSEDED, clock.now())
                if has_learned_experience(facts, agent_id, made.subject):
                    yield from _restoring_writes(facts, clock, agent_id, bare)
            yield fact.with_body(bare)


def without_forgotten_learning_pins(mind: AgentState, forgotten: AbstractSet[str]) -> AgentState:
    """Return the agent's state without pins of forgotten experiences."""
    names = {f"{LIVED}{each}" for each in forgotten}
    return mind.replaced(pinned=tuple(each for each in mind.pinned if each not in names))


def _require_experience(
    facts: Documents, agent_id: str, experience_id: str
) -> tuple[Document, Experience]:
    fact = facts.get(agent_id, EXPERIENCE, experience_id)
    if fact is None:
        raise Conflict(
            f"experience {experience_id!r} was erased concurrently",
            field="change_id",
            cure="nothing is left to change",
        )
    return fact, fact.read(Experience)
