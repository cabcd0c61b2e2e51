"""Watermarks: which of them a search may rely on."""

from datetime import timedelta

import pytest

from opencrab.adapters.opensearch.client import OpenSearchClient
from opencrab.adapters.opensearch.schema import opensearch_index_body
from opencrab.adapters.opensearch.watermark import SETTLED, Watermarks
from opencrab.adapters.system_clock import FakeClock
from tests.contract.example import NOW
from tests.opensearch.fake import FakeCollection
from tests.opensearch.search import INDEX, client_of


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def client(clock: FakeClock) -> OpenSearchClient:
    made = client_of(FakeCollection(clock, refresh=timedelta(0)), clock)
    made.create(INDEX, opensearch_index_body(clock.now()))
    return made


def reach(client: OpenSearchClient, clock: FakeClock, last: int) -> None:
    reached = Watermarks(client, INDEX)
    reached.load()
    client.write(INDEX, [reached.session_document("s1", last, last, clock.now())])


def settled(client: OpenSearchClient, clock: FakeClock) -> int:
    return Watermarks(client, INDEX, until=clock.now() - SETTLED).lines.get("s1", 0)


def test_a_search_relies_on_a_watermark_once_everything_before_it_is_found(
    client: OpenSearchClient, clock: FakeClock
) -> None:
    reach(client, clock, 5)
    assert settled(client, clock) == 0
    assert Watermarks(client, INDEX).lines["s1"] == 5
    clock.advance(SETTLED.total_seconds())
    assert settled(client, clock) == 5


def test_a_session_that_is_always_written_to_has_a_watermark_that_counts(
    client: OpenSearchClient, clock: FakeClock
) -> None:
    for second in range(4, 601, 4):
        clock.advance(4)
        reach(client, clock, second)
        known = settled(client, clock)
        assert second < 160 or second - 160 <= known <= second - 120


def test_watermarks_do_not_pile_up(client: OpenSearchClient, clock: FakeClock) -> None:
    for second in range(100):
        clock.advance(4)
        reach(client, clock, second)
    body = {"size": 10, "query": {"term": {"session": "s1"}}}
    answer = client.search(INDEX, body)
    assert answer is not None
    assert len(answer["hits"]["hits"][0]["_source"]["steps"]) < 10


def test_the_last_line_of_a_session_is_asked_for_when_it_is_needed(
    client: OpenSearchClient, clock: FakeClock
) -> None:
    reach(client, clock, 7)
    lines = Watermarks(client, INDEX).lines
    assert len(lines) == 0
    assert lines.get("s2", 0) == 0
    assert lines.get("s1", 0) == 7
    assert list(lines) == ["s1"]
