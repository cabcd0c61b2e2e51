"""Merging: the server's hits and the newest rows in one order, and what of each is shown.

It asks nobody; whoever looks puts in what the server found and what the stores say, in any order.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from opencrab.adapters.opensearch.limits import opensearch_row_is_audible, opensearch_row_may_answer
from opencrab.adapters.opensearch.query_plan import QueryContext
from opencrab.adapters.opensearch.schema import PlacedRow, place_opensearch_row
from opencrab.adapters.opensearch.terms import opensearch_term_shares
from opencrab.adapters.search_rows import search_row_microseconds
from opencrab.domain.memory.search_row import SearchRow
from opencrab.domain.text.query import ParsedQuery
from opencrab.domain.text.ranking import (
    LENT,
    MOST_HITS,
    RankedRow,
    RankingCandidate,
    is_text_search_row_named,
    rank_text_search_candidates,
)
from opencrab.ports.memory.search import (
    MOST_FOUND,
    SearchHit,
    SearchQuery,
    memory_search_excerpt_line,
)

Place = tuple[str, int]
"""A session, and a place among its speech."""

_AROUND = range(min(place for place, _ in LENT) - 1, max(place for place, _ in LENT) + 2)
"""Places beside a hit: those to which it lends, and what stands beside them in an excerpt."""


class RowPool:
    """Rows by document id; rows in `_pool` may be hits, the others are neighbours of hits.

    Rows in `_named` may be shown without a score, since the question names their time or speaker.
    `sound` are documents that were read again from the stores, `around` the places already fetched.
    """

    def __init__(
        self,
        query: SearchQuery,
        asked: ParsedQuery,
        sought: tuple[str, ...],
        before: QueryContext,
        now: datetime,
    ) -> None:
        self.query = query
        self.before = before
        self.sound = set[str]()
        self.around = set[Place]()
        self._asked = asked
        self._sought = sought
        self._now = now
        self._rows = dict[str, PlacedRow]()
        self._pool = set[str]()
        self._named = set[str]()
        self._scores = dict[str, float]()
        self._places = dict[Place, SearchRow]()
        self.add(before.tail.rows, hits=True)

    def add(
        self,
        rows: Mapping[str, PlacedRow],
        *,
        hits: bool = False,
        scores: Mapping[str, float] | None = None,
    ) -> None:
        """Add rows of the index; a row that is known already is newer and stays.

        A score counts only if the row is unchanged since it was indexed.
        """
        for key, found in rows.items():
            if self.before.tail.forgotten.has(found.row):
                continue
            if hits:
                self._pool.add(key)
            if key not in self._rows and opensearch_row_is_audible(
                found.row, self.query, self.before.heard
            ):
                self._rows[key] = found
                if found.place:
                    self._places[found.row.session_id, found.place] = found.row
            if scores and key in self._rows and self.row(key) == found.row:
                self._scores[key] = scores[key]

    def add_named(self, rows: Mapping[str, PlacedRow]) -> None:
        """Add rows of a time or speaker that the question names."""
        self._named.update(rows)
        self.add(rows)

    def put(self, key: str, row: SearchRow | None) -> None:
        """Replace a row by its present state in the stores; None removes it."""
        self._scores.pop(key, None)
        del self._rows[key]
        if row is not None:
            self._pool.add(key)
            self.add({key: place_opensearch_row(row, 0)})

    def row(self, key: str) -> SearchRow:
        """Return one of the rows."""
        return self._rows[key].row

    def best_scores(self) -> dict[str, float]:
        """Return the best rows with their scores; ties go to the newest, then by name."""
        fitting = [
            key
            for key in sorted(self._pool.intersection(self._rows))
            if opensearch_row_may_answer(self.row(key), self.query, self.before.heard)
        ]
        scores = self._scored(fitting)
        best = sorted(((points, key) for key, points in scores.items()), key=self._rank)
        return {key: points for points, key in best[:MOST_HITS]}

    def neighbours_of(self, hits: Iterable[str]) -> set[Place]:
        """Return the places of neighbours of hits, as (session id, place)."""
        return {
            (found.row.session_id, found.place + away)
            for found in map(self._rows.__getitem__, hits)
            if found.place
            for away in _AROUND
            if found.place + away > 0
        }

    def ranked(self, hits: Mapping[str, float]) -> tuple[RankedRow, ...]:
        """Return hits and neighbours in the order of display."""
        near, named = self.neighbours_of(hits), self._named_keys()
        candidates = [
            self._candidate(key, found, hits.get(key, 0.0), is_named=key in named)
            for key, found in self._rows.items()
            if key in hits or key in named or (found.row.session_id, found.place) in near
            if opensearch_row_may_answer(found.row, self.query, self.before.heard)
        ]
        return rank_text_search_candidates(
            candidates, self._asked, now=self._now, limit=min(self.query.limit, MOST_FOUND)
        )

    def to_hit(self, each: RankedRow) -> SearchHit:
        """Return a search hit, with neighbouring lines in its excerpt."""
        found = self._rows[str(each.candidate.key)]
        shown = [found.row]
        if found.place:
            session_id = found.row.session_id
            near = (self._places.get((session_id, found.place + away)) for away in (-1, 0, 1))
            shown = [row for row in near if row is not None]
        return SearchHit(
            row=found.row,
            score=each.score,
            why=each.why,
            excerpt="\n".join(map(memory_search_excerpt_line, shown)),
            taint=any(row.taint for row in shown),
        )

    def _scored(self, keys: Sequence[str]) -> dict[str, float]:
        """Return the server's scores, and estimated scores of rows that it did not score.

        An estimate is a row's share of the query's terms, scaled by the server's other scores:
        versions of the server differ by a factor, and each shard scores by its own counts.
        """
        scores = {key: self._scores[key] for key in keys if self._scores.get(key, 0.0) > 0}
        if len(scores) == len(keys):
            return scores
        share = opensearch_term_shares(self._sought, {key: self.row(key).text for key in keys})
        told = [points / share[key] for key, points in scores.items() if share.get(key)]
        usual = sum(told) / len(told) if told else 1.0
        return {key: part * usual for key, part in share.items()} | scores

    def _rank(self, each: tuple[float, str]) -> tuple[float, int, str, int, str]:
        points, key = each
        row = self.row(key)
        return -points, -search_row_microseconds(row.at), row.session_id, row.sequence, key

    def _named_keys(self) -> set[str]:
        """Return rows that may be shown without a score, the newest rows among them."""
        if not self._asked.names_rows:
            return set()
        recent = self.before.tail.rows
        return self._named | {
            key
            for key, found in recent.items()
            if is_text_search_row_named(found.row.speaker, found.row.at, self._asked)
        }

    def _candidate(
        self, key: str, found: PlacedRow, points: float, *, is_named: bool
    ) -> RankingCandidate:
        row = found.row
        return RankingCandidate(
            key=key,
            session_id=row.session_id,
            place=found.place or row.sequence,
            speaker=row.speaker,
            at=row.at,
            score=points,
            importance=row.importance,
            spoken=found.place > 0,
            timed=found.timed,
            is_named=is_named,
        )
