"""Rows, marks and indexes for the tests of the SQLite search."""

from datetime import UTC, datetime, timedelta
from typing import Any

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.index import Index
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.erasure.request import ErasureMark, ErasureScope, LineRange
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.ports.memory.search import SearchHit, SearchQuery

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


def line(sequence: int, text: str, **changes: Any) -> SearchRow:
    """A line of a session that its people could hear."""
    given: dict[str, Any] = {
        "session_id": "s1",
        "kind": RowKind.SPEECH,
        "hearing": Hearing.SESSION,
        "speaker_id": "p1",
        "speaker": "花子",
        "at": NOW - timedelta(days=1) + timedelta(minutes=sequence),
    }
    return SearchRow(sequence=sequence, text=text, **{**given, **changes})


def memory(ref: str, text: str, **changes: Any) -> SearchRow:
    """A kept memory that only the agent knows."""
    given: dict[str, Any] = {
        "session_id": "s1",
        "kind": RowKind.MEMORY,
        "hearing": Hearing.PRIVATE,
        "speaker_id": "",
        "speaker": "",
        "at": NOW,
    }
    return SearchRow(sequence=0, text=text, ref=ref, **{**given, **changes})


def mark(number: int, **changes: Any) -> Batch:
    """One mark of forgetting."""
    given: dict[str, Any] = {"scope": ErasureScope.MEMORY, "at": NOW}
    mark_id = f"m{number:03d}"
    return Batch(marks=((mark_id, ErasureMark(**{**given, **changes})),), last_id=mark_id)


def lines(first: int, last: int, session_id: str = "s1") -> tuple[LineRange, ...]:
    """Lines to forget."""
    return (LineRange(session_id=session_id, first=first, last=last),)


def index_of(*rows: SearchRow) -> Index:
    """An index in memory with some rows."""
    index = Index("a1", None)
    index.take([Batch(rows=rows)], NOW)
    return index


def found(index: Index, text: str, **limits: Any) -> tuple[SearchHit, ...]:
    """What a question finds."""
    return index.find(SearchQuery(text, **limits), NOW)


def ids(index: Index, text: str, **limits: Any) -> list[str]:
    """What a question finds, by id."""
    return [each.row.id for each in found(index, text, **limits)]
