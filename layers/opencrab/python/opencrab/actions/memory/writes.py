"""The only functions that store, change or delete an agent's memories."""

from collections.abc import Iterable

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents import core_memory
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.document import FACTS_AT_ONCE, Document, new_fact
from opencrab.domain.erasure.request import FORGOTTEN, MARKS_KEPT, ErasureMark, ErasureScope
from opencrab.domain.errors import Invalid, NotFound, Refused, Unavailable
from opencrab.domain.memory import write_policy
from opencrab.domain.memory.memory import (
    CORE,
    LINKS,
    MEMORY,
    REWRITTEN,
    IndexRewrite,
    Memory,
    Provenance,
)
from opencrab.domain.memory.search_row import RowKind, search_row_of_curated_memory
from opencrab.domain.memory.write_policy import (
    GATE,
    MEMORIES,
    RECOUNTED,
    MemoryCounts,
    MemoryRefusalReason,
    Ruling,
)
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.value import Language, Unit
from opencrab.ports.memory.search import SearchQuery
from opencrab.ports.paging import all_pages
from opencrab.ports.turn.action import ActionContext

SIMILAR = 8
"""Number of search hits that a new memory is compared with."""

_NOT_THE_USERS = {Provenance.OWNER, Provenance.AGENT}
_NO_CORE = {
    Language.JA: "core にできるのはオーナーだけなので、fact として覚えました",
    Language.EN: "only the owner makes a memory core, so it is kept as a fact",
}
_TOLD_SIMILAR = 3
_TOLD_CHARACTERS = 120


def new_memory(
    context: ActionContext,
    category: str,
    content: str,
    *,
    importance: Unit | None = None,
    hearing: Hearing | None = None,
    path: str = "",
) -> Memory:
    """Build a memory from the current turn, with its provenance; raises Invalid if it is blank."""
    if not content.strip():
        raise Invalid("content is blank", field="content", cure="write what is to be kept")
    now, turn, session = context.clock.now(), context.turn, context.session
    done = (receipt.action for receipt in context.receipts)
    whose = write_policy.memory_provenance(turn.authority, taint=turn.taint, actions=done)
    return Memory(
        id=context.clock.new_id(),
        category=category,
        content=content,
        provenance=whose,
        confidence=write_policy.memory_confidence(whose, taint=turn.taint),
        importance=0.5 if importance is None else importance,
        hearing=write_policy.memory_audience(hearing, turn.authority, session, taint=turn.taint),
        guild_id=session.guild_id,
        path=path,
        tainted=turn.taint,
        session_id=session.id,
        line=turn.trigger_line,
        turn_id=turn.id,
        person_id=turn.principal_id,
        created_at=now,
        updated_at=now,
    )


def store_memory(
    new: Memory, context: ActionContext, *, replaces: str = "", links: Iterable[str] = ()
) -> ActionResult:
    """Return a result that stores a memory, merges it with a similar one, or refuses it."""
    linked = [require_memory(each, context) for each in dict.fromkeys(links)]
    target = require_memory(replaces, context, to_change=True) if replaces else None
    facts = _similar(new, context)
    if target is not None:
        facts[target.id] = target
    similar = [
        memory
        for memory in (fact.read(Memory) for fact in facts.values())
        if may_hear_memory(memory, context)
        and (_may_touch(memory, context) or not write_policy.may_change_memory(new, memory))
    ]
    replaced = target.read(Memory) if target is not None else None
    verdict = write_policy.judge_memory(new, similar, replaces=replaced)
    if verdict.reason is not None:
        return refuse_memory(verdict.reason, context)
    return _store_memory(verdict.ruling, verdict.memory or new, facts, linked, context)


def refuse_memory(reason: MemoryRefusalReason, context: ActionContext) -> ActionResult:
    """Return a failed result for text that may not become a memory, and count the refusal."""
    counted = _gate(context).with_refusal(reason)
    return ActionResult.failure(write_policy.CURES[reason]).keeping(_gate_fact(counted, context))


def count_memory_again(context: ActionContext) -> Document:
    """Return the memory counts plus one; raises Refused if the agent has MEMORIES memories."""
    gate = _gate(context)
    if gate.kept >= MEMORIES:
        now = context.clock.now()
        if gate.counted_at is None or now - gate.counted_at >= RECOUNTED:
            gate = gate.replaced(kept=_count(context), counted_at=now)
        if gate.kept >= MEMORIES:
            raise Refused(
                f"limit reached: {MEMORIES} memories",
                cure="forget what you no longer need with forget_memory",
            )
    return _gate_fact(gate.changed(1), context)


def drop_memory(fact: Document, context: ActionContext) -> ActionResult:
    """Return a result that deletes a memory and marks it, so that search indexes drop it.

    It is also removed from core memory and, as far as one transaction has room, from the links of
    other memories; a link to a deleted memory is not shown.
    """
    agent_id, memory, now = context.agent.id, fact.read(Memory), context.clock.now()
    mark = ErasureMark(
        scope=ErasureScope.MEMORY, refs=(search_row_of_curated_memory(memory).id,), at=now
    )
    marked = new_fact(
        agent_id, FORGOTTEN, context.clock.new_id(), mark, expires_at=now + MARKS_KEPT
    )
    changes = [fact.removed(), marked, _gate_fact(_gate(context).changed(-1), context)]
    stored = context.reach.facts.get(agent_id, MIND, MIND)
    if stored is not None:
        mind = stored.read(AgentState)
        without = core_memory.agent_without_core_memory(mind, memory.id)
        changes.extend([stored.with_body(without)] if without != mind else [])
    for linked_id in memory.links:
        linked = context.reach.facts.get(agent_id, MEMORY, linked_id)
        if linked is None or len(changes) >= FACTS_AT_ONCE:
            continue
        other = linked.read(Memory)
        if memory.id in other.links:
            links = tuple(each for each in other.links if each != memory.id)
            changes.append(linked.with_body(other.replaced(links=links)))
    result = ActionResult.ok(forgotten=memory.id, category=memory.category)
    return result.keeping(*changes)


def require_memory(memory_id: str, context: ActionContext, *, to_change: bool = False) -> Document:
    """Return a memory that this turn may read; raises NotFound for every other one.

    Raises Refused if it is to be changed and the turn acts for a user who did not say it.
    """
    fact = None
    if memory_id.isascii() and memory_id.isalnum():
        fact = context.reach.facts.get(context.agent.id, MEMORY, memory_id[:64])
    if fact is None or not may_hear_memory(fact.read(Memory), context):
        raise NotFound(
            f"there is no memory {memory_id!r}",
            field="memory_id",
            cure="find it with search_my_history",
        )
    if to_change and not _may_touch(fact.read(Memory), context):
        raise Refused(
            f"memory {memory_id!r} comes from your owner, from you or from another user; this "
            "caller may not change it",
            field="memory_id",
            cure="ask your owner",
        )
    return fact


def may_hear_memory(memory: Memory, context: ActionContext) -> bool:
    """Return True if a memory may be shown in the current turn."""
    cleared = context.clearance.search
    if cleared.whole:
        return True
    users = memory.provenance is Provenance.USER and bool(cleared.person_id)
    own = users and memory.person_id == cleared.person_id
    told = memory.hearing is not Hearing.PRIVATE and cleared.allows(
        search_row_of_curated_memory(memory)
    )
    return own or told


def _may_touch(memory: Memory, context: ActionContext) -> bool:
    """Return True if this turn may change or forget a memory; a user may only their own."""
    turn = context.turn
    if turn.authority is not Authority.USER:
        return True
    users = memory.provenance not in _NOT_THE_USERS
    return users and bool(turn.principal_id) and memory.person_id == turn.principal_id


def _store_memory(
    ruling: Ruling,
    memory: Memory,
    facts: dict[str, Document],
    linked: list[Document],
    context: ActionContext,
) -> ActionResult:
    """Return a result that stores a memory, with all documents that change with it."""
    category = write_policy.memory_category(memory.category, context.turn.authority)
    demoted = category != memory.category
    memory = _linking(memory.replaced(category=category), linked)
    stored, agent_id = facts.get(memory.id), context.agent.id
    if stored is None:
        changes = [new_fact(agent_id, MEMORY, memory.id, memory), count_memory_again(context)]
    else:
        told_of = IndexRewrite(refs=(memory.id,))
        until = context.clock.now() + MARKS_KEPT
        said = new_fact(agent_id, REWRITTEN, context.clock.new_id(), told_of, expires_at=until)
        changes = [stored.with_body(memory), said]
    changes.extend(_mind(memory, context))
    for other in linked:
        if _may_touch(other.read(Memory), context):
            changes.extend(_linked_back(other, memory))
    told: dict[str, object] = {"memory_id": memory.id, "category": memory.category}
    if ruling is not Ruling.KEPT:
        told["ruling"] = ruling.value
    elif similar := _similar_excerpts(facts.values(), context):
        told["similar"] = similar
    if memory.category == CORE and memory.tainted:
        told["hint"] = "it is not told in every turn until an owner approves it"
    if demoted:
        told["note"] = _NO_CORE[context.agent.language]
    return ActionResult.ok(**told).keeping(*changes)


def _similar(new: Memory, context: ActionContext) -> dict[str, Document]:
    """Return the stored memories most similar to a new one, by id; none if search is unavailable.

    A memory that is saved twice can be merged later; one that is not saved is lost.
    """
    query = SearchQuery(
        new.content, kinds=frozenset({RowKind.MEMORY}), limit=SIMILAR, only_words=True
    )
    try:
        found = context.reach.search.search(context.agent.id, query)
    except Unavailable:
        return {}
    facts = (context.reach.facts.get(context.agent.id, MEMORY, each.row.ref) for each in found)
    return {fact.id: fact for fact in facts if fact is not None}


def _similar_excerpts(facts: Iterable[Document], context: ActionContext) -> list[dict[str, str]]:
    """Return excerpts of similar memories, so that the model can correct an outdated one."""
    heard = (memory for fact in facts if may_hear_memory(memory := fact.read(Memory), context))
    clean = [memory for memory in heard if not memory.tainted]
    return [
        {"memory_id": each.id, "content": each.content[:_TOLD_CHARACTERS]}
        for each in clean[:_TOLD_SIMILAR]
    ]


def _mind(memory: Memory, context: ActionContext) -> tuple[Document, ...]:
    """Return the agent's state if the memory changes its core memory, else nothing."""
    agent_id = context.agent.id
    stored = context.reach.facts.get(agent_id, MIND, MIND)
    mind = stored.read(AgentState) if stored else AgentState()
    aware = core_memory.agent_with_core_memory(mind, memory)
    if aware == mind:
        return ()
    return (stored.with_body(aware) if stored else new_fact(agent_id, MIND, MIND, aware),)


def _linking(memory: Memory, linked: list[Document]) -> Memory:
    ids = dict.fromkeys((*memory.links, *(fact.id for fact in linked)))
    ids.pop(memory.id, None)
    return memory.replaced(links=tuple(ids)[-LINKS:])


def _linked_back(fact: Document, memory: Memory) -> tuple[Document, ...]:
    """Return the linked memory with a link back, or nothing if it may not or need not change."""
    other = fact.read(Memory)
    may = write_policy.may_change_memory(memory, other) and len(other.links) < LINKS
    if not may or other.id == memory.id or memory.id in other.links:
        return ()
    return (fact.with_body(other.replaced(links=(*other.links, memory.id))),)


def _gate(context: ActionContext) -> MemoryCounts:
    fact = context.reach.facts.get(context.agent.id, GATE, GATE)
    return fact.read(MemoryCounts) if fact else MemoryCounts()


def _gate_fact(gate: MemoryCounts, context: ActionContext) -> Document:
    """Return the memory counts as an unconditional write, so that they never cause a conflict."""
    return new_fact(context.agent.id, GATE, GATE, gate).replaced(version=0)


def _count(context: ActionContext) -> int:
    return sum(1 for _ in all_pages(context.reach.facts, context.agent.id, MEMORY))
