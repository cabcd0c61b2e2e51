"""Documents written with a memory: its counts, its links, and the marks for search indexes."""

from collections.abc import Iterable

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import Document, new_fact
from opencrab.domain.erasure.request import FORGOTTEN, MARKS_KEPT, ErasureMark, ErasureScope
from opencrab.domain.errors import Invalid, Refused, Unavailable
from opencrab.domain.memory.memory import LINKS, MEMORY, REWRITTEN, IndexRewrite, Memory
from opencrab.domain.memory.search_row import RowKind, search_row_of_curated_memory
from opencrab.domain.memory.write_policy import (
    GATE,
    MEMORIES,
    RECOUNTED,
    MemoryCounts,
    MemoryRefusalReason,
)
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.memory.search import Search, SearchQuery
from opencrab.ports.paging import all_pages

SIMILAR = 8
"""Memories that a new one is compared with: the first results of a search for its words."""


def find_memory(facts: Documents, agent_id: str, memory_id: str) -> Document | None:
    """Return a memory's document, or None."""
    return facts.get(agent_id, MEMORY, memory_id)


def similar_memories(
    facts: Documents, search: Search, agent_id: str, content: str
) -> dict[str, Document]:
    """Return the memories most similar to a text, by id; none without a reachable index.

    A duplicate that is saved meanwhile can be merged later.
    """
    query = SearchQuery(
        text=content, limit=SIMILAR, kinds=frozenset({RowKind.MEMORY}), only_words=True
    )
    try:
        found = search.search(agent_id, query)
    except Unavailable:
        return {}
    like = (find_memory(facts, agent_id, each.row.ref) for each in found)
    return {fact.id: fact for fact in like if fact is not None}


def stored_memory_state_of_agent(
    facts: Documents, agent_id: str
) -> tuple[Document | None, AgentState]:
    """Return an agent's state and its document, which is None if not stored yet."""
    fact = facts.get(agent_id, MIND, MIND)
    return fact, fact.read(AgentState) if fact else AgentState()


def memory_count(facts: Documents, agent_id: str) -> MemoryCounts:
    """Return the counts of stored and of rejected memories."""
    fact = facts.get(agent_id, GATE, GATE)
    return fact.read(MemoryCounts) if fact else MemoryCounts()


def count_memory_added(facts: Documents, clock: Clock, agent_id: str) -> Document:
    """Return the counts with one more memory; raise Refused at the limit."""
    gate, now = memory_count(facts, agent_id), clock.now()
    believed = gate.counted_at is not None and now - gate.counted_at < RECOUNTED
    if gate.kept >= MEMORIES and not believed:
        gate = gate.replaced(kept=_count(facts, agent_id), counted_at=now)
    if gate.kept >= MEMORIES:
        raise Refused(
            f"limit reached: agent {agent_id!r} has {MEMORIES} memories",
            cure="delete unused memories",
        )
    return _counts(agent_id, gate.changed(1))


def count_memories_added(facts: Documents, agent_id: str, count: int) -> Document:
    """Return the counts with several more memories."""
    return _counts(agent_id, memory_count(facts, agent_id).changed(count))


def count_memory_removed(facts: Documents, agent_id: str) -> Document:
    """Return the counts with one memory less."""
    return _counts(agent_id, memory_count(facts, agent_id).changed(-1))


def count_memory_refused(facts: Documents, agent_id: str, reason: MemoryRefusalReason) -> Document:
    """Return the counts with one more rejected memory."""
    return _counts(agent_id, memory_count(facts, agent_id).with_refusal(reason))


def memory_deletion_mark(clock: Clock, agent_id: str, memory: Memory) -> Document:
    """Return the mark that makes every copy of an index drop a memory."""
    now = clock.now()
    mark = ErasureMark(
        scope=ErasureScope.MEMORY, refs=(search_row_of_curated_memory(memory).id,), at=now
    )
    mark_id, ends = clock.new_id(), now + MARKS_KEPT
    return new_fact(agent_id, FORGOTTEN, mark_id, mark, expires_at=ends)


def memory_index_rewrite_mark(
    clock: Clock, agent_id: str, *refs: str, kind: str = MEMORY
) -> Document:
    """Return the mark that makes every copy of an index read these ids again."""
    fact_id, ends = clock.new_id(), clock.now() + MARKS_KEPT
    told = IndexRewrite(refs=refs, kind=kind)
    return new_fact(agent_id, REWRITTEN, fact_id, told, expires_at=ends)


def add_memory_backlinks(
    facts: Documents, agent_id: str, links: Iterable[str], memory_id: str
) -> list[Document]:
    """Return the linked memories with a link back; raise Invalid for an unknown one.

    A memory that has no room for the link, or has it already, is left out.
    """
    changes = list[Document]()
    for each in dict.fromkeys(links):
        fact = find_memory(facts, agent_id, each)
        if fact is None:
            raise Invalid(
                f"there is no memory {each!r} to link", field="links", cure="remove it from links"
            )
        other = fact.read(Memory)
        if each != memory_id and memory_id not in other.links and len(other.links) < LINKS:
            changes.append(fact.with_body(other.replaced(links=(*other.links, memory_id))))
    return changes


def remove_memory_backlinks(
    facts: Documents, agent_id: str, links: Iterable[str], memory_id: str
) -> list[Document]:
    """Return the memories that linked back to a memory, without that link."""
    ends = (
        find_memory(facts, agent_id, each) for each in dict.fromkeys(links) if each != memory_id
    )
    others = [(fact, fact.read(Memory)) for fact in ends if fact is not None]
    return [
        fact.with_body(
            other.replaced(links=tuple(each for each in other.links if each != memory_id))
        )
        for fact, other in others
        if memory_id in other.links
    ]


def _counts(agent_id: str, gate: MemoryCounts) -> Document:
    """Return the write of the counts, without a version check so that it never conflicts."""
    return new_fact(agent_id, GATE, GATE, gate).replaced(version=0)


def _count(facts: Documents, agent_id: str) -> int:
    return sum(1 for _ in all_pages(facts, agent_id, MEMORY))
