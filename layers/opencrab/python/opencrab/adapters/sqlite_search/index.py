"""One agent's index: takes in what is new, forgets what it is told to, and finds.

It knows no journal: whoever keeps it asks how far it has come (`seen`) and gives it what came
after (`take`). Equal rows give equal answers, whatever the order in which they were taken.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from opencrab.adapters.search_rows import Batch, ForgottenRows, IndexProgress, search_row_time
from opencrab.adapters.sqlite_search.ingest import IngestTransaction
from opencrab.adapters.sqlite_search.query import Sense, find_search_rows
from opencrab.adapters.sqlite_search.row_codec import COLUMNS, NameTable, search_row_from_stored
from opencrab.adapters.sqlite_search.schema import (
    KINDS,
    TOKENIZER,
    CorruptIndex,
    DamagedIndex,
    check_index_schema,
    open_search_index,
    translate_index_errors,
)
from opencrab.domain.erasure.request import ErasureMark
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.ports.memory.search import SearchHit, SearchQuery

__all__ = ["TOKENIZER", "DamagedIndex", "Index"]

_Answer = TypeVar("_Answer")
_KIND_OF = {number: kind for kind, number in KINDS.items()}


class Index:
    """One agent's index in one SQLite file, or in memory; any thread may use it."""

    def __init__(self, agent_id: str, path: Path | None) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._connection = open_search_index(agent_id, path)
        self._names = NameTable(self._connection)
        self._forgotten = ForgottenRows()
        self._speakers: tuple[str, ...] | None = None
        try:
            with self._used():
                self._read_anew()
            self.seen()
        except BaseException:
            self._connection.close()
            raise

    def seen(self) -> IndexProgress:
        """How far it has come."""
        with self._used() as connection, check_index_schema():
            at = self._about("at")
            lines = dict(connection.execute("SELECT session, last FROM line"))
            kept = dict(connection.execute("SELECT kind, last FROM kept"))
            texts = all(isinstance(each, str) for pair in (lines, kept) for each in pair)
            lasts = all(isinstance(each, int) and each >= 0 for each in lines.values())
            if not texts or not lasts or not all(isinstance(each, str) for each in kept.values()):
                raise CorruptIndex("its position in the change feed is missing")
            return IndexProgress(
                lines=lines,
                kept=kept,
                mark=self._about("mark") or "",
                at=None if at is None else search_row_time(int(at)),
            )

    def take(self, batches: Iterable[Batch], at: datetime) -> int:
        """Take in what is new, all of it or nothing; answers how many rows that changed."""
        with self._writing() as taking:
            for batch in batches:
                taking.take(batch)
            taking.reach(at)
            return taking.changed

    def find(
        self, query: SearchQuery, now: datetime, sense: Sense | None = None
    ) -> tuple[SearchHit, ...]:
        """What fits best, best first; words that cannot be looked for find nothing.

        With a sense of what the query means, rows are found by their meaning too.
        """
        with self._used() as connection:
            if self._speakers is None:
                self._speakers = _speakers(connection)
            return find_search_rows(
                connection, self._names, query, self._speakers, now, sense=sense
            )

    def update(self, row: SearchRow) -> None:
        """A kept thing changed, or is new; one that was forgotten stays so."""
        with self._writing() as taking:
            taking.put(row, newest=True)

    def drop(self, kind: RowKind, ref: str) -> None:
        """A kept thing is gone."""
        with self._writing() as taking:
            taking.remove(kind, ref)

    def vacuum(self) -> None:
        """Leave no byte of what was removed in the file."""
        with self._used() as connection:
            self._merge_words()
            connection.execute("VACUUM")

    def save(self, into: Path) -> None:
        """Write a whole copy to a new file, without a byte of what was removed; it is durable."""
        with self._used() as connection:
            if self._about("removed") is not None:
                self._merge_words()
            connection.execute("VACUUM INTO ?", (str(into),))
        for each in (into, into.parent):
            handle = os.open(each, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def ask(self, read: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Let others of this package read what they keep in the file."""
        with self._used() as connection:
            return read(connection)

    def change(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Let them write it, all or nothing."""
        with self._writing():
            write(self._connection)

    def rows(self) -> int:
        """How many rows it has."""
        with self._used() as connection:
            return int(connection.execute("SELECT count(*) FROM row").fetchone()[0])

    def kept(self) -> frozenset[tuple[RowKind, str]]:
        """Every kept thing that it has, by kind and id."""
        with self._used() as connection:
            found = connection.execute("SELECT kind, ref FROM row WHERE ref IS NOT NULL")
            with check_index_schema():
                return frozenset((_KIND_OF[number], ref) for number, ref in found)

    def size(self) -> int:
        """Bytes, of its file or in memory."""
        with self._used() as connection:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            return int(pages * connection.execute("PRAGMA page_size").fetchone()[0])

    def content(self) -> tuple[Any, ...]:
        """All that decides an answer: rows, who spoke where, and how often each term occurs."""
        with self._used() as connection:
            connection.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.term USING fts5vocab(main, words, row)"
            )
            rows = [
                search_row_from_stored(columns, self._names)
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
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translate_index_errors(self._path):
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[IngestTransaction]:
        """One transaction; after a failure everything is as it was, in memory too."""
        with self._used() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                taking = IngestTransaction(connection, self._names, self._forgotten)
                yield taking
                taking.finish()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._read_anew()
                raise
            if taking.removed:
                self._names.forget()
            if taking.changed:
                self._speakers = None

    def _read_anew(self) -> None:
        """What is kept in memory, from the file."""
        self._names.forget()
        self._speakers = None
        marks = self._connection.execute("SELECT id, body FROM mark").fetchall()
        with check_index_schema():
            self._forgotten = ForgottenRows(
                (name, ErasureMark.model_validate_json(body)) for name, body in marks
            )

    def _merge_words(self) -> None:
        """Until its parts are merged, the full-text table keeps the terms of removed rows."""
        self._connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._connection.execute("DELETE FROM about WHERE key = 'removed'")

    def _about(self, key: str) -> str | None:
        found = self._connection.execute("SELECT value FROM about WHERE key = ?", (key,))
        row = found.fetchone()
        return None if row is None else str(row[0])


def _speakers(connection: sqlite3.Connection) -> tuple[str, ...]:
    found = connection.execute(
        "SELECT DISTINCT name.text FROM row JOIN name ON name.id = row.speaker"
        " WHERE name.text != '' ORDER BY name.text"
    )
    texts = tuple(text for (text,) in found)
    if not all(isinstance(text, str) for text in texts):
        raise CorruptIndex("it contains names that are not strings")
    return texts
