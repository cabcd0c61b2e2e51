"""Import of an archive: its documents become an agent's, as far as they can be trusted.

Everything is validated before anything is written; a second import changes nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from pydantic import ValidationError

from opencrab.domain.agents.agent_state import MIND
from opencrab.domain.agents.core_memory import agent_with_core_memory
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Invalid, NotFound, Refused, TooLarge
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.belief_index import BELIEFS, PEERS, belief_id_in_memory
from opencrab.domain.memory.knowledge_graph import EDGE, NODE, KnowledgeNode, knowledge_edge_id
from opencrab.domain.memory.memory import (
    CORE,
    EXPERIENCE,
    FACT,
    IMPRESSION,
    MEMORY,
    Experience,
    Impression,
    Memory,
    Provenance,
)
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.write_policy import MEMORIES, TAINTED_CONFIDENCE
from opencrab.domain.value import Value
from opencrab.engine.memory.archive.export import KINDS, memory_archive_member
from opencrab.engine.memory.archive.file import MemoryArchive, describe_memory_archive_error
from opencrab.engine.memory.archive.ids import IdMap
from opencrab.engine.memory.archive.room import require_belief_room, require_memory_room
from opencrab.engine.memory.beliefs_and_peers import rebuild_salient_memory_beliefs
from opencrab.engine.memory.records import (
    count_memories_added,
    memory_index_rewrite_mark,
    stored_memory_state_of_agent,
)
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home

TAKEN_KINDS = (MEMORY, EXPERIENCE, IMPRESSION, NODE, EDGE, BELIEF, PEER)

_AT_ONCE = 20
_FOREIGN_IMPORTANCE = 0.5
_FOUND_AGAIN = (MEMORY, EXPERIENCE)
_OF_TRUST = {
    *("tainted", "provenance", "confidence", "importance", "hearing", "category"),
    *("session_id", "turn_id", "line", "guild_id", "about_turn", "links"),
    *("confirmed", "refuted", "tested_at", "competence", "reliability"),
    *("interactions", "successes", "last_at", "last_session"),
}
"""The fields that an untrusted archive does not decide."""


class MemoryRows(Protocol):
    """Rows of a memory, by the names that the members of an archive have."""

    def rows(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows of a member with their line numbers."""


@dataclass
class RestoreCounts:
    """Counts by kind of documents: imported, already known, known with other content, or erased."""

    taken: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    other: dict[str, int] = field(default_factory=dict)
    forgotten: dict[str, int] = field(default_factory=dict)

    def count(self, where: dict[str, int], kind: str) -> None:
        """Increment one count."""
        where[kind] = where.get(kind, 0) + 1


def restore_memory_archive(
    home: Home, clock: Clock, agent_id: str, content: bytes, *, trusted: bool
) -> RestoreCounts:
    """Import memories, experiences, impressions, knowledge, beliefs and peers.

    Unless the owner trusts the archive, all of it counts as learned from strangers: it is tainted,
    private and none of it becomes core. A document whose id exists with other content is left out
    and counted, and so is one erased here, unless the archive is trusted. Raises NotFound, Invalid
    and TooLarge, before anything is written.
    """
    home.agents.get(agent_id)
    return restore_memory_rows(home, clock, agent_id, MemoryArchive(content), trusted=trusted)


def restore_memory_rows(
    home: Home, clock: Clock, agent_id: str, archive: MemoryRows, *, trusted: bool
) -> RestoreCounts:
    """Import rows as `restore_memory_archive` does, also for an agent that is not there yet."""
    report = RestoreCounts()
    read = _read_archive_facts(home, clock, agent_id, archive, report, trusted=trusted)
    require_memory_room(home.facts, agent_id, sum(kind == MEMORY for kind, _ in read))
    for each, most in ((BELIEF, BELIEFS), (PEER, PEERS)):
        require_belief_room(home.facts, agent_id, read, each, most)
    core, plain = list[Document](), list[tuple[str, Document]]()
    for kind, fact in read:
        if kind == MEMORY and _is_core(fact):
            core.append(fact)
        else:
            plain.append((kind, fact))
    for start in range(0, len(plain), _AT_ONCE):
        _write(home.facts, clock, agent_id, plain[start : start + _AT_ONCE], report)
    for fact in core:
        _write_core(home.facts, clock, fact, report)
    if taken := report.taken.get(MEMORY, 0):
        home.facts.commit(count_memories_added(home.facts, agent_id, taken))
    if {BELIEF, PEER} & report.taken.keys():
        rebuild_salient_memory_beliefs(home.facts, agent_id)
    return report


def _read_archive_facts(
    home: Home,
    clock: Clock,
    agent_id: str,
    archive: MemoryRows,
    report: RestoreCounts,
    *,
    trusted: bool,
) -> list[tuple[str, Document]]:
    """Return an archive's documents for the agent; erased ones are only counted."""
    places = _Places(home.sessions, agent_id)
    names = IdMap(home.facts, clock, agent_id, trusted=trusted)
    ids, read = dict[str, str | None](), list[tuple[str, Value, str]]()
    for kind in TAKEN_KINDS:
        for value, given in _values(archive, kind):
            _require_id(agent_id, kind, value, given)
            named = _assign_id(kind, value, given, names)
            if kind == MEMORY:
                ids[given] = named[1] if named else None
            if named is None:
                report.count(report.forgotten, kind)
            else:
                read.append((kind, *named))
    return [
        (
            kind,
            new_fact(
                agent_id,
                kind,
                fact_id,
                _own(_remap_memory_links(value, ids), places, trusted=trusted),
            ),
        )
        for kind, value, fact_id in read
    ]


def _assign_id(kind: str, value: Value, given: str, names: IdMap) -> tuple[Value, str] | None:
    """Return a value with its id here; None if it remains erased."""
    if isinstance(value, Memory):
        if (kept := names.id_and_time(kind, given, value.created_at, value.updated_at)) is None:
            return None
        return value.replaced(id=kept[0], updated_at=kept[1]), kept[0]
    if isinstance(value, Experience):
        if (kept := names.id_and_time(kind, given, value.at, value.at)) is None:
            return None
        return value.replaced(id=kept[0], at=kept[1]), kept[0]
    if isinstance(value, Belief):
        value = value.replaced(id=given)
    at = _last_changed(value)
    return None if at is not None and names.is_forgotten(at) else (value, given)


def _last_changed(value: Value) -> datetime | None:
    if isinstance(value, Belief):
        return value.tested_at or value.formed_at
    return value.last_at if isinstance(value, Peer) else getattr(value, "updated_at", None)


def _remap_memory_links(value: Value, ids: Mapping[str, str | None]) -> Value:
    """Replace ids of the archive's memories in a value by their ids here."""
    if isinstance(value, Memory):
        links = (ids.get(each, each) for each in value.links)
        return value.replaced(links=tuple(each for each in links if each is not None))
    if isinstance(value, KnowledgeNode):
        return value.replaced(memory_id=ids.get(value.memory_id, value.memory_id) or "")
    return value


class _Places:
    """The agent's sessions in this installation; ids of other sessions are dropped."""

    def __init__(self, sessions: Sessions, agent_id: str) -> None:
        self._sessions = sessions
        self._agent_id = agent_id
        self._known = dict[str, bool]()

    def has(self, session_id: str) -> bool:
        """Check whether the agent ever took part in a session of this id."""
        if session_id not in self._known:
            try:
                session = self._sessions.get(session_id)
                self._known[session_id] = self._agent_id in session.all_time_agent_ids
            except NotFound:
                self._known[session_id] = False
        return self._known[session_id]


def _values(archive: MemoryRows, kind: str) -> Iterator[tuple[Value, str]]:
    name = memory_archive_member(kind)
    for count, (number, row) in enumerate(archive.rows(name), 1):
        if count > MEMORIES:
            raise TooLarge(
                f"{name} has more than {MEMORIES} rows",
                field="archive",
                cure="remove unused ones from the archive",
            )
        try:
            value = KINDS[kind].model_validate(row)
        except ValidationError as error:
            raise Invalid(
                f"{name}, line {number}: {describe_memory_archive_error(error)}; "
                "nothing was imported",
                field="archive",
                cure="correct this line and import again",
            ) from None
        yield value, _id(kind, row)


def _id(kind: str, row: dict[str, object]) -> str:
    if kind == IMPRESSION:
        return str(row["target_id"])
    if kind == EDGE:
        return knowledge_edge_id(str(row["origin"]), str(row["relation"]), str(row["target"]))
    if kind == BELIEF:
        return belief_id_in_memory(str(row["claim"]))
    if kind == PEER:
        return str(row["agent_id"])
    return str(row["id"])


def _own(value: Value, places: _Places, *, trusted: bool) -> Value:
    """Return the value with the provenance and rights that this agent may give it."""
    session_id = str(getattr(value, "session_id", ""))
    here = bool(session_id) and places.has(session_id)
    if "session_id" in type(value).model_fields and not here:
        value = value.replaced(session_id="", turn_id="")
    if "tainted" in type(value).model_fields and not trusted:
        value = value.replaced(tainted=True)
    if isinstance(value, Belief | Peer):
        value = _own_inner(value, places, trusted=trusted)
    if isinstance(value, Memory | KnowledgeNode | Belief) and not trusted:
        value = value.replaced(confidence=min(value.confidence, TAINTED_CONFIDENCE))
    if isinstance(value, Memory):
        return _own_memory(value, here=here, trusted=trusted)
    if isinstance(value, Impression):
        return value.replaced(history=tuple(x for x in value.history if places.has(x.session_id)))
    if isinstance(value, Experience):
        # No way back comes in with it.
        value = value.replaced(retired_at=None, restored_at=None)
        return value if trusted else value.replaced(about_turn="")
    return value


def _own_inner(value: Belief | Peer, places: _Places, *, trusted: bool) -> Value:
    """Remove test results and counts that an untrusted archive claims."""
    if isinstance(value, Peer) and not places.has(value.last_session):
        value = value.replaced(last_session="")
    if trusted:
        return value
    if isinstance(value, Peer):
        return Peer(agent_id=value.agent_id, interests=value.interests, tainted=True)
    return value.replaced(confirmed=0.0, refuted=0.0, tested_at=None)


def _own_memory(memory: Memory, *, here: bool, trusted: bool) -> Memory:
    hearing = memory.hearing
    if not trusted or (not here and hearing in {Hearing.SESSION, Hearing.GUILD}):
        hearing = Hearing.PRIVATE
    return memory.replaced(
        hearing=hearing,
        guild_id=memory.guild_id if here else None,
        line=memory.line if here else 0,
        provenance=memory.provenance if trusted else Provenance.IMPORT,
        importance=memory.importance if trusted else min(memory.importance, _FOREIGN_IMPORTANCE),
        category=memory.category if trusted or memory.category != CORE else FACT,
        path="",
    )


def _require_id(agent_id: str, kind: str, value: Value, fact_id: str) -> None:
    try:
        new_fact(agent_id, kind, fact_id, value)
    except ValidationError as error:
        why = f"{fact_id[:80]!r} is not a valid ID: {describe_memory_archive_error(error)}"
        raise Invalid(
            f"{memory_archive_member(kind)}: {why}; nothing was imported",
            field="archive",
            cure="correct the ID and import again",
        ) from None


def _is_core(fact: Document) -> bool:
    return (fact.body or {}).get("category") == CORE


def _write_core(facts: Documents, clock: Clock, fact: Document, report: RestoreCounts) -> None:
    """Write a core memory with the agent state, or as a plain memory if core is full."""
    known, mind = stored_memory_state_of_agent(facts, fact.owner)
    try:
        aware = agent_with_core_memory(mind, fact.read(Memory))
    except Refused:
        plain = {**(fact.body or {}), "category": FACT}
        _write_one(facts, clock, MEMORY, fact.replaced(body=plain), report)
        return
    changed = known.with_body(aware) if known else new_fact(fact.owner, MIND, MIND, aware)
    _write_one(facts, clock, MEMORY, fact, report, changed)


def _write(
    facts: Documents,
    clock: Clock,
    agent_id: str,
    read: list[tuple[str, Document]],
    report: RestoreCounts,
) -> None:
    """Write some documents at once, or one by one if one of them exists already."""
    by_key = {fact.key: (kind, fact) for kind, fact in read}
    new = [fact for _, fact in by_key.values()]
    try:
        facts.commit(*new, *_reindex_marks(clock, agent_id, new))
    except Changed:
        for kind, fact in by_key.values():
            _write_one(facts, clock, kind, fact, report)
        return
    for kind, _ in by_key.values():
        report.count(report.taken, kind)


def _reindex_marks(clock: Clock, agent_id: str, facts: list[Document]) -> Iterator[Document]:
    """Yield marks that make index copies, which only read newer ids, read these as well."""
    for kind in _FOUND_AGAIN:
        if ids := [fact.id for fact in facts if fact.kind == kind]:
            yield memory_index_rewrite_mark(clock, agent_id, *ids, kind=kind)


def _write_one(
    facts: Documents,
    clock: Clock,
    kind: str,
    fact: Document,
    report: RestoreCounts,
    *beside: Document,
) -> None:
    stored = facts.get(*fact.key)
    if stored is None:
        try:
            told = _reindex_marks(clock, fact.owner, [fact])
            facts.commit(fact, *told, *beside)
        except Changed:
            report.count(report.other, kind)
        else:
            report.count(report.taken, kind)
    elif stored.body == fact.body:
        report.count(report.known, kind)
    elif _is_trusted_now(stored, fact):
        told = _reindex_marks(clock, fact.owner, [fact])
        vouched = stored.replaced(body=fact.body, version=stored.version + 1)
        facts.commit(vouched, *told, *beside)
        report.count(report.taken, kind)
    else:
        report.count(report.other, kind)


def _is_trusted_now(stored: Document, fact: Document) -> bool:
    """Check whether an owner now trusts the same content, imported before as untrusted."""
    before, after = stored.body or {}, fact.body or {}
    words = (set(before) | set(after)) - _OF_TRUST
    same = all(before.get(name) == after.get(name) for name in words)
    return same and bool(before.get("tainted")) and not after.get("tainted")
