"""A scan of stored rows on SQLite: only rows that pass a filter become documents and lines."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice

from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.transaction.items import DOCUMENTS
from opencrab.domain.conversation.message import Line
from opencrab.domain.erasure.stored_text import StoredTextFilter
from opencrab.ports.erasure import ScannedLines

_SESSIONS = 100
_ROWS = 500

_DOCUMENTS = "SELECT sk, body FROM item WHERE pk=? AND sk>? AND sk<? AND ({}) ORDER BY sk LIMIT ?"
_LAST = (
    "SELECT key, value, (SELECT max(sk) FROM item WHERE pk='SESSION#' || key"
    " AND sk>'L#' AND sk<'L$') FROM json_each(?)"
)
_LINES = (
    "SELECT wanted.key, item.body FROM json_each(?) AS wanted JOIN item"
    " ON item.pk='SESSION#' || wanted.key"
    " AND item.sk>json_extract(wanted.value, '$[0]')"
    " AND item.sk<=json_extract(wanted.value, '$[1]')"
    " AND instr(item.body, '\"from_agent\":true') AND ({}) ORDER BY item.pk, item.sk"
)
"""What others said is not read: they are free to say again what an agent must forget."""

_EXACT = "instr(body, ?)"
_ASCII = "body LIKE '%' || ? || '%'"
_NOT_ASCII = "length(body)<length(CAST(body AS BLOB))"
"""A body with other letters, which may stand for those."""

Rows = list[tuple[str, str]]


class SqliteTextScan:
    """`ports.erasure.StoredTextScan` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def moment(self) -> int:
        return self._database.moment()

    def documents(
        self, owner: str, kind: str, words: StoredTextFilter, *, since: int = 0
    ) -> Iterator[str]:
        pk, low, high, skip = f"{DOCUMENTS}{owner}", f"{kind}#", f"{kind}$", len(kind) + 1
        new = self._database.documents_stored_since(since)
        if new is not None:
            named = sorted(each for each in new if each[0] == pk and low < each[1] < high)
            with self._database.read_transaction() as items:
                bodies = items.get_many(named)
            found = _matching([(sk, body) for (_, sk), body in bodies.items()], words)
            yield from (sk[skip:] for sk, _ in found)
            return
        condition, values = _condition(words)
        chosen = _DOCUMENTS.format(condition)
        while True:
            with self._database.read_transaction() as items:
                rows: Rows = items.execute(chosen, (pk, low, high, *values, _ROWS)).fetchall()
            yield from (sk[skip:] for sk, _ in _matching(rows, words))
            if len(rows) < _ROWS:
                return
            low = rows[-1][0]

    def lines(self, after: Mapping[str, int], words: StoredTextFilter) -> Iterator[ScannedLines]:
        condition, values = _condition(words)
        chosen, wanted = _LINES.format(condition), iter(after.items())
        while some := dict(islice(wanted, _SESSIONS)):
            with self._database.read_transaction() as items:
                # First: what is stored meanwhile is behind the last line, and read the next time.
                known = items.execute(_LAST, (json.dumps(some),)).fetchall()
                last = {name: sk for name, after, sk in known if sk and _number(sk) > after}
                parts = {name: (_key(some[name]), sk) for name, sk in last.items()}
                read = items.execute(chosen, (json.dumps(parts), *values))
                found = dict[str, list[Line]]()
                while rows := read.fetchmany(_ROWS):
                    for name, body in _matching(rows, words):
                        found.setdefault(name, []).append(Line.from_stored(body))
            for name, sk in last.items():
                yield ScannedLines(name, _number(sk), tuple(found.get(name, ())))


def _condition(words: StoredTextFilter) -> tuple[str, tuple[str, ...]]:
    """Return a condition for all bodies that can match, with its values."""
    needles = words.needles()
    if needles is None:
        return "TRUE", ()
    told = [_EXACT] * len(needles.exact) + [_ASCII] * len(needles.ascii)
    told += [_NOT_ASCII] if needles.ascii else []
    return " OR ".join(told) or "FALSE", (*needles.exact, *needles.ascii)


def _matching(rows: Rows, words: StoredTextFilter) -> Iterator[tuple[str, str]]:
    """Yield the rows that can match; a joined text that cannot spares testing each."""
    if words.may_match("\n".join(body for _, body in rows)):
        yield from (row for row in rows if words.may_match(row[1]))


def _key(number: int) -> str:
    return f"L#{number:010d}"


def _number(key: str) -> int:
    return int(key[2:])
