"""The client: what it tries again, what it reports, and what it never hides."""

from collections import deque

import httpx
import pytest

from opencrab.adapters.opensearch.client import (
    BULK_ITEMS,
    DocumentWrite,
    OpenSearchClient,
    require_opensearch_writes,
)
from opencrab.adapters.opensearch.connection import (
    ATTEMPTS,
    OpenSearchBackoff,
    checked_opensearch_endpoint,
    opensearch_region,
)
from opencrab.adapters.opensearch.schema import opensearch_index_body
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, Unavailable
from tests.contract.example import NOW
from tests.opensearch.fake import FakeCollection
from tests.opensearch.search import ENDPOINT, INDEX, client_of

MATCH_ALL = {"size": 100, "query": {"match_all": {}}}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def collection(clock: FakeClock) -> FakeCollection:
    return FakeCollection(clock)


@pytest.fixture
def client(collection: FakeCollection, clock: FakeClock) -> OpenSearchClient:
    made = client_of(collection, clock)
    made.create(INDEX, opensearch_index_body(clock.now()))
    return made


def seen(number: int) -> DocumentWrite:
    return DocumentWrite(f"seen:{number}", {"doc": "seen", "session": f"s{number}", "steps": []})


def test_passing_faults_are_tried_again_after_ever_longer_pauses(
    client: OpenSearchClient, collection: FakeCollection, clock: FakeClock
) -> None:
    collection.faults.extend([429, 503, httpx.ConnectError("no"), httpx.ReadTimeout("slow")])
    assert client.search(INDEX, MATCH_ALL) is not None
    assert len(collection.asked) == 1 + ATTEMPTS
    assert (clock.now() - NOW).total_seconds() == pytest.approx(0.75 * (0.2 + 0.4 + 0.8 + 1.6))


def test_a_collection_that_stays_silent_is_unavailable(
    client: OpenSearchClient, collection: FakeCollection
) -> None:
    collection.faults.extend([503] * ATTEMPTS)
    with pytest.raises(Unavailable, match="503"):
        client.search(INDEX, MATCH_ALL)


def test_a_role_without_permission_is_not_tried_again(
    client: OpenSearchClient, collection: FakeCollection
) -> None:
    collection.forbidden = True
    asked = len(collection.asked)
    with pytest.raises(Unavailable) as refused:
        client.search(INDEX, MATCH_ALL)
    assert "data access policy" in str(refused.value.cure)
    assert len(collection.asked) == asked + 1


def test_only_the_documents_that_were_turned_away_are_written_again(
    client: OpenSearchClient, collection: FakeCollection
) -> None:
    collection.item_faults["seen:1"] = deque([429, 503])
    assert client.write(INDEX, map(seen, range(3))) == ()
    assert set(collection.sources(INDEX)) == {"seen:0", "seen:1", "seen:2"}
    assert [path for _, path in collection.asked].count(f"/{INDEX}/_bulk") == 3


def test_a_document_that_is_turned_away_forever_is_said(
    client: OpenSearchClient, collection: FakeCollection
) -> None:
    collection.item_faults["seen:1"] = deque([503] * ATTEMPTS)
    with pytest.raises(Unavailable, match="seen:1"):
        client.write(INDEX, map(seen, range(3)))


def test_a_document_that_is_refused_for_good_is_reported_and_the_others_are_kept(
    client: OpenSearchClient, collection: FakeCollection
) -> None:
    bad = DocumentWrite("bad", {"doc": "row", "unknown": 1})
    refused = client.write(INDEX, [seen(0), bad, seen(1)])
    assert [(each.id, each.status) for each in refused] == [("bad", 400)]
    assert set(collection.sources(INDEX)) == {"seen:0", "seen:1"}
    with pytest.raises(Unavailable, match=r"'bad' \(strict_dynamic_mapping_exception"):
        require_opensearch_writes(refused)
    with pytest.raises(Unavailable, match=r"rejected 7 documents, the first 5: 'bad'"):
        require_opensearch_writes(refused * 7)


def test_many_documents_go_in_several_requests(
    client: OpenSearchClient, collection: FakeCollection
) -> None:
    assert client.write(INDEX, map(seen, range(BULK_ITEMS * 2 + 1))) == ()
    assert len(collection.sources(INDEX)) == BULK_ITEMS * 2 + 1
    assert [path for _, path in collection.asked].count(f"/{INDEX}/_bulk") == 3


def test_large_documents_go_alone(client: OpenSearchClient, collection: FakeCollection) -> None:
    large = [
        DocumentWrite(f"w{number}", {"doc": "row", "text": "蟹" * 300_000}) for number in range(3)
    ]
    assert client.write(INDEX, large) == ()
    assert [path for _, path in collection.asked].count(f"/{INDEX}/_bulk") == 2


def test_what_is_not_there_can_be_deleted(
    client: OpenSearchClient, collection: FakeCollection
) -> None:
    assert client.write(INDEX, [seen(0), DocumentWrite("seen:0"), DocumentWrite("never")]) == ()
    assert collection.sources(INDEX) == {}


def test_whatever_is_in_a_text_stays_on_its_line(
    client: OpenSearchClient, clock: FakeClock
) -> None:
    text = 'a\n{"delete":{"_id":"x"}}\r\n\u2028\0"🦀'
    client.write(INDEX, [DocumentWrite("t", {"doc": "row", "text": text})])
    clock.advance(60)
    found = client.search(INDEX, MATCH_ALL)
    assert found is not None
    assert [hit["_source"]["text"] for hit in found["hits"]["hits"]] == [text]


def test_an_index_that_is_not_there_answers_nothing_and_can_be_dropped(
    client: OpenSearchClient,
) -> None:
    assert client.search("opencrab-test-nobody", MATCH_ALL) is None
    assert client.about("opencrab-test-nobody") is None
    client.drop("opencrab-test-nobody")
    client.create(INDEX, opensearch_index_body(NOW))


class Answering(httpx.BaseTransport):
    """Answers everything in one way."""

    def __init__(self, status: int, content: bytes) -> None:
        self._answer = (status, content)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(self._answer[0], content=self._answer[1])


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (200, b"<html>"), (200, b"[]"), (200, b"{}"), (200, b'{"hits": 3}'), (302, b""),
        (400, b'{"error": "text"}'), (200, b'{"hits": {"hits": []}, "timed_out": true}'),
        (200, b'{"hits": {"hits": []}, "_shards": {"failed": 1}}'), (200, b"[" * 100_000),
    ],
)  # fmt: skip
def test_an_answer_of_another_form_is_unavailable(
    status: int, content: bytes, clock: FakeClock
) -> None:
    client = client_of(Answering(status, content), clock)
    with pytest.raises(Unavailable):
        client.search(INDEX, MATCH_ALL)
    with pytest.raises(Unavailable):
        client.write(INDEX, [seen(0)])


@pytest.mark.parametrize(
    "endpoint",
    [
        "", "http://x.eu-west-1.aoss.amazonaws.com", "https://user@x.eu-west-1.aoss.amazonaws.com",
        "https://x.eu-west-1.aoss.amazonaws.com/path", "https://169.254.169.254", "nonsense",
        "https://x.eu-west-1.aoss.amazonaws.com?a=b",
    ],
)  # fmt: skip
def test_only_the_address_of_a_collection_is_taken(endpoint: str) -> None:
    with pytest.raises(Invalid):
        opensearch_region(checked_opensearch_endpoint(endpoint))


def test_the_region_is_in_the_address() -> None:
    assert opensearch_region(checked_opensearch_endpoint(f"{ENDPOINT}/")) == "eu-central-1"
    with pytest.raises(Invalid, match="contains no region"):
        opensearch_region("https://example.com")


def test_chance_shortens_a_pause_by_half_at_most() -> None:
    paused: list[float] = []
    backoff = OpenSearchBackoff(paused.append, lambda: len(paused) % 3 / 2)
    for attempt in range(10):
        backoff.before(attempt)
    longest = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 8.0, 8.0, 8.0]
    assert len(paused) == 9
    assert all(most / 2 <= pause <= most for pause, most in zip(paused, longest, strict=True))
