"""Much that is new at once: taken in by transactions of limited size, and noted while it passes."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.index import Index
from opencrab.domain.memory.search_row import RowKind

ROWS_AT_ONCE = 5_000
"""Rows of one transaction: what is new since yesterday fits, a whole life is read bit by bit."""

UNFINISHED = datetime(1970, 1, 1, tzinfo=UTC)
"""When a copy was brought up to date of which only a part was read: so long ago that it is old."""


def index_sqlite_search_in_parts(
    index: Index, news: Iterable[Batch], before: datetime, now: datetime
) -> int:
    """Index batches in transactions of limited size; only the last one records the new time."""
    changed, rows, batches = 0, 0, list[Batch]()
    for batch in news:
        batches.append(batch)
        rows += len(batch.rows)
        if rows >= ROWS_AT_ONCE:
            changed += index.take(batches, before)
            rows, batches = 0, []
    return changed + index.take(batches, now)


class BackfillReader:
    """An iterator over batches that notes which documents and which last mark they contain."""

    def __init__(self, news: Iterator[Batch]) -> None:
        self.kept = set[tuple[RowKind, str]]()
        self.mark = ""
        self._news = news

    def __iter__(self) -> Iterator[Batch]:
        for batch in self._news:
            self.kept.update((row.kind, row.ref) for row in batch.rows if row.ref)
            if batch.marks:
                self.mark = batch.last_id
            yield batch
