"""Experiences that go at their owner's word, come back, and are named no more once forgotten."""

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
    LearnedSubject,
    end_adjustment,
    is_subject_pinned,
)
from opencrab.domain.memory.memory import EXPERIENCE, LIVED, Experience
from opencrab.domain.skills.skill import SkillStatus
from opencrab.engine.memory.records import index_rewrite_mark, stored_agent_state
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

OTHER = "other"
"""In what a change tells: the experience that says the same and stays."""

Beside = Callable[[], Iterator[Document]]
"""What is written together with a change, read anew each time; raises Conflict if it cannot be."""


def has_experience(facts: Documents, agent_id: str, experience_id: str) -> bool:
    """Whether there is such an experience, retired or not."""
    return facts.get(agent_id, EXPERIENCE, experience_id) is not None


def experience_adjustments(
    facts: Documents, agent_id: str, *states: AdjustmentState
) -> tuple[Adjustment, ...]:
    """All changes about experiences that are in one of these states, the oldest first."""
    every = (fact.read(Adjustment) for fact in all_pages(facts, agent_id, ADJUSTMENT))
    about = (each for each in every if each.kind is AdjustmentKind.EXPERIENCE)
    return tuple(each for each in about if each.state in states)


def followed_experience_proposal(made: Adjustment) -> Adjustment:
    """A followed proposal as it is told: whether it was alone, or left to another one."""
    after = {name: each for name, each in made.after.items() if name == OTHER}
    return made.replaced(after={"status": SkillStatus.ARCHIVED.value, **after})


def retire_experience(facts: Documents, agent_id: str, made: Adjustment) -> Beside:
    """An experience that searches show no more; every index learns of it from the feed.

    One to which another was left stays: whoever follows two proposals at once loses one at most, as
    the one that stays is written, too.
    """

    def beside() -> Iterator[Document]:
        fact, lived = _require_experience(facts, agent_id, made.subject)
        if lived.retired_at is not None:
            raise Conflict(f"experience {lived.id!r} is retired already", field="change_id")
        if is_subject_pinned(
            stored_agent_state(facts, agent_id)[1], LearnedSubject(kind=made.kind, name=lived.id)
        ):
            raise Conflict(f"experience {lived.id!r} is pinned", cure="unpin it first")
        if other := str(made.after.get(OTHER, "")):
            stays, twin = _require_experience(facts, agent_id, other)
            if twin.retired_at is not None:
                raise Conflict(f"experience {other!r}, which says the same, was retired")
            yield stays.holding(twin)
        left = experience_adjustments(facts, agent_id, AdjustmentState.APPLIED)
        if last := next((each for each in left if each.after.get(OTHER) == lived.id), None):
            cure = f"undo change {last.id} first"
            raise Conflict(f"another experience depends on {lived.id!r}, so it is kept", cure=cure)
        yield fact.holding(lived.replaced(retired_at=made.at, restored_at=None))

    return beside


def restore_experience(facts: Documents, clock: Clock, agent_id: str, made: Adjustment) -> Beside:
    """An experience as it was before it was retired; copies of an index are told to read it."""

    def beside() -> Iterator[Document]:
        fact, lived = _require_experience(facts, agent_id, made.subject)
        if lived.retired_at is None:
            raise Conflict(f"experience {lived.id!r} was restored concurrently")
        yield fact.holding(lived.replaced(retired_at=None, restored_at=made.ended_at))
        yield index_rewrite_mark(clock, agent_id, lived.id, kind=EXPERIENCE)

    return beside


def texts_of_experience_change(
    facts: Documents, agent_id: str, made: Adjustment
) -> tuple[str, ...]:
    """What the experiences say that a change is about: the one that goes, and the one that stays.

    They are read anew: a change holds nobody's words.
    """
    if made.kind is not AdjustmentKind.EXPERIENCE:
        return ()
    ids = tuple(filter(None, (made.subject, str(made.after.get(OTHER, "")))))
    stored = {
        fact.id: fact for fact in facts.several(agent_id, *((EXPERIENCE, each) for each in ids))
    }
    lived = (stored[each].read(Experience) for each in ids if each in stored)
    return tuple(f"{each.experience}\n{each.lesson}" for each in lived)


def experiences_merged_into(
    facts: Documents, agent_id: str, forgotten: AbstractSet[str]
) -> frozenset[str]:
    """The experiences that were left to forgotten ones, and to those that go with them."""
    made = experience_adjustments(facts, agent_id, AdjustmentState.APPLIED) if forgotten else ()
    found = set(forgotten)
    while more := {each.subject for each in made if each.after.get(OTHER) in found} - found:
        found |= more
    return frozenset(found - forgotten)


def close_changes(
    facts: Documents, clock: Clock, agent_id: str, forgotten: AbstractSet[str]
) -> Iterator[Document]:
    """What becomes of changes that name what is forgotten: none of them can be followed any more.

    What was left to a forgotten experience is shown again, as it is if nobody had left it, and the
    change has ended.
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
                yield from _shown_again(facts, clock, agent_id, bare)
            yield fact.holding(bare)


def without_pins_of_forgotten(mind: AgentState, forgotten: AbstractSet[str]) -> AgentState:
    """A mind that keeps no forgotten experience as it is."""
    names = {f"{LIVED}{each}" for each in forgotten}
    return mind.replaced(pinned=tuple(each for each in mind.pinned if each not in names))


def _shown_again(
    facts: Documents, clock: Clock, agent_id: str, over: Adjustment
) -> Iterator[Document]:
    """Each is written alone, and again by whoever finds the change as it was before a crash."""
    fact = facts.get(agent_id, EXPERIENCE, over.subject)
    if fact is None:
        return
    lived = fact.read(Experience)
    if lived.retired_at is not None:
        yield fact.holding(lived.replaced(retired_at=None, restored_at=over.ended_at))
    yield index_rewrite_mark(clock, agent_id, lived.id, kind=EXPERIENCE)


def _require_experience(
    facts: Documents, agent_id: str, experience_id: str
) -> tuple[Document, Experience]:
    fact = facts.get(agent_id, EXPERIENCE, experience_id)
    if fact is None:
        raise Conflict(f"experience {experience_id!r} was erased concurrently", field="change_id")
    return fact, fact.read(Experience)
