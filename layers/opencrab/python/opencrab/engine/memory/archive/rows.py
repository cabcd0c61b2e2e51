"""Rows of an export: an agent's memory and sessions, one after the other, from any place on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from operator import attrgetter
from typing import NamedTuple

from opencrab.domain.conversation.message import Line
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
from opencrab.engine.memory.reading import session_in_agent_memory
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages, paginate

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

SESSION, LINE = "session", "line"

ROW_KINDS: dict[str, type[Value]] = {**KINDS, SESSION: Session, LINE: Line}
"""What a row can be; lines come behind their session."""

_PAGE = 500
_SESSIONS = 100
_PART_ROWS, _PART_BYTES = 1_000, 1 << 20


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


class ArchiveRow(NamedTuple):
    """One exported value; `place` is where an export goes on after it."""

    kind: str
    value: Value
    place: str

    def json(self) -> str:
        """Return the row as one line of JSON."""
        return f'{{"kind":"{self.kind}","value":{archive_json(self.value)}}}\n'


class ArchivePart(NamedTuple):
    """JSON lines of some rows, and the place after the last of them."""

    text: str
    place: str


def archive_json(value: Value) -> str:
    """Return the JSON of one value, as archives have it."""
    return value.model_dump_json(exclude_defaults=True)


def export_memory_part(
    home: Home, agent_id: str, wanted: ExportSelection, after: str = ""
) -> ArchivePart:
    """Export what follows a place, about 1 MiB at most; no text at the end.

    What changes between parts is exported as it is when its part is read.
    """
    text, size, place = list[str](), 0, after
    for row in islice(archive_rows(home, agent_id, wanted, after), _PART_ROWS):
        line = row.json()
        text.append(line)
        size, place = size + len(line.encode()), row.place
        if size >= _PART_BYTES:
            break
    return ArchivePart("".join(text), place)


def archive_rows(
    home: Home, agent_id: str, wanted: ExportSelection, after: str = ""
) -> Iterator[ArchiveRow]:
    """Yield the rows of an export after a place; raises NotFound and Invalid at once."""
    home.agents.get(agent_id)
    if wanted.since and wanted.until and wanted.until <= wanted.since:
        raise Invalid("until must come after since", field="until", cure="use a later time")
    kind, _, rest = after.partition("/")
    if kind and (kind not in ROW_KINDS or not rest):
        raise _unknown_place()
    only = wanted.session_id
    session = session_in_agent_memory(home.sessions, agent_id, only) if only is not None else None
    return chain(
        _documents(home, agent_id, kind, rest),
        _conversations(home, agent_id, wanted, session, rest if kind in {SESSION, LINE} else "")
        if wanted.sessions
        else (),
    )


def _documents(home: Home, agent_id: str, kind: str, after: str) -> Iterator[ArchiveRow]:
    """Yield the documents of all kinds, from an id of one of them on; none after sessions."""
    names = list(KINDS)
    first = names.index(kind) if kind in KINDS else len(names) if kind else 0
    for name in names[first:]:
        for fact in all_pages(home.facts, agent_id, name, after=after if name == kind else ""):
            yield ArchiveRow(name, fact.read(KINDS[name]), f"{name}/{fact.id}")


def _conversations(
    home: Home, agent_id: str, wanted: ExportSelection, only: Session | None, after: str
) -> Iterator[ArchiveRow]:
    at, _, number = after.partition("/")
    if at:
        yield from _lines(home, agent_id, at, wanted, _line_number(number) if number else 0)
    sessions: Iterable[Session] = () if at or only is None else (only,)
    if only is None:
        sessions = paginate(home.sessions.page, limit=_SESSIONS, after=at or None)
    for each in sessions:
        if agent_id in each.all_time_agent_ids:
            yield ArchiveRow(SESSION, each, f"{SESSION}/{each.id}")
            yield from _lines(home, agent_id, each.id, wanted, 0)


def _lines(
    home: Home, agent_id: str, session_id: str, wanted: ExportSelection, after: int
) -> Iterator[ArchiveRow]:
    session_in_agent_memory(home.sessions, agent_id, session_id)
    place = attrgetter("sequence")
    for line in paginate(home.journal.lines, session_id, after=after, limit=_PAGE, key=place):
        if line.is_visible_to(agent_id) and wanted.covers(line.at):
            yield ArchiveRow(LINE, line, f"{LINE}/{session_id}/{line.sequence}")


def _line_number(number: str) -> int:
    if not number.isascii() or not number.isdigit():
        raise _unknown_place()
    return int(number)


def _unknown_place() -> Invalid:
    return Invalid("this place is of no export", field="after", cure="start from the beginning")
