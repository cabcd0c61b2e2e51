"""Rows as the file keeps them: names as numbers, times in microseconds, words that SQLite takes."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from opencrab.adapters.search_rows import search_row_microseconds, time_of_search_row
from opencrab.adapters.sqlite_search.schema import (
    HEARINGS,
    KINDS,
    TAINTED,
    TIMED,
    CorruptIndex,
    translate_sqlite_search_decoding_errors,
)
from opencrab.domain.memory.search_row import SearchRow
from opencrab.domain.text.query import has_text_time_word

USUAL_IMPORTANCE = 0.5

_KINDS = {number: kind for kind, number in KINDS.items()}
_HEARINGS = {number: hearing for hearing, number in HEARINGS.items()}

COLUMNS = (
    "row.id, row.session, row.sequence, row.kind, row.hearing, row.guild, row.person, row.speaker,"
    " row.flags, row.at, row.importance, row.ref, row.text"
)


class IndexStringTable:
    """Interned strings, cached in memory: each repeated text is stored once, rows have its id."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers: dict[str, int] = {}
        self._texts: dict[int, str] = {}

    def find_id(self, text: str) -> int | None:
        """Return the id of a text; None if no row has it."""
        if text not in self._numbers:
            if clean_sqlite_search_text(text) != text:
                return None
            found = self._connection.execute("SELECT id FROM name WHERE text = ?", (text,))
            row = found.fetchone()
            if row is None:
                return None
            self._numbers[text] = row[0]
        return self._numbers[text]

    def get_or_add(self, text: str) -> int:
        """Return the id of a text, adding it if needed; call it inside a transaction."""
        known = self.find_id(text)
        if known is None:
            added = self._connection.execute("INSERT INTO name (text) VALUES (?)", (text,))
            known = self._numbers[text] = int(added.lastrowid or 0)
        return known

    def text(self, number: int | None) -> str:
        """Return the text with an id; empty for None."""
        if number is None:
            return ""
        if number not in self._texts:
            found = self._connection.execute("SELECT text FROM name WHERE id = ?", (number,))
            row = found.fetchone()
            if row is None or not isinstance(row[0], str):
                raise CorruptIndex(f"there is no name with number {number!r:.50}")
            self._texts[number] = row[0]
        return self._texts[number]

    def forget(self) -> None:
        """Clear the cache, after names were removed or a transaction failed."""
        self._numbers.clear()
        self._texts.clear()


def sqlite_search_columns_of_row(row: SearchRow, names: IndexStringTable) -> tuple[Any, ...]:
    """Return a row's columns after its id."""
    text = clean_sqlite_search_text(row.text)
    flags = TIMED * has_text_time_word(text) | TAINTED * row.taint
    return (
        names.get_or_add(clean_sqlite_search_text(row.session_id)),
        row.sequence,
        KINDS[row.kind],
        HEARINGS[row.hearing],
        names.get_or_add(clean_sqlite_search_text(row.guild_id)) if row.guild_id else None,
        names.get_or_add(clean_sqlite_search_text(row.speaker_id)),
        names.get_or_add(clean_sqlite_search_text(row.speaker)),
        flags,
        search_row_microseconds(row.at),
        None if row.importance == USUAL_IMPORTANCE else row.importance,
        clean_sqlite_search_text(row.ref) or None,
        text,
    )


def sqlite_search_row_from_stored(columns: Iterable[Any], names: IndexStringTable) -> SearchRow:
    """Decode a stored row; raise CorruptIndex if it is invalid."""
    with translate_sqlite_search_decoding_errors():
        return _row(columns, names)


def _row(columns: Iterable[Any], names: IndexStringTable) -> SearchRow:
    (
        _,
        session,
        sequence,
        kind,
        hearing,
        guild,
        person,
        speaker,
        flags,
        at,
        importance,
        ref,
        text,
    ) = columns
    return SearchRow(
        session_id=names.text(session),
        sequence=sequence,
        kind=_KINDS[kind],
        hearing=_HEARINGS[hearing],
        speaker_id=names.text(person),
        speaker=names.text(speaker),
        at=time_of_search_row(at),
        text=text,
        guild_id=names.text(guild),
        ref=ref or "",
        importance=USUAL_IMPORTANCE if importance is None else importance,
        taint=bool(flags & TAINTED),
    )


def clean_sqlite_search_text(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
