"""Search over OpenSearch Serverless: its hits and the newest rows in one order.

One search asks the collection three times: for what there is to know before, for the best hits,
and for their neighbours.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from opencrab.adapters.opensearch.indexing import OpenSearchIndexing
from opencrab.adapters.opensearch.limits import (
    answering_rows_filter,
    any_of_filters,
    audible_rows_filter,
    term_filter,
)
from opencrab.adapters.opensearch.merging import Place, RowPool
from opencrab.adapters.opensearch.query_plan import QueryContext, run_query
from opencrab.adapters.opensearch.schema import (
    ROW,
    SCHEMA,
    PlacedRow,
    index_name,
    row_document_id,
    row_of_document,
)
from opencrab.adapters.opensearch.terms import plain_term
from opencrab.adapters.opensearch.watermark import Watermarks, newest_watermarks_query
from opencrab.domain.text.query import parse_search_query
from opencrab.domain.text.ranking import MOST_HITS, RankedRow
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
    """`ports.memory.search.Search` and `ports.memory.search.Indexing` over one collection."""

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        index = index_name(self._stage, agent_id)
        if query.limit < 1 or not parse_search_query(query.text).terms:
            return ()
        now = self._clock.now()
        before = run_query(self._client, index, self._past, agent_id, query, now=now)
        asked = parse_search_query(query.text, before.speakers)
        sought = tuple(dict.fromkeys(map(plain_term, asked.terms)))
        look = RowPool(query, asked, sought, before, now)
        hits = self._client.search(index, _hits_asked(query, sought, before))
        look.add(_rows(hits), hits=True, scores=_scores(hits))
        for _ in range(_LOOKS):
            order = self._looked(index, look)
            if not self._learnt(agent_id, look, order):
                return tuple(map(look.found, order))
        return tuple(look.found(each) for each in self._looked(index, look) if _is_sure(each, look))

    def forget(self, agent_id: str) -> None:
        """As the port says, as far as the collection lets one: it has no way to merge segments.

        What was deleted cannot be found, and leaves the collection's storage when the server next
        merges what it was in; an index that goes as a whole goes at once.
        """
        super().forget(agent_id)

    def status(self, agent_id: str) -> IndexStatus:
        """As the port says; `bytes` are those of texts and terms, as no others are told."""
        index = index_name(self._stage, agent_id)
        reached = Watermarks(self._client, index)
        reached.read(self._client.search(index, newest_watermarks_query(_MOST_SESSIONS)))
        sizes = {"bytes": {"sum": {"field": "bytes"}}}
        query = term_filter("doc", ROW)
        body = {"size": 0, "track_total_hits": True, "query": query, "aggs": sizes}
        answer = self._client.search(index, body)
        rows = int(answer["hits"]["total"]["value"]) if answer else 0
        agent = reached.agent()
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
        """The best among the rows at hand and what stands beside them."""
        hits = look.hits()
        beside = look.beside(hits)
        if beside - look.around:
            look.around.update(beside)
            look.add(_rows(self._client.search(index, _beside_asked(look, beside))))
        return look.ranked(hits)

    def _learnt(self, agent_id: str, look: RowPool, order: Iterable[RankedRow]) -> bool:
        """Whether kept things among the best are others than was known; that is known then."""
        learnt = False
        for key in (str(each.candidate.key) for each in order):
            row = look.row(key)
            if not row.ref or key in look.sound:
                continue
            look.sound.add(key)
            now = self._past.again(agent_id, row)
            if now != row:
                learnt = True
                look.put(key, now)
        return learnt


def _is_sure(each: RankedRow, look: RowPool) -> bool:
    """Whether it is a line, or a kept thing that was read again."""
    key = str(each.candidate.key)
    return key in look.sound or not look.row(key).ref


def _hits_asked(
    query: SearchQuery, sought: tuple[str, ...], before: QueryContext
) -> dict[str, Any]:
    """The search for the best by BM25 among what may answer."""
    match = {"match": {"terms": {"query": " ".join(sought), "operator": "or"}}}
    limits = answering_rows_filter(query, before.heard)
    return {
        "size": MOST_HITS,
        "query": {"bool": {"must": [match], "filter": limits}},
        "sort": _ORDER,
        "track_total_hits": False,
    }


def _beside_asked(look: RowPool, beside: Iterable[Place]) -> dict[str, Any]:
    """The search for what stands at some places, as far as it may be heard."""
    places = dict[str, list[int]]()
    for session_id, place in sorted(beside):
        places.setdefault(session_id, []).append(place)
    wanted: list[dict[str, Any]] = [
        {"bool": {"filter": [term_filter("session", session_id), {"terms": {"place": listed}}]}}
        for session_id, listed in places.items()
    ]
    limits = [any_of_filters(wanted), *audible_rows_filter(look.query, look.before.heard)]
    size = sum(map(len, places.values()))
    return {"size": size, "query": {"bool": {"filter": limits}}, "track_total_hits": False}


def _rows(answer: Mapping[str, Any] | None) -> dict[str, PlacedRow]:
    """The rows of an answer; each is known by what it says, not by what it is called."""
    if answer is None:
        return {}
    rows = (row_of_document(hit["_source"]) for hit in answer["hits"]["hits"])
    return {row_document_id(found.row): found for found in rows}


def _scores(answer: Mapping[str, Any] | None) -> dict[str, float]:
    """The scores of an answer that is in their order: a search that sorts says them there."""
    if answer is None:
        return {}
    return {
        row_document_id(row_of_document(hit["_source"]).row): float(hit["sort"][0])
        for hit in answer["hits"]["hits"]
    }
