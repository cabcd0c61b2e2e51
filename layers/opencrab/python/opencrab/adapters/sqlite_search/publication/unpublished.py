"""What a copy of an index has that the snapshot it stands on has not, by reading the copy.

Lines are found by their numbers, since they never change; of documents it is noted which changed.
"""

import sqlite3
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from opencrab.adapters.search_rows import Batch, IndexProgress
from opencrab.adapters.sqlite_search.row_codec import (
    COLUMNS,
    IndexStringTable,
    sqlite_search_row_from_stored,
)
from opencrab.adapters.sqlite_search.schema import KINDS
from opencrab.domain.memory.search_row import RowKind

_LINES = (
    f"SELECT {COLUMNS} FROM row WHERE session = ? AND ref IS NULL AND sequence > ?"  # noqa: S608 - values are parameters
    " ORDER BY sequence"
)
_DOCUMENT = f"SELECT {COLUMNS} FROM row WHERE kind = ? AND ref = ?"  # noqa: S608 - values are parameters


def unpublished_sqlite_search_batches(
    connection: sqlite3.Connection,
    progress: IndexProgress,
    published: IndexProgress,
    documents: AbstractSet[tuple[RowKind, str]],
) -> Iterator[Batch]:
    """Yield the lines after the published ones, the named documents, and how far both reach."""
    names = IndexStringTable(connection)
    for session_id, last in progress.lines.items():
        first = published.lines.get(session_id, 0)
        if last > first:
            columns = connection.execute(_LINES, (names.find_id(session_id), first)).fetchall()
            rows = tuple(sqlite_search_row_from_stored(each, names) for each in columns)
            yield Batch(rows=rows, session_id=session_id, last=last)
    found = [
        columns
        for kind, ref in sorted(documents)
        for columns in connection.execute(_DOCUMENT, (KINDS[kind], ref)).fetchall()
    ]
    if found:
        rows = tuple(sqlite_search_row_from_stored(each, names) for each in found)
        yield Batch(rows=rows, current=True)
    for kind, last_id in progress.kept.items():
        if last_id != published.kept.get(kind):
            yield Batch(kind=kind, last_id=last_id)
