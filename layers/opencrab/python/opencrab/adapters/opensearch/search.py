"""Search over OpenSearch Serverless: its hits and the newest rows in one order.

One search asks the collection three times: for what there is to know before, for the best hits,
and for their neighbours. A question that names a time asks twice more, for that time only, and a
third time if more is near it than one answer holds.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from opencrab.adapters.opensearch.indexing import OpenSearchIndexing
from opencrab.adapters.opensearch.limits import (
    any_opensearch_filter,
    opensearch_answering_rows_filter,
    opensearch_audible_rows_filter,
    opensearch_term_filter,
    opensearch_times_filter,
)
from opencrab.adapters.opensearch.merging import Place, RowPool
from opencrab.adapters.opensearch.query_plan import QueryContext, read_opensearch_query_context
from opencrab.adapters.opensearch.schema import (
    ROW,
    SCHEMA,
    PlacedRow,
    opensearch_index_name,
    opensearch_row_id,
    row_of_opensearch_document,
)
from opencrab.adapters.opensearch.terms import plain_opensearch_term
from opencrab.adapters.opensearch.watermark import Watermarks, opensearch_watermarks_query
from opencrab.domain.text.dates import TimeSpan
from opencrab.domain.text.query import ParsedQuery, parse_query_text
from opencrab.domain.text.ranking import MOST_HITS, RankedRow
from opencrab.domain.value import value_with_surrogates_joined
from opencrab.ports.memory.search import IndexStatus, SearchHit, SearchQuery

_LOOKS = 3
"""How often the rows are ranked again after kept things turned out to be others than known."""

_MOST_SESSIONS = 10_000

_ORDER: list[dict[str, Any]] = [
    {"_score": {"order": "desc"}},
    {"at": {"order": "desc"}},
    {"session": {"order": "asc"}},
    {"sequence": {"order": "asc"}},
    {"kind": {"order": "asc"}},
    {"ref": {"order": "asc"}},
]


class OpenSearch(OpenSearchIndexing):
    """`ports.memory.search.Search` and `ports.memory.search.Indexing` on one collection."""

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        index = opensearch_index_name(self._stage, agent_id)
        if query.limit < 1 or not parse_query_text(query.text).terms:
            return ()
        now = self._clock.now()
        before = read_opensearch_query_context(
            self._client, index, self._past, agent_id, query, now=now
        )
        seen_from = None if query.only_words else now
        asked = parse_query_text(query.text, before.speakers, seen_from, query.zone)
        sought = tuple(dict.fromkeys(map(plain_opensearch_term, asked.terms)))
        look = RowPool(query, asked, sought, before, now)
        hits = self._client.search(index, _hits_asked(query, sought, before))
        look.add(_rows(hits), hits=True, scores=_scores(hits))
        if asked.times:
            dated = self._client.search(index, _hits_asked(query, sought, before, asked.times))
            look.add(_rows(dated), hits=True, scores=_scores(dated))
        if asked.names_rows:
            named = _rows(self._client.search(index, _named_asked(query, asked, before)))
            look.add_named(named)
            if asked.times and len(named) >= MOST_HITS:
                # What is near does not crowd out the time itself.
                within = _named_asked(query, asked, before, near=False)
                look.add_named(_rows(self._client.search(index, within)))
        for _ in range(_LOOKS):
            order = self._looked(index, look)
            if not self._learnt(agent_id, look, order):
                return tuple(map(look.to_hit, order))
        return tuple(
            look.to_hit(each) for each in self._looked(index, look) if _is_sure(each, look)
        )

    def apply_erasures(self, agent_id: str) -> None:
        """Delete erased rows from the index; OpenSearch Serverless offers no way to merge segments.

        A deleted document cannot be found, and leaves the collection's storage when the server next
        merges its segment. An index that is deleted whole is gone at once.
        """
        super().apply_erasures(agent_id)

    def status(self, agent_id: str) -> IndexStatus:
        """Return the index's status.

        `bytes` counts texts and terms, as no other size is available.
        """
        index = opensearch_index_name(self._stage, agent_id)
        reached = Watermarks(self._client, index)
        reached.read(self._client.search(index, opensearch_watermarks_query(_MOST_SESSIONS)))
        sizes = {"bytes": {"sum": {"field": "bytes"}}}
        query = opensearch_term_filter("doc", ROW)
        body = {"size": 0, "track_total_hits": True, "query": query, "aggs": sizes}
        answer = self._client.search(index, body)
        rows = int(answer["hits"]["total"]["value"]) if answer else 0
        agent = reached.agent_watermark()
        return IndexStatus(
            backend="opensearch",
            rows=rows,
            bytes=int(answer["aggregations"]["bytes"]["value"]) if answer else 0,
            tokenizer=SCHEMA,
            lines=tuple((session, step.last) for session, step in reached.known()),
            published_at=agent.at if agent else None,
            published_rows=rows if agent else None,
        )

    def _looked(self, index: str, look: RowPool) -> tuple[RankedRow, ...]:
        """Rank the rows at hand with the neighbours of the best, fetching missing neighbours."""
        hits = look.best_scores()
        beside = look.neighbours_of(hits)
        if beside - look.around:
            look.around.update(beside)
            look.add(_rows(self._client.search(index, _beside_asked(look, beside))))
        return look.ranked(hits)

    def _learnt(self, agent_id: str, look: RowPool, order: Iterable[RankedRow]) -> bool:
        """Read ranked documents again from the stores; return True if any of them had changed."""
        learnt = False
        for key in (str(each.candidate.key) for each in order):
            row = look.row(key)
            if not row.ref or key in look.sound:
                continue
            look.sound.add(key)
            now = self._past.reread(agent_id, row)
            if now != row:
                learnt = True
                look.put(key, now)
        return learnt


def _is_sure(each: RankedRow, look: RowPool) -> bool:
    """Check whether a ranked row is a line, or was read again from the stores."""
    key = str(each.candidate.key)
    return key in look.sound or not look.row(key).ref


def _hits_asked(
    query: SearchQuery,
    sought: tuple[str, ...],
    before: QueryContext,
    times: tuple[TimeSpan, ...] = (),
) -> dict[str, Any]:
    """Return the BM25 search for rows that may be hits, of some times or of any."""
    match = {"match": {"terms": {"query": " ".join(sought), "operator": "or"}}}
    limits = opensearch_answering_rows_filter(query, before.heard)
    limits += [opensearch_times_filter(times)] if times else []
    return {
        "size": MOST_HITS,
        "query": {"bool": {"must": [match], "filter": limits}},
        "sort": _ORDER,
        "track_total_hits": False,
    }


def _named_asked(
    query: SearchQuery, asked: ParsedQuery, before: QueryContext, *, near: bool = True
) -> dict[str, Any]:
    """Return the search for the newest rows of the times that a question names, or the speakers."""
    limits = opensearch_answering_rows_filter(query, before.heard)
    speakers = {"terms": {"speaker": sorted(map(value_with_surrogates_joined, asked.named))}}
    limits.append(opensearch_times_filter(asked.times, near=near) if asked.times else speakers)
    return {
        "size": MOST_HITS,
        "query": {"bool": {"filter": limits}},
        "sort": _ORDER[1:],
        "track_total_hits": False,
    }


def _beside_asked(look: RowPool, beside: Iterable[Place]) -> dict[str, Any]:
    """Return the search for rows at some places that the caller may see."""
    places = dict[str, list[int]]()
    for session_id, place in sorted(beside):
        places.setdefault(session_id, []).append(place)
    wanted: list[dict[str, Any]] = [
        {
            "bool": {
                "filter": [
                    opensearch_term_filter("session", session_id),
                    {"terms": {"place": listed}},
                ]
            }
        }
        for session_id, listed in places.items()
    ]
    limits = [
        any_opensearch_filter(wanted),
        *opensearch_audible_rows_filter(look.query, look.before.heard),
    ]
    size = sum(map(len, places.values()))
    return {"size": size, "query": {"bool": {"filter": limits}}, "track_total_hits": False}


def _rows(answer: Mapping[str, Any] | None) -> dict[str, PlacedRow]:
    """Return the rows of a response by document id, computed from each row's content."""
    if answer is None:
        return {}
    rows = (row_of_opensearch_document(hit["_source"]) for hit in answer["hits"]["hits"])
    return {opensearch_row_id(found.row): found for found in rows}


def _scores(answer: Mapping[str, Any] | None) -> dict[str, float]:
    """Return the scores of a response, which a sorted search has in `sort` only."""
    if answer is None:
        return {}
    return {
        opensearch_row_id(row_of_opensearch_document(hit["_source"]).row): float(hit["sort"][0])
        for hit in answer["hits"]["hits"]
    }
