"""What a search knows before it looks: the tail, who spoke, and whom the query names."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from opencrab.adapters.opensearch.client import OpenSearchClient
from opencrab.adapters.opensearch.limits import (
    opensearch_audible_rows_filter,
    opensearch_row_is_audible,
    opensearch_term_filter,
)
from opencrab.adapters.opensearch.recent_rows import RecentRows, rows_newer_than_opensearch
from opencrab.adapters.opensearch.schema import ROW
from opencrab.adapters.opensearch.watermark import SETTLED, Watermarks, opensearch_watermarks_query
from opencrab.adapters.search_rows import KEPT, SearchRowReader
from opencrab.domain.memory.search_row import RowKind
from opencrab.domain.text.query import speakers_named_in_text
from opencrab.ports.memory.search import SearchQuery

MOST_SPEAKERS = 1_000
MOST_KEPT = 65_535
"""Buckets that a search may ask for."""

MOST_HEARD = 10_000
"""Sessions of one person that are told apart; of others that person hears what is public."""


@dataclass(frozen=True)
class QueryContext:
    """Recent rows, sessions that the caller hears, and speakers named in the query.

    The caller hears those in which it spoke and takes part now.

    Speakers whom the caller may not see are left out.
    """

    tail: RecentRows
    heard: frozenset[str]
    speakers: frozenset[str] = frozenset()


def read_opensearch_query_context(
    client: OpenSearchClient,
    index: str,
    past: SearchRowReader,
    agent_id: str,
    query: SearchQuery,
    *,
    now: datetime,
) -> QueryContext:
    """Read what a search needs first: watermarks, the caller's sessions, recent rows, speakers."""
    person = query.clearance.person_id
    answer = client.search(index, _watermark_query(person))
    reached = Watermarks(client, index, until=now - SETTLED)
    reached.read(answer)
    tail = rows_newer_than_opensearch(past, agent_id, query, reached)
    rows = [found.row for found in tail.rows.values()]
    found = answer["aggregations"]["all"]["rows"] if answer else {}
    speakers = {row.speaker for row in rows}.union(_names(found.get("speakers"))) - {""}
    heard = {row.session_id for row in rows if row.is_spoken and row.speaker_id == person}
    heard.update(_names(found.get("heard", {}).get("in")))
    here = past.sessions_taken_part_in(person, heard) if person else frozenset[str]()
    before = QueryContext(tail=tail, heard=here)
    called = frozenset[str]()
    if not query.only_words:
        called = speakers_named_in_text(query.text, speakers)
    return replace(before, speakers=_visible_speakers(client, index, query, called, before))


def kept_rows_in_opensearch(client: OpenSearchClient, index: str) -> set[tuple[RowKind, str]]:
    """Return kind and id of the stored documents that are in an index."""
    kinds = [kind for kind in RowKind if kind.value in KEPT]
    aggs = {
        kind.value: {
            "filter": {
                "bool": {
                    "filter": [
                        opensearch_term_filter("doc", ROW),
                        opensearch_term_filter("kind", kind.value),
                    ]
                }
            },
            "aggs": {"in": {"terms": {"field": "ref", "size": MOST_KEPT}}},
        }
        for kind in kinds
    }
    answer = client.search(index, {"size": 0, "aggs": aggs})
    if answer is None:
        return set()
    found = answer["aggregations"]
    return {(kind, ref) for kind in kinds for ref in _names(found[kind.value]["in"])}


def _visible_speakers(
    client: OpenSearchClient,
    index: str,
    query: SearchQuery,
    speakers: frozenset[str],
    before: QueryContext,
) -> frozenset[str]:
    """Return those of the speakers whom the caller may see, asking the index if needed."""
    if query.clearance.whole:
        return speakers
    rows = (found.row for found in before.tail.rows.values())
    near = {row.speaker for row in rows if opensearch_row_is_audible(row, query, before.heard)}
    rest = sorted(speakers - near)
    if not rest:
        return speakers
    limits = [{"terms": {"speaker": rest}}, *opensearch_audible_rows_filter(query, before.heard)]
    aggs = {"speakers": {"terms": {"field": "speaker", "size": len(rest)}}}
    body = {"size": 0, "query": {"bool": {"filter": limits}}, "aggs": aggs}
    answer = client.search(index, body)
    return speakers & near.union(_names(answer["aggregations"]["speakers"]) if answer else ())


def _watermark_query(person: str) -> dict[str, Any]:
    """Return the search for the newest watermarks, with aggregations of speakers."""
    aggs: dict[str, Any] = {"speakers": {"terms": {"field": "speaker", "size": MOST_SPEAKERS}}}
    if person:
        spoken = [
            opensearch_term_filter("speaker_id", person),
            opensearch_term_filter("kind", RowKind.SPEECH.value),
        ]
        aggs["heard"] = {
            "filter": {"bool": {"filter": spoken}},
            "aggs": {"in": {"terms": {"field": "session", "size": MOST_HEARD}}},
        }
    rows = {"filter": opensearch_term_filter("doc", ROW), "aggs": aggs}
    return {
        **opensearch_watermarks_query(),
        "aggs": {"all": {"global": {}, "aggs": {"rows": rows}}},
    }


def _names(found: Mapping[str, Any] | None) -> list[str]:
    return [str(bucket["key"]) for bucket in found["buckets"]] if found else []
