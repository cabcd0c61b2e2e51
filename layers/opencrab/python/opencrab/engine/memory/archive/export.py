"""Export of an agent's memory and sessions as a zip archive.

Lines of sessions are exported for people and other programs. They are not imported again: a journal
records what happened here, and nothing else may be written into it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.conversation.session import Session
from opencrab.domain.errors import Invalid
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.knowledge_graph import EDGE, NODE, KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.memory import (
    EXPERIENCE,
    IMPRESSION,
    MEMORY,
    Experience,
    Impression,
    Memory,
)
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.summary import SUMMARY, Summary
from opencrab.domain.value import Value
from opencrab.engine.memory.archive.file import (
    MANIFEST,
    ArchiveManifest,
    archive_rows,
    pack_memory_archive,
)
from opencrab.engine.memory.reading import session_in_agent_memory
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages, paginate
from opencrab.ports.turn.journal import Journal

KINDS: dict[str, type[Value]] = {
    MEMORY: Memory,
    EXPERIENCE: Experience,
    IMPRESSION: Impression,
    SUMMARY: Summary,
    NODE: KnowledgeNode,
    EDGE: KnowledgeEdge,
    BELIEF: Belief,
    PEER: Peer,
}

_PAGE = 500
_SESSIONS = 100


@dataclass(frozen=True)
class ExportSelection:
    """The data to export: memory always, sessions optionally, one or all, limited in time."""

    sessions: bool = True
    session_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def covers(self, at: datetime) -> bool:
        """Check whether a time is in the selection: since <= at < until."""
        early = self.since is not None and at < self.since
        late = self.until is not None and at >= self.until
        return not (early or late)


def memory_archive_member(kind: str) -> str:
    """Return the name of the archive member with the documents of a kind."""
    return f"{kind}.jsonl"


def export_memory_archive(
    home: Home, clock: Clock, agent_id: str, wanted: ExportSelection
) -> bytes:
    """Export an agent's memory and the selected sessions as the bytes of a zip.

    Raises NotFound, Invalid, and TooLarge if the archive exceeds the request limit.
    """
    home.agents.get(agent_id)
    if wanted.since and wanted.until and wanted.until <= wanted.since:
        raise Invalid("until must come after since", field="until", cure="use a later time")
    now = clock.now()
    members, counts = dict[str, str](), dict[str, int]()
    for kind, form in KINDS.items():
        values = list(_facts(home.facts, agent_id, kind, form))
        members[memory_archive_member(kind)], counts[kind] = archive_rows(values), len(values)
        if kind == MEMORY:
            memories = [value for value in values if isinstance(value, Memory)]
            members["memories.md"] = _memories(agent_id, memories)
    if wanted.sessions:
        sessions = list(_sessions(home.sessions, agent_id, wanted))
        members["sessions.jsonl"], counts["session"] = archive_rows(sessions), len(sessions)
        for session in sessions:
            lines = list(_lines(home.journal, agent_id, session.id, wanted))
            members[f"sessions/{session.id}.jsonl"] = archive_rows(lines)
            members[f"sessions/{session.id}.md"] = _conversation(session, lines)
            counts["line"] = counts.get("line", 0) + len(lines)
    manifest = ArchiveManifest(agent_id=agent_id, exported_at=now, rows=counts)
    return pack_memory_archive({MANIFEST: manifest.model_dump_json(), **members}, now)


def _facts(facts: Documents, agent_id: str, kind: str, form: type[Value]) -> Iterator[Value]:
    return (fact.read(form) for fact in all_pages(facts, agent_id, kind))


def _sessions(sessions: Sessions, agent_id: str, wanted: ExportSelection) -> Iterator[Session]:
    if wanted.session_id is not None:
        yield session_in_agent_memory(sessions, agent_id, wanted.session_id)
        return
    for each in paginate(sessions.page, limit=_SESSIONS):
        if agent_id in each.all_time_agent_ids:
            yield each


def _lines(
    journal: Journal, agent_id: str, session_id: str, wanted: ExportSelection
) -> Iterator[Line]:
    place = attrgetter("sequence")
    lines = paginate(journal.lines, session_id, after=0, limit=_PAGE, key=place)
    return (each for each in lines if each.is_visible_to(agent_id) and wanted.covers(each.at))


def _memories(agent_id: str, memories: list[Memory]) -> str:
    """Format memories by category as Markdown."""
    rows = [f"# {agent_id}", ""]
    for category in sorted({memory.category for memory in memories}):
        rows += [f"## {category}", ""]
        rows += [
            f"- {_one_line(memory.content)} ({memory.updated_at:%Y-%m-%d}, {memory.provenance})"
            for memory in memories
            if memory.category == category
        ]
        rows.append("")
    return "\n".join(rows)


def _conversation(session: Session, lines: list[Line]) -> str:
    """Format the lines of a session as Markdown."""
    rows = [f"# {session.name or session.theme or session.id}", ""]
    for line in lines:
        if line.kind is not LineKind.ACTION and line.text:
            rows.append(f"**{_one_line(line.speaker_name)}** ({line.at:%Y-%m-%d %H:%M}):")
            rows += [f"> {row}" for row in line.text.splitlines()]
            rows.append("")
    return "\n".join(rows)


def _one_line(text: str) -> str:
    return " ".join(text.split())
