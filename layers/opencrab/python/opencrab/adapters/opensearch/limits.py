"""Limits of a query, twice: as the server applies them, and as they hold for rows in our hands.

Rows that the server does not know yet, and kept things that were read again, must pass the same
tests as what it answers; a test of ours compares the two.
"""

from collections.abc import Set as AbstractSet
from typing import Any

from opencrab.adapters.opensearch.schema import ROW
from opencrab.adapters.search_rows import search_row_microseconds
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import RowKind, SearchClearance, SearchRow
from opencrab.domain.text.dates import TimeSpan
from opencrab.domain.value import value_with_surrogates_joined
from opencrab.ports.memory.search import SearchQuery

Clause = dict[str, Any]

_MOST = 2**31 - 1
"""The largest number that the server takes for a line."""


def opensearch_term_filter(name: str, value: object) -> Clause:
    """Return a filter: a field has exactly this value."""
    return {"term": {name: value_with_surrogates_joined(value)}}


_PRIVATE = opensearch_term_filter("hearing", Hearing.PRIVATE.value)
_THOUGHT = opensearch_term_filter("kind", RowKind.INNER_VOICE.value)


def any_opensearch_filter(clauses: list[Clause]) -> Clause:
    """Return a filter: at least one of the clauses matches."""
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def opensearch_audible_rows_filter(query: SearchQuery, heard: AbstractSet[str]) -> list[Clause]:
    """Return filters for the rows that the caller may see; the same rule as `row_is_audible`."""
    clauses = [opensearch_term_filter("doc", ROW), *_clearance(query.clearance, heard)]
    if query.before is not None:
        session_id, sequence = query.before
        later = {"range": {"sequence": {"gte": min(max(sequence, 1), _MOST)}}}
        inner = [
            opensearch_term_filter("session", session_id),
            opensearch_term_filter("ref", ""),
            later,
        ]
        clauses.append({"bool": {"must_not": [{"bool": {"filter": inner}}]}})
    return clauses


def opensearch_answering_rows_filter(query: SearchQuery, heard: AbstractSet[str]) -> list[Clause]:
    """Return filters for possible hits; the same rule as `row_may_answer`."""
    clauses = opensearch_audible_rows_filter(query, heard)
    if query.session_id is not None:
        clauses.append(opensearch_term_filter("session", query.session_id))
    if query.speaker is not None:
        names = ("speaker", "speaker_id")
        clauses.append(
            any_opensearch_filter([opensearch_term_filter(name, query.speaker) for name in names])
        )
    if query.kinds:
        clauses.append({"terms": {"kind": sorted(each.value for each in query.kinds)}})
    if query.hearings:
        clauses.append({"terms": {"hearing": sorted(each.value for each in query.hearings)}})
    times = {}
    if query.since is not None:
        times["gte"] = search_row_microseconds(query.since)
    if query.until is not None:
        times["lte"] = search_row_microseconds(query.until)
    if times:
        clauses.append({"range": {"at": times}})
    return clauses


def opensearch_times_filter(times: tuple[TimeSpan, ...], *, near: bool = True) -> Clause:
    """Return a filter for rows of some times, or also near them."""
    ends = ((each.before, each.after) if near else (each.since, each.until) for each in times)
    spans = (map(search_row_microseconds, each) for each in ends)
    return any_opensearch_filter([{"range": {"at": {"gte": a, "lte": b - 1}}} for a, b in spans])


def opensearch_row_is_audible(row: SearchRow, query: SearchQuery, heard: AbstractSet[str]) -> bool:
    """Check whether the caller may see a row at all, for example in an excerpt."""
    if not query.clearance.allows(row, heard):
        return False
    if query.before is None or row.ref:
        return True
    session_id, sequence = query.before
    return row.session_id != session_id or row.sequence < max(sequence, 1)


def opensearch_row_may_answer(row: SearchRow, query: SearchQuery, heard: AbstractSet[str]) -> bool:
    """Check whether a row may be a hit of a query."""
    at = search_row_microseconds(row.at)
    return (
        opensearch_row_is_audible(row, query, heard)
        and query.session_id in {None, row.session_id}
        and query.speaker in {None, row.speaker, row.speaker_id}
        and (not query.kinds or row.kind in query.kinds)
        and (not query.hearings or row.hearing in query.hearings)
        and (query.since is None or at >= search_row_microseconds(query.since))
        and (query.until is None or at <= search_row_microseconds(query.until))
    )


def _clearance(clearance: SearchClearance, heard: AbstractSet[str]) -> list[Clause]:
    """Return filters with the same rule as `SearchClearance.allows`."""
    if clearance.whole:
        return []
    allowed = [opensearch_term_filter("hearing", Hearing.PUBLIC.value)]
    if clearance.guild_id:
        inner = [
            opensearch_term_filter("hearing", Hearing.GUILD.value),
            opensearch_term_filter("guild", clearance.guild_id),
        ]
        allowed.append({"bool": {"filter": inner}})
    if clearance.session_id:
        inner = [opensearch_term_filter("session", clearance.session_id)]
        if clearance.knows_session:
            line = {"bool": {"filter": [opensearch_term_filter("ref", "")], "must_not": [_THOUGHT]}}
            inner.append(any_opensearch_filter([line, {"bool": {"must_not": [_PRIVATE]}}]))
        else:
            inner.append(opensearch_term_filter("kind", RowKind.SPEECH.value))
        allowed.append({"bool": {"filter": inner}})
    if clearance.person_id and heard:
        there = {"terms": {"session": sorted(heard)}}
        allowed.append({"bool": {"filter": [there], "must_not": [_PRIVATE]}})
    return [any_opensearch_filter(allowed)]
