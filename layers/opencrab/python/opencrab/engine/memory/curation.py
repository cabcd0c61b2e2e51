"""Memory curation: how an owner adds, reads, changes and deletes an agent's memories.

An owner's words are checked by the same rules as the agent's own: one claim each, with a source,
and no duplicates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Field

from opencrab.domain.agents.agent_state import MIND
from opencrab.domain.agents.core_memory import (
    agent_with_core_memory,
    agent_without_core_memory,
)
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Conflict, Invalid, NotFound, Refused
from opencrab.domain.memory.memory import (
    CORE,
    LINKS,
    MEMORY,
    Category,
    Memory,
    MemoryContent,
    Provenance,
)
from opencrab.domain.memory.write_policy import (
    MemoryRefusalReason,
    MemoryVerdict,
    Ruling,
    judge_memory,
    memory_confidence,
)
from opencrab.domain.value import Identifier, Unit, Value
from opencrab.engine.memory import records
from opencrab.engine.memory.reading import session_in_agent_memory
from opencrab.engine.retry import retry_after_changes
from opencrab.engine.runtime import Runtime

OWNERS_WORD = 0.9
"""The default confidence of what an owner says."""

_READ = 100
_READS = 10

_CURES = {
    MemoryRefusalReason.BLANK: ("content is blank", "write the text to save"),
    MemoryRefusalReason.NOT_ATOMIC: (
        "content contains more than one claim",
        "save each as a memory of its own, or use a category that ends with _summary",
    ),
    MemoryRefusalReason.SAYS_NOTHING: ("content has no searchable words", "write it in words"),
}
_KNOWN = ("an equal memory from a more trusted source exists", "nothing needs to be saved")

Outcome = TypeVar("Outcome")


class NewMemory(Value, defer_build=False):
    """A new memory with one claim.

    For a memory that is for a session or its guild, name that session; any other is for everybody
    unless it is private. `links` are ids of related memories.
    """

    content: MemoryContent = Field(examples=["オーナーは毎週月曜に打ち合わせをする。"])
    category: Category = Field(
        default="fact",
        description="such as fact, preference, decision, lesson; core is part of every prompt",
    )
    confidence: Unit = OWNERS_WORD
    importance: Unit = 0.5
    hearing: Hearing = Hearing.PUBLIC
    session_id: Identifier | None = None
    links: Annotated[tuple[Identifier, ...], Field(max_length=LINKS)] = ()


class MemoryChange(Value, defer_build=False):
    """Changes to a memory; fields that are left out stay."""

    content: MemoryContent | None = None
    category: Category | None = None
    confidence: Unit | None = None
    importance: Unit | None = None
    hearing: Hearing | None = None
    links: Annotated[tuple[Identifier, ...], Field(max_length=LINKS)] | None = None


@dataclass(frozen=True)
class StoredMemory:
    """A stored memory and its version."""

    memory: Memory
    version: int


@dataclass(frozen=True)
class CurationOutcome:
    """The result of adding a memory: a new one, or a change of an existing one."""

    ruling: Ruling
    kept: StoredMemory


@dataclass(frozen=True)
class MemoryCurator:
    """An owner's access to one agent's memories.

    A memory is written in one transaction with the agent state that lists the core memories. After
    a conflict a change is repeated on what is stored. With `foreign` the added words are untrusted,
    and `owner` is the person who said them.
    """

    runtime: Runtime
    agent_id: str
    owner: str = ""
    foreign: bool = False

    def page(
        self, *, category: str | None = None, after: str = "", limit: int
    ) -> tuple[tuple[Memory, ...], str | None]:
        """Return memories of one category or of all, newest first, and where to continue.

        The second value is None when there are no more; a long stretch of other categories ends a
        page early.
        """
        self.runtime.home.agents.get(self.agent_id)
        found, size = list[Memory](), max(limit + 1, _READ)
        for _ in range(_READS):
            page = self.runtime.home.facts.page(
                self.agent_id, MEMORY, after=after, limit=size, newest_first=True
            )
            memories = (fact.read(Memory) for fact in page)
            found.extend(each for each in memories if category in {None, each.category})
            if len(found) > limit:
                return tuple(found[:limit]), found[limit - 1].id
            if len(page) < size:
                return tuple(found), None
            after = page[-1].id
        return tuple(found), after

    def get(self, memory_id: str) -> StoredMemory:
        """Return one memory; raise NotFound."""
        self.runtime.home.agents.get(self.agent_id)
        fact = self._stored(memory_id)
        return StoredMemory(fact.read(Memory), fact.version)

    def add(self, new: NewMemory, *beside: Document) -> CurationOutcome:
        """Add a memory or merge it into a similar one; raise Invalid or Refused if it is rejected.

        Documents `beside` are written with it; raises Changed after conflicts that exhaust the
        retries.
        """
        self._require_living()
        memory = self._made(new)

        def taken() -> tuple[CurationOutcome, list[Document]]:
            facts = records.similar_memories(
                self.runtime.home.facts, self.runtime.search, self.agent_id, memory.content
            )
            verdict = judge_memory(memory, [fact.read(Memory) for fact in facts.values()])
            after = self._let_in(verdict)
            linking = records.add_memory_backlinks(
                self.runtime.home.facts, self.agent_id, new.links, after.id
            )
            known = facts.get(after.id)
            if known is None:
                fact = new_fact(self.agent_id, MEMORY, after.id, after)
                counts = [
                    records.count_memory_added(
                        self.runtime.home.facts, self.runtime.clock, self.agent_id
                    )
                ]
            else:
                fact = known.with_body(after)
                counts = [
                    records.memory_index_rewrite_mark(self.runtime.clock, self.agent_id, after.id)
                ]
            changes = [fact, *counts, *linking, *self._minding(after), *beside]
            return CurationOutcome(verdict.ruling, StoredMemory(after, fact.version)), changes

        return self._committed(taken)

    def change(
        self, memory_id: str, change: MemoryChange, *, version: int | None = None
    ) -> StoredMemory:
        """Change a memory at this version; new content is checked like a new memory."""
        self._require_living()

        def changed() -> tuple[StoredMemory, list[Document]]:
            fact = self._stored(memory_id)
            _require_version(fact, version)
            stored = fact.read(Memory)
            memory = self._changed(stored, change)
            if memory == stored:
                return StoredMemory(stored, fact.version), []
            after = fact.with_body(memory)
            told = records.memory_index_rewrite_mark(self.runtime.clock, self.agent_id, memory.id)
            changes = [after, told, *self._relinked(stored, memory), *self._minding(memory)]
            return StoredMemory(memory, after.version), changes

        return self._committed(changed)

    def delete(self, memory_id: str, *, version: int | None = None) -> None:
        """Delete a memory from the store; a tombstone removes it from the search indexes."""
        self.runtime.home.agents.get(self.agent_id)

        def deleted() -> tuple[None, list[Document]]:
            fact = self._stored(memory_id)
            _require_version(fact, version)
            memory = fact.read(Memory)
            known, mind = records.stored_memory_state_of_agent(
                self.runtime.home.facts, self.agent_id
            )
            after = agent_without_core_memory(mind, memory_id)
            changes = [
                records.memory_deletion_mark(self.runtime.clock, self.agent_id, memory),
                fact.removed(),
                records.count_memory_removed(self.runtime.home.facts, self.agent_id),
                *records.remove_memory_backlinks(
                    self.runtime.home.facts, self.agent_id, memory.links, memory_id
                ),
            ]
            return None, changes + ([known.with_body(after)] if known and after != mind else [])

        self._committed(deleted)
        self.runtime.search.apply_erasures(self.agent_id)
        self.runtime.home.eraser.scrub_storage()

    def _made(self, new: NewMemory) -> Memory:
        now, session_id, guild_id = self.runtime.clock.now(), new.session_id or "", None
        if new.session_id is not None:
            guild_id = session_in_agent_memory(
                self.runtime.home.sessions, self.agent_id, new.session_id
            ).guild_id
        _require_place(new.hearing, session_id, guild_id)
        said = new
        if self.foreign:
            most = memory_confidence(Provenance.PEER, taint=True)
            said = new.replaced(confidence=min(new.confidence, most))
        return Memory(
            **said.model_dump(exclude={"session_id"}),
            id=self.runtime.clock.new_id(),
            provenance=Provenance.PEER if self.foreign else Provenance.OWNER,
            tainted=self.foreign,
            guild_id=guild_id,
            session_id=session_id,
            person_id=self.owner,
            created_at=now,
            updated_at=now,
        )

    def _changed(self, stored: Memory, change: MemoryChange) -> Memory:
        """Return a memory after its owner's change; words that the owner repeats become trusted."""
        said: dict[str, Any] = {name: value for name, value in change if value is not None}
        _require_place(said.get("hearing", stored.hearing), stored.session_id, stored.guild_id)
        if said.get("category") == CORE and stored.tainted and "content" not in said:
            raise Refused(
                f"memory {stored.id!r} is from an untrusted source and cannot be core",
                field="category",
                cure="mark it as trusted by sending it as content in your own words",
            )
        memory, vouched = stored.replaced(**said), stored.tainted and "content" in said
        if memory == stored and not vouched:
            return stored
        now = self.runtime.clock.now()
        if memory.content == stored.content and not vouched:
            return memory.replaced(updated_at=now)
        new = stored.replaced(
            **{"confidence": OWNERS_WORD, **said},
            provenance=Provenance.OWNER,
            tainted=False,
            person_id=self.owner,
            turn_id="",
            line=0,
            updated_at=now,
        )
        return self._let_in(judge_memory(new, (), replaces=stored)).replaced(**said)

    def _let_in(self, verdict: MemoryVerdict) -> Memory:
        """Return the memory to store; count a rejected one and raise Invalid."""
        if verdict.memory is not None and verdict.reason is None:
            return verdict.memory
        if verdict.reason is not None:
            counts = records.count_memory_refused(
                self.runtime.home.facts, self.agent_id, verdict.reason
            )
            self.runtime.home.facts.commit(counts)
        what, cure = _CURES.get(verdict.reason or MemoryRefusalReason.KNOWN, _KNOWN)
        raise Invalid(what, field="content", cure=cure)

    def _relinked(self, stored: Memory, memory: Memory) -> list[Document]:
        """Return the changed backlinks of memories whose link was added or removed."""
        gone, come = set(stored.links) - set(memory.links), set(memory.links) - set(stored.links)
        return [
            *records.remove_memory_backlinks(
                self.runtime.home.facts, self.agent_id, sorted(gone), memory.id
            ),
            *records.add_memory_backlinks(
                self.runtime.home.facts, self.agent_id, sorted(come), memory.id
            ),
        ]

    def _minding(self, memory: Memory) -> list[Document]:
        known, mind = records.stored_memory_state_of_agent(self.runtime.home.facts, self.agent_id)
        after = agent_with_core_memory(mind, memory)
        if after == mind:
            return []
        return [known.with_body(after) if known else new_fact(self.agent_id, MIND, MIND, after)]

    def _committed(self, change: Callable[[], tuple[Outcome, list[Document]]]) -> Outcome:
        """Commit a change and return its result; recompute it after a conflict."""
        return retry_after_changes(lambda: self._written(*change()))

    def _written(self, outcome: Outcome, facts: list[Document]) -> Outcome:
        if facts:
            self.runtime.home.facts.commit(*facts)
        return outcome

    def _stored(self, memory_id: str) -> Document:
        fact = records.find_memory(self.runtime.home.facts, self.agent_id, memory_id)
        if fact is None:
            raise NotFound(
                f"agent {self.agent_id!r} has no memory {memory_id!r}",
                field="memory_id",
                cure="list its memories, or search for it",
            )
        return fact

    def _require_living(self) -> None:
        if not self.runtime.home.agents.get(self.agent_id).agent.answers:
            raise Conflict(
                f"agent {self.agent_id!r} has retired and cannot be changed",
                cure="create a new agent",
            )


def _require_place(hearing: Hearing, session_id: str, guild_id: str | None) -> None:
    """Raise Invalid if a memory for a session or guild does not name its session."""
    if hearing in {Hearing.SESSION, Hearing.GUILD} and not session_id:
        raise Invalid(
            f"a memory with hearing {hearing.value!r} needs a session",
            field="hearing",
            cure="give session_id, or use private or public",
        )
    if hearing is Hearing.GUILD and guild_id is None:
        raise Invalid(
            f"session {session_id!r} has no guild", field="hearing", cure="use session, or omit it"
        )


def _require_version(fact: Document, version: int | None) -> None:
    if version is not None and version != fact.version:
        raise Conflict(
            f"memory {fact.id!r} is at version {fact.version} now",
            field="If-Match",
            cure="load it again and repeat the change",
        )
