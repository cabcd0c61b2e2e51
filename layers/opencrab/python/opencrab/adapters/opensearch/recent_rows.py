"""The tail: what a search must find although the index may not show it yet.

It is read with strong consistency from the stores, from the last watermark on that a search can
rely on, so that everybody reads what they just wrote.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from opencrab.adapters.forgotten_rows import ForgottenRows
from opencrab.adapters.opensearch.schema import PlacedRow, opensearch_row_id, place_opensearch_row
from opencrab.adapters.opensearch.watermark import Watermarks
from opencrab.adapters.search_rows import Batch, SearchRowReader
from opencrab.ports.memory.search import SearchQuery

MOST_TAIL = 1_000
"""Rows of the tail that are weighed, the newest ones; more are there while an index is built."""


@dataclass(frozen=True)
class RecentRows:
    """Rows that are newer than the watermarks, by document id, and all erasure marks."""

    rows: Mapping[str, PlacedRow] = field(default_factory=dict)
    forgotten: ForgottenRows = field(default_factory=ForgottenRows)


def rows_newer_than_opensearch(
    past: SearchRowReader, agent_id: str, query: SearchQuery, reached: Watermarks
) -> RecentRows:
    """Read rows that are newer than the watermarks from the stores, without erased ones."""
    sessions = (query.clearance.session_id, query.session_id, query.before and query.before[0])
    named = dict.fromkeys(each for each in sessions if each)
    forgotten = ForgottenRows()
    rows = dict[str, PlacedRow]()
    places = dict[str, int]()
    for batch in past.new_batches(agent_id, reached.progress(), *named):
        forgotten.add(batch.marks)
        if batch.session_id and batch.session_id not in places:
            step = reached.session_watermark(batch.session_id)
            places[batch.session_id] = step.place if step else 0
        rows.update(_rows(batch, places, forgotten))
    return RecentRows(_newest(rows), forgotten)


def _rows(
    batch: Batch, places: dict[str, int], forgotten: ForgottenRows
) -> Iterable[tuple[str, PlacedRow]]:
    """Yield the rows of a batch with place numbers, counted as the indexer does."""
    for row in batch.rows:
        place = 0
        if row.is_spoken:
            place = places[row.session_id] = places.get(row.session_id, 0) + 1
        if not forgotten.has(row):
            yield opensearch_row_id(row), place_opensearch_row(row, place)


def _newest(rows: dict[str, PlacedRow]) -> dict[str, PlacedRow]:
    if len(rows) <= MOST_TAIL:
        return rows
    ordered = sorted(rows.items(), key=lambda each: each[1].row.at, reverse=True)
    return dict(ordered[:MOST_TAIL])
