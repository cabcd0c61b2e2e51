"""Limits: the server leaves out exactly what is left out of rows in our hands."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.opensearch.client import DocumentWrite
from opencrab.adapters.opensearch.limits import (
    opensearch_answering_rows_filter,
    opensearch_audible_rows_filter,
    opensearch_row_is_audible,
    opensearch_row_may_answer,
)
from opencrab.adapters.opensearch.schema import (
    opensearch_document_of_row,
    opensearch_index_body,
    opensearch_row_id,
    place_opensearch_row,
    row_of_opensearch_document,
)
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import RowKind, SearchClearance, SearchRow
from opencrab.ports.memory.search import SearchQuery
from tests.contract.example import NOW
from tests.opensearch.fake import FakeCollection
from tests.opensearch.search import INDEX, client_of
from tests.soak import examples

NAMES = st.sampled_from(["s1", "s2", "s3"])
PEOPLE = st.sampled_from(["taro", "jiro", ""])
GUILDS = st.sampled_from(["", "g1", "g2"])
TIMES = st.integers(0, 5).map(lambda microseconds: NOW + timedelta(microseconds=microseconds))
LINES = (RowKind.SPEECH, RowKind.INSTRUCTION, RowKind.INNER_VOICE)


@st.composite
def rows(draw: st.DrawFn) -> SearchRow:
    kind = draw(st.sampled_from(RowKind))
    number = draw(st.integers(1, 6))
    return SearchRow(
        session_id=draw(NAMES),
        sequence=number if kind in LINES else 0,
        kind=kind,
        hearing=draw(st.sampled_from(Hearing)),
        speaker_id=draw(PEOPLE),
        speaker=draw(st.sampled_from(["太郎", "taro", ""])),
        at=draw(TIMES),
        text="蟹 crab",
        guild_id=draw(GUILDS),
        ref="" if kind in LINES else f"r{number}",
    )


CLEARANCES = st.builds(
    SearchClearance,
    whole=st.booleans(),
    session_id=st.just("") | NAMES,
    guild_id=GUILDS,
    person_id=PEOPLE,
)
QUERIES = st.builds(
    SearchQuery,
    text=st.just("crab"),
    clearance=CLEARANCES,
    session_id=st.none() | NAMES,
    kinds=st.frozensets(st.sampled_from(RowKind), max_size=2),
    hearings=st.frozensets(st.sampled_from(Hearing), max_size=2),
    speaker=st.none() | st.sampled_from(["taro", "太郎", "x\ud800\0*"]),
    since=st.none() | TIMES,
    until=st.none() | TIMES,
    before=st.none() | st.tuples(NAMES, st.integers(-(10**20), 10**20) | st.integers(0, 7)),
)


@settings(max_examples=examples(40))
@given(st.lists(rows(), max_size=12), QUERIES, st.frozensets(NAMES))
def test_the_server_leaves_out_the_same(
    listed: list[SearchRow], query: SearchQuery, heard: frozenset[str]
) -> None:
    clock = FakeClock(NOW)
    client = client_of(FakeCollection(clock), clock)
    client.create(INDEX, opensearch_index_body(NOW))
    kept = {opensearch_row_id(row): row for row in listed}
    client.write(
        INDEX,
        [
            DocumentWrite(key, opensearch_document_of_row(place_opensearch_row(row, 1)))
            for key, row in kept.items()
        ],
    )
    clock.advance(60)
    for clauses, allowed in (
        (opensearch_audible_rows_filter, opensearch_row_is_audible),
        (opensearch_answering_rows_filter, opensearch_row_may_answer),
    ):
        body = {"size": 100, "query": {"bool": {"filter": clauses(query, heard)}}}
        answer = client.search(INDEX, body)
        assert answer is not None
        found = {
            opensearch_row_id(row_of_opensearch_document(hit["_source"]).row)
            for hit in answer["hits"]["hits"]
        }
        assert found == {key for key, row in kept.items() if allowed(row, query, heard)}
