"""A scan of stored rows on SQLite: only rows that pass a filter become documents and lines."""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby, islice

from opencrab.adapters.sqlite.database import Database
from opencrab.domain.conversation.message import Line
from opencrab.domain.erasure.stored_text import StoredTextFilter
from opencrab.ports.erasure import ScannedLines

_SESSIONS = 100
_ROWS = 500

_DOCUMENTS = "SELECT sk, body FROM item WHERE pk=? AND sk>? AND sk<? ORDER BY sk LIMIT ?"
_NAMES = "SELECT sk FROM item WHERE pk=? AND sk>? AND sk<? AND ({}) ORDER BY sk"
_FEW_IDS = 8
"""Ids that SQLite looks for itself, which it does in a third of the time."""

_LINES = (
    "SELECT item.pk, item.sk, item.body FROM json_each(?) AS wanted JOIN item"
    " ON item.pk='SESSION#' || wanted.key"
    " AND item.sk>'L#' || printf('%010d', wanted.value) AND item.sk<'L$'"
    " AND instr(item.body, '\"from_agent\":true') ORDER BY item.pk, item.sk"
)
"""What others said is not read: they are free to say again what an agent must forget."""

Rows = list[tuple[str, str]]


class SqliteTextScan:
    """`ports.erasure.StoredTextScan` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def documents(self, owner: str, kind: str, words: StoredTextFilter) -> Iterator[str]:
        pk, low, high, skip = f"FACT#{owner}", f"{kind}#", f"{kind}$", len(kind) + 1
        if not words.words and 0 < len(words.ids) <= _FEW_IDS:
            named = " OR ".join(["instr(body, ?) > 0"] * len(words.ids))
            with self._database.read_transaction() as items:
                found = items.execute(_NAMES.format(named), (pk, low, high, *words.ids)).fetchall()
            yield from (sk[skip:] for (sk,) in found)
            return
        while True:
            with self._database.read_transaction() as items:
                rows: Rows = items.execute(_DOCUMENTS, (pk, low, high, _ROWS)).fetchall()
            yield from (sk[skip:] for sk, _ in _matching(rows, words))
            if len(rows) < _ROWS:
                return
            low = rows[-1][0]

    def lines(self, after: Mapping[str, int], words: StoredTextFilter) -> Iterator[ScannedLines]:
        wanted = iter(after.items())
        while some := dict(islice(wanted, _SESSIONS)):
            with self._database.read_transaction() as items:
                read = items.execute(_LINES, (json.dumps(some),))
                while rows := read.fetchmany(_ROWS):
                    yield from _scan_rows(rows, words)


def _scan_rows(rows: list[tuple[str, str, str]], words: StoredTextFilter) -> Iterator[ScannedLines]:
    """Test rows of several sessions at once, then those of one session, then each."""
    is_here = words.may_match("\n".join(body for _, _, body in rows))
    for pk, of_session in groupby(rows, key=lambda row: row[0]):
        own = [(sk, body) for _, sk, body in of_session]
        found = _matching(own, words) if is_here else ()
        lines = tuple(Line.model_validate_json(body) for _, body in found)
        yield ScannedLines(pk.removeprefix("SESSION#"), int(own[-1][0][2:]), lines)


def _matching(rows: Rows, words: StoredTextFilter) -> Iterator[tuple[str, str]]:
    """Yield the rows that can match; a joined text that cannot spares testing each."""
    if words.may_match("\n".join(body for _, body in rows)):
        yield from (row for row in rows if words.may_match(row[1]))
