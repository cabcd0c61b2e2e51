"""Taking in: rows, marks and watermarks into the tables of an index, inside one transaction.

The full-text table keeps no texts. To take a row out of it, it must be told the very terms that
were put in, which is why they are worked out from the text as it is kept.
"""

import sqlite3
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from opencrab.adapters.forgotten_rows import ForgottenRows
from opencrab.adapters.search_rows import Batch, search_row_microseconds
from opencrab.adapters.sqlite_search.row_codec import (
    IndexStringTable,
    clean_sqlite_search_text,
    sqlite_search_columns_of_row,
)
from opencrab.adapters.sqlite_search.schema import KINDS, translate_sqlite_search_decoding_errors
from opencrab.domain.erasure.request import ErasureMark
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.domain.text.terms import index_terms_of_text

_INSERT = "INSERT INTO row VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"

_KEPT = (
    "SELECT id, session, sequence, kind, hearing, guild, person, speaker, flags, at, importance,"
    " ref, text FROM row WHERE kind = ? AND ref = ?"
)
_AT = 9
_NAMED = "SELECT id, text, session, person, speaker, guild FROM row"

_TIDY = (
    "DELETE FROM spoke WHERE NOT EXISTS (SELECT 1 FROM row WHERE row.session = spoke.session"
    " AND row.ref IS NULL AND row.sequence > 0 AND row.kind = 0 AND row.person = spoke.person)",
    "DELETE FROM name WHERE id NOT IN (SELECT session FROM row UNION SELECT person FROM row"
    " UNION SELECT speaker FROM row UNION SELECT guild FROM row WHERE guild IS NOT NULL)",
)
"""What was only there for rows that are gone goes too."""

_TIDY_SESSION = (
    "DELETE FROM spoke WHERE session = ? AND NOT EXISTS (SELECT 1 FROM row"
    " WHERE row.session = spoke.session AND row.ref IS NULL AND row.sequence > 0"
    " AND row.kind = 0 AND row.person = spoke.person)"
)
_TIDY_NAME = (
    "DELETE FROM name WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM row WHERE"
    " row.session = ?1 OR row.person = ?1 OR row.speaker = ?1 OR row.guild = ?1)"
)
_SPEAKS = "SELECT 1 FROM row WHERE speaker = ? LIMIT 1"

_ONE_BY_ONE = 20
"""Names of removed rows that are looked for one by one; for more of them all rows are read once."""

_NOT_CLEAN = "INSERT OR REPLACE INTO about VALUES ('removed', '1')"


@dataclass
class TextChanges:
    """Documents whose rows changed, and whether text went: for good, or for another wording."""

    documents: set[tuple[RowKind, str]] = field(default_factory=set)
    is_erased: bool = False
    is_reworded: bool = False

    def add(self, other: "TextChanges") -> None:
        """Add the changes of a later transaction."""
        self.documents |= other.documents
        self.is_erased = self.is_erased or other.is_erased
        self.is_reworded = self.is_reworded or other.is_reworded


class IndexIngestTransaction:
    """The writes of one transaction; `changed` counts all changed rows, `removed` removals.

    `speakers` are those of the rows that were put in; `lost_speaker` says after `finish` whether a
    speaker has no row any more.
    """

    def __init__(
        self, connection: sqlite3.Connection, names: IndexStringTable, forgotten: ForgottenRows
    ) -> None:
        self._connection = connection
        self._names = names
        self._forgotten = forgotten
        self._spoke = set[tuple[int, int]]()
        newest = connection.execute("SELECT max(id) FROM row").fetchone()[0]
        self._next = (newest or 0) + 1
        self.changed = 0
        self.removed = 0
        self.texts = TextChanges()
        self.speakers = set[str]()
        self.lost_speaker = False
        self._left = set[tuple[int, int, int, int | None]]()

    def take(self, batch: Batch) -> None:
        """Index one batch and record how far it reaches."""
        for mark_id, mark in batch.marks:
            self._obey(mark_id, mark)
        for kind, ref in batch.gone:
            self.remove(kind, ref)
        for row in batch.rows:
            self.put(row, newest=batch.current)
        if batch.session_id:
            self._reached("line", "session", clean_sqlite_search_text(batch.session_id), batch.last)
        elif batch.kind:
            self._reached(
                "kept",
                "kind",
                clean_sqlite_search_text(batch.kind),
                clean_sqlite_search_text(batch.last_id),
            )
        elif batch.last_id:
            self._reached("about", "key", "mark", clean_sqlite_search_text(batch.last_id))

    def put(self, row: SearchRow, *, newest: bool = False) -> None:
        """Index a row, unless it was erased or a newer version of its document is indexed.

        Lines never change. `newest` says that the row was just read from the stores.
        """
        if self._forgotten.has(row):
            return
        columns = sqlite_search_columns_of_row(row, self._names)
        if row.ref and not self._makes_room(columns, newest=newest):
            return
        added = self._connection.execute(_INSERT, (self._next, *columns)).rowcount
        if added != 1:
            return
        words = " ".join(index_terms_of_text(columns[-1]))
        self._connection.execute(
            "INSERT INTO words (rowid, text) VALUES (?, ?)", (self._next, words)
        )
        if row.speaker:
            self.speakers.add(clean_sqlite_search_text(row.speaker))
        if row.ref:
            self.texts.documents.add((row.kind, columns[-2]))
        if row.is_spoken:
            self._hear(columns)
        self._next += 1
        self.changed += 1

    def remove(self, kind: RowKind, ref: str) -> None:
        """Remove a document's row."""
        named = clean_sqlite_search_text(ref)
        self._erase("kind = ? AND ref = ?", KINDS[kind], named)
        self.texts.documents.add((kind, named))

    def reach(self, at: datetime) -> None:
        """Record when the index was brought up to date, zero-padded to compare as text."""
        self._reached("about", "key", "at", f"{search_row_microseconds(at):020d}")

    def finish(self) -> None:
        """Remove speakers and names that only removed rows used."""
        if not self.removed:
            return
        execute = self._connection.execute
        numbers = {each for row in self._left for each in row if each is not None}
        if len(numbers) > _ONE_BY_ONE:
            for statement in _TIDY:
                execute(statement)
            self.lost_speaker = True
        else:
            for session in {row[0] for row in self._left}:
                execute(_TIDY_SESSION, (session,))
            speakers = {row[2] for row in self._left}
            self.lost_speaker = not all(execute(_SPEAKS, (each,)).fetchone() for each in speakers)
            for number in numbers:
                execute(_TIDY_NAME, (number,))
        execute(_NOT_CLEAN)

    def _obey(self, mark_id: str, mark: ErasureMark) -> None:
        added = self._connection.execute(
            "INSERT INTO mark VALUES (?, ?) ON CONFLICT DO NOTHING",
            (clean_sqlite_search_text(mark_id), mark.model_dump_json()),
        )
        if added.rowcount != 1:
            return
        self._forgotten.add([(mark_id, mark)])
        for lines in mark.lines:
            number = self._names.find_id(lines.session_id)
            if number is not None:
                where = "ref IS NULL AND session = ? AND sequence BETWEEN ? AND ?"
                self._erase(where, number, lines.first, lines.last)
        for named in mark.refs:
            kind, _, ref = named.partition(":")
            if kind in KINDS:
                self.remove(RowKind(kind), ref)
        if mark.everything:
            self._erase("at <= ?", search_row_microseconds(mark.at))

    def _makes_room(self, columns: tuple[Any, ...], *, newest: bool) -> bool:
        """Remove an older version of the document; False if the stored one is the same or newer."""
        kind, ref = columns[2], columns[-2]
        known = self._connection.execute(_KEPT, (kind, ref)).fetchone()
        if known is None:
            return True
        with translate_sqlite_search_decoding_errors():
            is_old = known[1:] == columns or (not newest and known[_AT] > columns[_AT - 1])
        if is_old:
            return False
        self._remove("id = ?", known[0])
        self.changed -= 1
        self.texts.is_reworded = self.texts.is_reworded or known[-1] != columns[-1]
        return True

    def _erase(self, where: str, *parameters: str | int) -> None:
        removed = self.removed
        self._remove(where, *parameters)
        self.texts.is_erased = self.texts.is_erased or self.removed > removed

    def _remove(self, where: str, *parameters: str | int) -> None:
        found = self._connection.execute(f"{_NAMED} WHERE {where}", parameters).fetchall()
        with translate_sqlite_search_decoding_errors():
            gone = [(number, " ".join(index_terms_of_text(text))) for number, text, *_ in found]
            self._left.update((session, *others) for _, _, session, *others in found)
        self._connection.executemany(
            "INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", gone
        )
        self._connection.executemany("DELETE FROM row WHERE id = ?", ((each,) for each, _ in gone))
        self.removed += len(gone)
        self.changed += len(gone)

    def _hear(self, columns: tuple[Any, ...]) -> None:
        spoke = (columns[5], columns[0])
        if spoke not in self._spoke:
            self._spoke.add(spoke)
            self._connection.execute(
                "INSERT INTO spoke VALUES (?, ?) ON CONFLICT DO NOTHING", spoke
            )

    def _reached(self, table: str, key: str, name: str, last: str | int) -> None:
        """Advance a watermark, never backward."""
        column = "value" if table == "about" else "last"
        self._connection.execute(
            f"INSERT INTO {table} ({key}, {column}) VALUES (?, ?) ON CONFLICT ({key}) DO UPDATE"  # noqa: S608 - values are parameters
            f" SET {column} = max({column}, excluded.{column})",
            (name, last),
        )
