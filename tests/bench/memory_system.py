"""Search systems for the evaluator of real retrieval sets: the product's own, and simpler ones.

`make` puts the index of the product behind `index(docs)` and `search(query, k)`; `unicode61`
and `trigram` are what SQLite does by itself.
"""

import contextlib
import re
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.index import Index
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.ports.memory.search import SearchQuery

Doc = dict[str, Any]

_BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)
_SPOKEN_TIME = "%I:%M %p on %d %B, %Y"


def rows_of(docs: Iterable[Doc]) -> dict[str, SearchRow]:
    """Lines by the ids of their documents; what nobody said is no speech: it has no neighbours."""
    rows, lengths = dict[str, SearchRow](), dict[str, int]()
    for doc in docs:
        session_id = str(doc["session"])
        lengths[session_id] = lengths.get(session_id, 0) + 1
        rows[doc["id"]] = SearchRow(
            session_id=session_id,
            sequence=lengths[session_id],
            kind=RowKind.SPEECH if doc["speaker"] else RowKind.INSTRUCTION,
            hearing=Hearing.SESSION,
            speaker_id=doc["speaker"],
            speaker=doc["speaker"],
            at=_time(doc["ts"]),
            text=doc["text"],
        )
    return rows


def batches_of(rows: Iterable[SearchRow]) -> list[Batch]:
    """Rows by session, as they come from a journal."""
    sessions = dict[str, list[SearchRow]]()
    for row in rows:
        sessions.setdefault(row.session_id, []).append(row)
    return [
        Batch(rows=tuple(listed), session_id=session_id, last=listed[-1].sequence)
        for session_id, listed in sessions.items()
    ]


def _time(written: float | str) -> datetime:
    """Seconds since somewhen, ISO 8601, or as it is said in English."""
    if isinstance(written, int | float):
        return datetime.fromtimestamp(_BEGINNING.timestamp() + written, UTC)
    with contextlib.suppress(ValueError):
        return datetime.strptime(written, _SPOKEN_TIME).replace(tzinfo=UTC)
    with contextlib.suppress(ValueError):
        read = datetime.fromisoformat(written)
        return read if read.tzinfo else read.replace(tzinfo=UTC)
    return _BEGINNING


class Product:
    """The index as an agent has it."""

    def __init__(self) -> None:
        self._index = Index("agent", None)
        self._ids = dict[tuple[str, int], str]()
        self._now = _BEGINNING

    def index(self, docs: list[Doc]) -> None:
        """Take in everything at once, as for a new copy."""
        rows = rows_of(docs)
        self._ids = {(row.session_id, row.sequence): doc_id for doc_id, row in rows.items()}
        self._now = max(row.at for row in rows.values())
        self._index.take(batches_of(rows.values()), self._now)

    def search(self, query: str, k: int) -> list[str]:
        """Ids of documents, best first."""
        found = self._index.find(SearchQuery(query, limit=k), self._now)
        return [self._ids[each.row.session_id, each.row.sequence] for each in found]

    def size(self) -> int:
        """Bytes with texts and everything else."""
        return self._index.size()

    def close(self) -> None:
        """Let go of the memory."""
        self._index.close()


class Plain:
    """What SQLite does by itself: its tokenizer, and the words of a query joined as said."""

    def __init__(self, tokenizer: str, *, together: bool) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(f"CREATE VIRTUAL TABLE f USING fts5(t, tokenize='{tokenizer}')")
        self._together = together
        self._ids: list[str] = []

    def index(self, docs: list[Doc]) -> None:
        """Take in the texts."""
        self._ids = [doc["id"] for doc in docs]
        texts = [(number, doc["text"]) for number, doc in enumerate(docs)]
        self._database.executemany("INSERT INTO f (rowid, t) VALUES (?, ?)", texts)

    def search(self, query: str, k: int) -> list[str]:
        """The best by BM25."""
        words = re.findall(r"\w+", query)
        if not self._together:
            words = [word[at : at + 3] for word in words for at in range(max(len(word) - 2, 1))]
        match = (" " if self._together else " OR ").join(f'"{word}"' for word in words)
        if not match:
            return []
        found = self._database.execute(
            "SELECT rowid FROM f WHERE f MATCH ? ORDER BY rank LIMIT ?", (match, k)
        )
        return [self._ids[number] for (number,) in found]

    def size(self) -> int:
        """Bytes with texts."""
        pages = self._database.execute("PRAGMA page_count").fetchone()[0]
        return int(pages * self._database.execute("PRAGMA page_size").fetchone()[0])

    def close(self) -> None:
        """Let go of the memory."""
        self._database.close()


def make() -> Product:
    """The product's own search."""
    return Product()


def unicode61() -> Plain:
    """Words with spaces around, all of them asked for."""
    return Plain("unicode61", together=True)


def trigram() -> Plain:
    """Any three characters, each of them asked for."""
    return Plain("trigram", together=False)
