"""One agent's index: takes in what is new, forgets what it is told to, and finds.

It knows no journal: whoever keeps it asks how far it has come (`seen`) and gives it what came
after (`take`). Equal rows give equal answers, whatever the order in which they were taken.
"""

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from opencrab.adapters.forgotten_rows import ForgottenRows
from opencrab.adapters.search_rows import Batch, IndexProgress, SearchRowReader, time_of_search_row
from opencrab.adapters.sqlite_search.ingest import IndexIngestTransaction, TextChanges
from opencrab.adapters.sqlite_search.query import Sense, find_sqlite_search_rows
from opencrab.adapters.sqlite_search.row_codec import (
    COLUMNS,
    IndexStringTable,
    sqlite_search_row_from_stored,
)
from opencrab.adapters.sqlite_search.schema import (
    KINDS,
    TOKENIZER,
    CorruptIndex,
    DamagedIndex,
    open_sqlite_search_index,
    translate_sqlite_search_decoding_errors,
    translate_sqlite_search_errors,
)
from opencrab.domain.erasure.request import ErasureMark
from opencrab.domain.errors import Unavailable
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.ports.memory.search import SearchHit, SearchQuery

__all__ = [
    "TOKENIZER",
    "DamagedIndex",
    "Index",
    "IndexAccess",
    "find_confirmed_sqlite_search_hits",
    "use_or_rebuild_sqlite_search",
]

_Answer = TypeVar("_Answer")
_log = logging.getLogger(__name__)
_KIND_OF = {number: kind for kind, number in KINDS.items()}

_MERGE_WORDS = "INSERT INTO words (words) VALUES ('optimize')"
"""Merges the full-text segments, which keep terms of removed rows until then."""

_LOOKS = 3
"""How often the index is asked again after kept things turned out to be others than it knew."""

_CLEAN = "DELETE FROM about WHERE key = 'removed'"


class Index:
    """One agent's search index in a SQLite file or in memory; thread-safe.

    A `live` file is written and read in place, also by other processes. `unpublished` collects
    what changes, once somebody sets it.
    """

    def __init__(
        self, agent_id: str, path: Path | None, source: str = "", *, live: bool = False
    ) -> None:
        self._path = path
        self.unpublished: TextChanges | None = None
        self._lock = threading.RLock()
        self._connection = open_sqlite_search_index(agent_id, path, source, live=live)
        self._version = self._data_version()
        self._names = IndexStringTable(self._connection)
        self._forgotten = ForgottenRows()
        self._speakers: tuple[str, ...] | None = None
        try:
            with self._used():
                self._read_anew()
            self.progress()
        except BaseException:
            self._connection.close()
            raise

    def progress(self) -> IndexProgress:
        """Return how far the index has come."""
        with self._used() as connection, translate_sqlite_search_decoding_errors():
            lines = dict(connection.execute("SELECT session, last FROM line"))
            kept = dict(connection.execute("SELECT kind, last FROM kept"))
            texts = all(isinstance(each, str) for pair in (lines, kept) for each in pair)
            lasts = all(isinstance(each, int) and each >= 0 for each in lines.values())
            if not texts or not lasts or not all(isinstance(each, str) for each in kept.values()):
                raise CorruptIndex("its recorded positions are invalid")
            return IndexProgress(
                lines=lines,
                kept=kept,
                mark=self._about("mark") or "",
                at=self.progress_time(),
            )

    def lines_reached(self, session_ids: Iterable[str]) -> dict[str, int]:
        """Return the last indexed line of these sessions, 0 for one without."""
        with self._used() as connection:
            found = (
                (each, connection.execute("SELECT last FROM line WHERE session = ?", (each,)))
                for each in session_ids
            )
            return {each: (row.fetchone() or (0,))[0] for each, row in found}

    def progress_time(self) -> datetime | None:
        """Return when the index was last brought up to date; None for an empty one."""
        with self._used(), translate_sqlite_search_decoding_errors():
            at = self._about("at")
            return None if at is None else time_of_search_row(int(at))

    def kept_reached(self, kind: str) -> str:
        """Return the recorded position of one kind; "" without one."""
        with self._used() as connection:
            found = connection.execute("SELECT last FROM kept WHERE kind = ?", (kind,)).fetchone()
            return str(found[0]) if found else ""

    def take(self, batches: Iterable[Batch], at: datetime) -> int:
        """Index batches in one transaction; return how many rows changed."""
        with self._writing() as taking:
            for batch in batches:
                taking.take(batch)
            taking.reach(at)
            return taking.changed

    def find(
        self,
        query: SearchQuery,
        now: datetime,
        sense: Sense | None = None,
        heard: AbstractSet[str] | None = None,
    ) -> tuple[SearchHit, ...]:
        """Return the best hits, best first; empty if the query has no searchable terms.

        With `sense`, the query's vector, rows are also found by meaning. `heard` are the sessions
        that the person of the clearance hears, None for all where that person spoke.
        """
        with self._used() as connection:
            if self._speakers is None:
                self._speakers = _speakers(connection)
            return find_sqlite_search_rows(
                connection, self._names, query, self._speakers, now, sense=sense, heard=heard
            )

    def sessions_spoken_in(self, person: str) -> frozenset[str]:
        """Return the sessions in which a person spoke."""
        number = self._names.find_id(person)
        with self._used() as connection:
            found = connection.execute("SELECT session FROM spoke WHERE person = ?", (number,))
            return frozenset(self._names.text(session) for (session,) in found.fetchall())

    def update(self, row: SearchRow) -> None:
        """Index the present state of a document, unless it was erased."""
        with self._writing() as taking:
            taking.put(row, newest=True)

    def confirm(self, row: SearchRow, now: SearchRow | None) -> bool:
        """Check whether a document's row is as it is `now`; update the index if not."""
        if now is None:
            self.drop(row.kind, row.ref)
        elif now != row:
            self.update(now)
        return now == row

    def drop(self, kind: RowKind, ref: str) -> None:
        """Remove a deleted document."""
        with self._writing() as taking:
            taking.remove(kind, ref)

    def vacuum(self) -> None:
        """Remove all traces of removed rows from the file and its write-ahead log."""
        with self._used() as connection:
            connection.execute(_MERGE_WORDS)
            connection.execute("VACUUM")
            if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise Unavailable(
                    "another process reads the search index: its removed rows are still in the log",
                    cure="try again in a few seconds",
                )
            # Only now: whoever tries again must find that it is still to be done.
            connection.execute(_CLEAN)

    def erase_removed(self) -> None:
        """Run `vacuum` if rows were removed since the last time."""
        with self._used():
            if self._about("removed") is not None:
                self.vacuum()

    def save(self, into: Path) -> None:
        """Write a copy to a new file, without traces of removed rows, and fsync it."""
        with self._used() as connection:
            if self._about("removed") is not None:
                connection.execute(_MERGE_WORDS)
                connection.execute(_CLEAN)
            connection.execute("VACUUM INTO ?", (str(into),))
        for each in (into, into.parent):
            handle = os.open(each, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def ask(self, read: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Call a function of this package with the connection, for reading."""
        with self._used() as connection:
            return read(connection)

    def change(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Call a function of this package with the connection, in a write transaction."""
        with self._writing():
            write(self._connection)

    def rows(self) -> int:
        """Return the number of rows."""
        with self._used() as connection:
            return int(connection.execute("SELECT count(*) FROM row").fetchone()[0])

    def row_keys(self) -> frozenset[tuple[RowKind, str]]:
        """Return kind and id of every indexed document (not lines)."""
        with self._used() as connection:
            found = connection.execute("SELECT kind, ref FROM row WHERE ref IS NOT NULL")
            with translate_sqlite_search_decoding_errors():
                return frozenset((_KIND_OF[number], ref) for number, ref in found)

    def size(self) -> int:
        """Return the size of the file or memory database, in bytes."""
        with self._used() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            return int(pages * connection.execute("PRAGMA page_size").fetchone()[0])

    def content(self) -> tuple[Any, ...]:
        """Return everything that decides an answer: rows, speakers by session, term counts."""
        with self._used() as connection:
            connection.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.term USING fts5vocab(main, words, row)"
            )
            rows = [
                sqlite_search_row_from_stored(columns, self._names)
                for columns in connection.execute(f"SELECT {COLUMNS} FROM row").fetchall()  # noqa: S608 - values are parameters
            ]
            spoke = [
                (self._names.text(person), self._names.text(session))
                for person, session in connection.execute("SELECT person, session FROM spoke")
            ]
            terms = connection.execute("SELECT term, doc, cnt FROM temp.term ORDER BY term")
            ordered = sorted(rows, key=lambda row: (row.session_id, row.sequence, row.id))
            return tuple(ordered), tuple(sorted(spoke)), tuple(terms)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translate_sqlite_search_errors(self._path):
            if not self._connection.in_transaction:
                self._notice_changes()
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[IndexIngestTransaction]:
        """Open a write transaction; roll back file and memory if the block raises."""
        with self._used() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._notice_changes()
                taking = IndexIngestTransaction(connection, self._names, self._forgotten)
                yield taking
                taking.finish()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._read_anew()
                raise
            if self.unpublished is not None:
                self.unpublished.add(taking.texts)
            if taking.removed:
                self._names.forget()
            if taking.lost_speaker:
                self._speakers = None
            elif self._speakers is not None and not taking.speakers.issubset(self._speakers):
                self._speakers = tuple(sorted(taking.speakers.union(self._speakers)))

    def _read_anew(self) -> None:
        """Reload what is cached in memory from the file."""
        self._names.forget()
        self._speakers = None
        marks = self._connection.execute("SELECT id, body FROM mark").fetchall()
        with translate_sqlite_search_decoding_errors():
            self._forgotten = ForgottenRows(
                (name, ErasureMark.model_validate_json(body)) for name, body in marks
            )

    def _data_version(self) -> int:
        """Return a number that differs after another connection changed the file."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def _notice_changes(self) -> None:
        version = self._data_version()
        if version != self._version:
            self._version = version
            self._read_anew()

    def _about(self, key: str) -> str | None:
        found = self._connection.execute("SELECT value FROM about WHERE key = ?", (key,))
        row = found.fetchone()
        return None if row is None else str(row[0])


class QueryEmbedder(Protocol):
    """Makes searches by meaning."""

    def query_vector(self, agent_id: str, index: Index, query: SearchQuery) -> Sense | None:
        """Return the query's vector search, or None."""


class IndexAccess(Protocol):
    """An index whose rows are compared with the stores before they are shown.

    It can be built anew.
    """

    @property
    def index(self) -> Index:
        """The index."""

    def confirm(self, row: SearchRow) -> bool:
        """Check whether a document's row is current; update the index if not."""

    def begin_anew(self) -> None:
        """Replace the index by an empty one, which reads everything."""


def find_confirmed_sqlite_search_hits(
    agent_id: str,
    copy: IndexAccess,
    query: SearchQuery,
    *,
    past: SearchRowReader,
    vectors: QueryEmbedder | None,
    now: datetime,
) -> tuple[SearchHit, ...]:
    """Return the best hits of an up-to-date index; each document is as it is stored now."""
    # Who asks over REST for nobody's turn does not spend the agent's money on it.
    asks = query.clearance.whole or query.clearance.session_id
    sense = vectors.query_vector(agent_id, copy.index, query) if vectors and asks else None
    sound = set[str]()
    found: tuple[SearchHit, ...] = ()
    heard, person = None, query.clearance.person_id
    if person:
        heard = past.sessions_taken_part_in(person, copy.index.sessions_spoken_in(person))
    for _ in range(_LOOKS):
        found = copy.index.find(query, now, sense, heard)
        kept = [each.row for each in found if each.row.ref and each.row.id not in sound]
        others = [row for row in kept if not copy.confirm(row)]
        if not others:
            return found
        # What was changed is as it should be now, if it is found at all.
        sound.update(row.id for row in kept)
    return tuple(each for each in found if copy.confirm(each.row))


def use_or_rebuild_sqlite_search(
    agent_id: str, copy: IndexAccess, use: Callable[[], _Answer]
) -> _Answer:
    """Use a copy; if it turns out to be damaged, rebuild it from the journal and try once more."""
    try:
        return use()
    except DamagedIndex as error:
        _log.warning(
            "search index is damaged, rebuilding it: agent_id=%s, error=%s", agent_id, error.message
        )
        copy.begin_anew()
        return use()


def _speakers(connection: sqlite3.Connection) -> tuple[str, ...]:
    found = connection.execute(
        "SELECT DISTINCT name.text FROM row JOIN name ON name.id = row.speaker"
        " WHERE name.text != '' ORDER BY name.text"
    )
    texts = tuple(text for (text,) in found)
    if not all(isinstance(text, str) for text in texts):
        raise CorruptIndex("it contains names that are not strings")
    return texts
