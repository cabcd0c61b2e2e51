"""The past as the stores tell it: what a copy of an index does not know yet, read consistently.

Every index is a copy: it says how far it has come, and gets what came after. Nothing here knows
how an index is kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain

from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.conversation.session import Session
from opencrab.domain.discord.community import DISCORD_PRINCIPAL
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.erasure.request import FORGOTTEN, ErasureMark
from opencrab.domain.errors import NotFound
from opencrab.domain.identifier import new_ulid, ulid_milliseconds
from opencrab.domain.memory.memory import (
    EXPERIENCE,
    MEMORY,
    REWRITTEN,
    Experience,
    IndexRewrite,
    Memory,
)
from opencrab.domain.memory.search_row import (
    RowKind,
    SearchRow,
    memory_search_row_of_experience,
    memory_search_row_of_line,
    search_row_of_curated_memory,
    search_row_of_summary,
)
from opencrab.domain.memory.summary import SUMMARY, Summary, memory_summary_document_id
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.feed import DocumentChange, FeedEntry
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages, paginate
from opencrab.ports.turn.journal import Journal
from opencrab.ports.usage.ledger import UsageLedger

KEPT = (MEMORY, EXPERIENCE, SUMMARY)
"""The kinds of facts that can be found again."""

LATE = timedelta(minutes=5)
"""How much later than its id says something may come in."""

PART_MOST = 1_000
"""The most sessions of one person that a search asks about; of older ones only public rows are
found."""

BUSY_SESSIONS = 50
"""Sessions beside the present one that a search looks into for what no copy knows yet."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PAGE = 500
_SESSIONS = 100
_ROWS_OF_USAGE = 200
_PAGES_OF_USAGE = 5
_LATE_NUMBERS = 5
_ONE_BY_ONE = 50
_CREATORS = 10_000


@dataclass(frozen=True)
class IndexProgress:
    """How far an index has come.

    `lines` is the last line of each session, `kept` the last id of each kind of document, `mark`
    the last erasure mark, `at` when it was last brought up to date; None for an empty index.
    """

    lines: Mapping[str, int] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    mark: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class ChangeHint:
    """What a feed says has changed for one agent.

    Sessions, documents by kind and id, and ids of erasure marks.
    """

    sessions: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Batch:
    """A part of what is new, to be indexed at once together with how far it reaches.

    With a `session_id` it reaches to the line `last`; with a `kind` to the document `last_id`; else
    it holds erasure marks up to `last_id`, which apply to the rows of all other batches. Rows that
    are `current` were just read: they replace what is indexed, whichever is newer. Documents that
    are `gone` exist no more.
    """

    rows: tuple[SearchRow, ...] = ()
    session_id: str = ""
    last: int = 0
    kind: str = ""
    last_id: str = ""
    marks: tuple[tuple[str, ErasureMark], ...] = ()
    current: bool = False
    gone: tuple[tuple[RowKind, str], ...] = ()


class SearchRowReader:
    """A reader of an agent's lines and documents, as rows for a search index."""

    def __init__(
        self,
        journal: Journal,
        sessions: Sessions,
        facts: Documents,
        usage: UsageLedger,
        clock: Clock,
    ) -> None:
        self._journal = journal
        self._sessions = sessions
        self._facts = facts
        self._usage = usage
        self._clock = clock
        self._creators = dict[str, str]()

    def sessions_taken_part_in(self, person: str, spoken_in: Iterable[str]) -> frozenset[str]:
        """Return those of the sessions that a person opened or is a member of now.

        An index knows who spoke, not who was uninvited since. People on Discord are no members:
        there the guild decides. Only the newest PART_MOST are looked at.
        """
        if person.startswith(DISCORD_PRINCIPAL):
            return frozenset(spoken_in)
        ids = sorted(spoken_in, reverse=True)[:PART_MOST]
        names = [(SESSION_ACCESS, each) for each in ids]
        found = self._facts.get_many(INSTALLATION_FACTS, *names) if names else ()
        members = {fact.id: fact.read(SessionAccess).members for fact in found}
        return frozenset(
            each for each in ids if person in members.get(each, ()) or person == self._creator(each)
        )

    def _creator(self, session_id: str) -> str:
        """Return who opened a session; this is remembered, as only erasure changes it."""
        if session_id not in self._creators:
            if len(self._creators) >= _CREATORS:
                self._creators.clear()
            try:
                self._creators[session_id] = self._sessions.get(session_id).created_by
            except NotFound:
                return ""
        return self._creators[session_id]

    def new_batches(self, agent_id: str, seen: IndexProgress, *session_ids: str) -> Iterator[Batch]:
        """Yield what an index lacks: erasure marks first, then lines, then documents.

        The named sessions are read to their last line, and so are those with a model call of the
        agent since the last update. An empty index gets everything. Sessions of others yield
        nothing.
        """
        yield from self._marks(agent_id, seen)
        ids = dict.fromkeys((*session_ids, *self._busy(agent_id, seen.at)))
        sessions: Iterable[Session] = self._own(agent_id, ids)
        if seen.at is None:
            # The list of sessions may lag behind: those that are known by name are not left to it.
            others = (each for each in self.sessions_of(agent_id) if each.id not in ids)
            sessions = chain(sessions, others)
        for session in sessions:
            yield from self._lines(agent_id, session, seen.lines.get(session.id, 0))
        for kind in KEPT:
            yield from self._kept(agent_id, kind, seen)
        yield from self._rewritten(agent_id, seen)

    def marks(self, agent_id: str) -> Iterator[tuple[str, ErasureMark]]:
        """Yield all erasure marks with their ids, in the order in which they were made."""
        for batch in self._marks(agent_id, IndexProgress()):
            yield from batch.marks

    def sessions_of(self, agent_id: str) -> Iterator[Session]:
        """Return all sessions that an agent ever took part in; eventually consistent."""
        every = paginate(self._sessions.page, limit=_SESSIONS)
        return (each for each in every if agent_id in each.all_time_agent_ids)

    def reread(self, agent_id: str, row: SearchRow) -> SearchRow | None:
        """Return a row as it is now; None if its document is gone. Lines are returned unchanged."""
        return self.row_named(agent_id, row.kind, row.ref) if row.ref else row

    def row_named(self, agent_id: str, kind: RowKind, ref: str) -> SearchRow | None:
        """Return a document's row by kind and `ref`; None if it is gone."""
        return self.read_document_row(
            agent_id, kind, memory_summary_document_id(ref) if kind is RowKind.SUMMARY else ref
        )

    def read_document_row(self, agent_id: str, kind: str, fact_id: str) -> SearchRow | None:
        """Return a document of one of the KEPT kinds as a row; None if it is gone or retired."""
        fact = self._facts.get(agent_id, kind, fact_id)
        return None if fact is None else _row_of_fact(fact)

    def lines_after(self, agent_id: str, reached: Mapping[str, int]) -> Iterator[Batch]:
        """Yield the lines of sessions after these numbers; sessions of others yield nothing."""
        for session in self._own(agent_id, reached):
            yield from self._lines(agent_id, session, reached[session.id])

    def documents_named(self, agent_id: str, hinted: ChangeHint) -> Iterator[Batch]:
        """Yield the erasure marks that a hint names, then its documents as they are now."""
        if hinted.marks:
            found = self._facts.get_many(agent_id, *((FORGOTTEN, each) for each in hinted.marks))
            marks = tuple((fact.id, fact.read(ErasureMark)) for fact in found)
            yield Batch(marks=marks, last_id=_last_reached_id("", found, self._clock.now()))
        if hinted.kept:
            rows = _rows(self._facts.get_many(agent_id, *hinted.kept))
            there = {(row.kind, row.ref) for row in rows}
            named = ((RowKind(kind), search_row_ref(kind, each)) for kind, each in hinted.kept)
            yield Batch(rows=rows, current=True, gone=tuple(set(named) - there))

    def change_hints(self, entries: Iterable[FeedEntry]) -> dict[str, ChangeHint]:
        """Return the changes in feed entries, by agent; order and repeats do not matter."""
        sessions, kept = dict[str, None](), dict[DocumentChange, None]()
        for entry in entries:
            if entry.kind == "line":
                sessions[entry.session_id] = None
            elif entry.kind == "fact":
                kept[DocumentChange.from_stored(entry.body).replaced(removed=False)] = None
        found = dict[str, ChangeHint]()
        for session_id in sessions:
            with suppress(NotFound):
                for agent_id in self._sessions.get(session_id).all_time_agent_ids:
                    known = found.get(agent_id, ChangeHint())
                    found[agent_id] = replace(known, sessions=(*known.sessions, session_id))
        for told in kept:
            known = found.get(told.owner, ChangeHint())
            more = ((told.kind, told.id),) if told.kind in KEPT else ()
            marks = () if more or told.kind != FORGOTTEN else (told.id,)
            known = replace(known, kept=known.kept + more, marks=known.marks + marks)
            found[told.owner] = known
        return found

    def _marks(self, agent_id: str, seen: IndexProgress) -> Iterator[Batch]:
        now = self._clock.now()
        after = _unread_after(seen.mark, seen.at, now)
        while True:
            page = self._facts.page(agent_id, FORGOTTEN, after=after, limit=_PAGE)
            if page:
                marks = tuple((fact.id, fact.read(ErasureMark)) for fact in page)
                yield Batch(marks=marks, last_id=_last_reached_id(seen.mark, page, now))
            if len(page) < _PAGE:
                return
            after = page[-1].id

    def _busy(self, agent_id: str, since: datetime | None) -> Iterator[str]:
        since = None if since is None else since - LATE
        found, after = dict[str, None](), None
        for _ in range(_PAGES_OF_USAGE):
            rows = self._usage.rows(agent_id, since=since, after=after, limit=_ROWS_OF_USAGE)
            named = [row.session_id for row in rows if row.session_id]
            found.update(dict.fromkeys(named))
            if len(rows) < _ROWS_OF_USAGE or len(named) == len(rows):
                break
            # Some were for vectors, which are nobody's in particular.
            after = rows[-1].id
        yield from list(found)[:BUSY_SESSIONS]

    def _own(self, agent_id: str, ids: Iterable[str]) -> Iterator[Session]:
        for session_id in ids:
            try:
                session = self._sessions.get(session_id)
            except NotFound:
                continue
            if agent_id in session.all_time_agent_ids:
                yield session

    def _lines(self, agent_id: str, session: Session, after: int) -> Iterator[Batch]:
        while True:
            page = self._journal.lines(session.id, after=after, limit=_PAGE)
            if not page:
                return
            after = page[-1].sequence
            rows = (memory_search_row_of_line(line, session, agent_id) for line in page)
            found = tuple(row for row in rows if row is not None)
            yield Batch(rows=found, session_id=session.id, last=after)
            if len(page) < _PAGE:
                return

    def _kept(self, agent_id: str, kind: str, seen: IndexProgress) -> Iterator[Batch]:
        known, now = seen.kept.get(kind, ""), self._clock.now()
        after = _unread_after(known, seen.at, now)
        while True:
            page = self._facts.page(agent_id, kind, after=after, limit=_PAGE)
            if page:
                yield Batch(rows=_rows(page), kind=kind, last_id=_last_reached_id(known, page, now))
            if len(page) < _PAGE:
                return
            after = page[-1].id

    def _rewritten(self, agent_id: str, seen: IndexProgress) -> Iterator[Batch]:
        """Yield what changed, or was added, under old ids; an empty index has just read it."""
        known, now = seen.kept.get(REWRITTEN, ""), self._clock.now()
        if seen.at is None:
            page = self._facts.page(agent_id, REWRITTEN, limit=1, newest_first=True)
            if page:
                yield Batch(kind=REWRITTEN, last_id=_last_reached_id(known, page, now))
            return
        after = _unread_after(known, seen.at, now)
        while page := self._facts.page(agent_id, REWRITTEN, after=after, limit=_PAGE):
            told = dict[str, dict[str, None]]()
            for each in (fact.read(IndexRewrite) for fact in page):
                told.setdefault(each.kind, {}).update(dict.fromkeys(each.refs))
            facts = chain.from_iterable(self._named(agent_id, *each) for each in told.items())
            rows = _rows(facts)
            after = page[-1].id
            yield Batch(rows=rows, kind=REWRITTEN, last_id=_last_reached_id(known, page, now))

    def _named(self, agent_id: str, kind: str, refs: Mapping[str, None]) -> Iterator[Document]:
        """Return documents by their ids, those that exist; for many ids, scan all pages."""
        if len(refs) <= _ONE_BY_ONE:
            found = (self._facts.get(agent_id, kind, ref) for ref in refs)
            return (fact for fact in found if fact is not None)
        return (fact for fact in all_pages(self._facts, agent_id, kind) if fact.id in refs)


def _row_of_fact(fact: Document) -> SearchRow | None:
    """Convert a document of a searchable kind to a row; None if it is retired."""
    if fact.kind == MEMORY:
        return search_row_of_curated_memory(fact.read(Memory))
    if fact.kind == EXPERIENCE:
        lived = fact.read(Experience)
        return None if lived.retired_at else memory_search_row_of_experience(lived)
    return search_row_of_summary(fact.read(Summary))


def _rows(facts: Iterable[Document]) -> tuple[SearchRow, ...]:
    return tuple(row for row in map(_row_of_fact, facts) if row is not None)


def search_row_ref(kind: str, fact_id: str) -> str:
    """Return the `ref` by which rows name a document of one of the KEPT kinds."""
    return f"S{int(fact_id[1:])}" if kind == SUMMARY else fact_id


def _last_reached_id(known: str, page: Iterable[Document], now: datetime) -> str:
    """Return the highest id reached, ignoring malformed ids and those far in the future."""
    latest = _milliseconds(now + LATE)
    ids = [fact.id for fact in page if _is_reached(fact.id, latest)]
    return max((known if _is_reached(known, latest) else "", *ids))


def _is_reached(fact_id: str, latest: int) -> bool:
    if fact_id[:1] == "S":
        return fact_id[1:].isdigit()
    milliseconds = ulid_milliseconds(fact_id)
    return milliseconds is not None and milliseconds <= latest


def _milliseconds(at: datetime) -> int:
    return max(round(at.timestamp() * 1_000), 0)


def _earlier(known: str, now: datetime) -> str:
    """Return the id of five minutes (or five summaries) earlier, as documents may be added late."""
    if known[:1] == "S" and known[1:].isdigit():
        return memory_summary_document_id(f"S{max(int(known[1:]) - _LATE_NUMBERS, 0)}")
    milliseconds = ulid_milliseconds(known)
    if milliseconds is None or milliseconds > _milliseconds(now + LATE):
        return ""
    return new_ulid(max(milliseconds - round(LATE.total_seconds() * 1_000), 0), b"")


def _unread_after(known: str, at: datetime | None, now: datetime) -> str:
    """Return the id after which documents may be new to an index that was last updated at `at`.

    What has an id of five minutes before that update was there then, so it is read only once,
    however many have an id that is less than five minutes older than the last one.
    """
    earlier = _earlier(known, now)
    if at is None or not earlier or known[:1] == "S":
        return earlier
    return max(earlier, min(known, new_ulid(_milliseconds(at - LATE), b"")))


def search_row_microseconds(at: datetime) -> int:
    """Return microseconds since 1970; a time without a zone is taken as UTC."""
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def time_of_search_row(microseconds: int) -> datetime:
    """Return the UTC time of a number of microseconds since 1970."""
    return _EPOCH + microseconds * _MICROSECOND
