"""The fake collection: it refuses what the service refuses, and scores as Lucene scores."""

import math
from datetime import timedelta
from typing import Any

import httpx
import pytest

from opencrab.adapters.opensearch.client import DocumentWrite, OpenSearchClient
from opencrab.adapters.opensearch.schema import opensearch_index_body
from opencrab.adapters.opensearch.signing import sign_opensearch_request
from opencrab.adapters.system_clock import FakeClock
from tests.contract.example import NOW
from tests.opensearch.fake import FakeCollection
from tests.opensearch.fake_index import analysed, stored
from tests.opensearch.search import ENDPOINT, INDEX, client_of, signer


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


def ask(
    collection: FakeCollection, method: str, path: str, body: bytes = b"", **headers: str
) -> httpx.Response:
    """Any request, signed."""
    request = httpx.Request(method, f"{ENDPOINT}{path}", content=body, headers=headers)
    request.headers.update(sign_opensearch_request(request, body, signer("eu-central-1"), NOW))
    return collection.handle_request(request)


def written(client: OpenSearchClient, clock: FakeClock, *texts: str) -> None:
    rows = [DocumentWrite(f"t{at}", {"doc": "row", "terms": text}) for at, text in enumerate(texts)]
    assert client.write(INDEX, rows) == ()
    clock.advance(60)


def scores(client: OpenSearchClient, words: str) -> dict[str, float]:
    body = {"size": 100, "query": {"match": {"terms": {"query": words, "operator": "or"}}}}
    answer = client.search(INDEX, body)
    assert answer is not None
    return {hit["_id"]: hit["_score"] for hit in answer["hits"]["hits"]}


def test_what_is_written_is_found_after_a_while(client: OpenSearchClient, clock: FakeClock) -> None:
    client.write(INDEX, [DocumentWrite("t0", {"doc": "row", "terms": "crab"})])
    assert scores(client, "crab") == {}
    clock.advance(9)
    assert scores(client, "crab") == {}
    clock.advance(1)
    assert set(scores(client, "crabs")) == {"t0"}
    client.write(INDEX, [DocumentWrite("t0")])
    assert set(scores(client, "crab")) == {"t0"}
    clock.advance(10)
    assert scores(client, "crab") == {}


def test_a_score_is_what_lucene_computes(client: OpenSearchClient, clock: FakeClock) -> None:
    long = "crab " + "x " * 41
    written(client, clock, "crab crab shell", long.strip(), "sea", "sea sea")
    found = scores(client, "crab")
    rarity = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    usual = (3 + 42 + 1 + 2) / 4
    assert found["t0"] == pytest.approx(rarity * 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / usual)))
    assert found["t1"] == pytest.approx(rarity * 1 / (1 + 1.2 * (0.25 + 0.75 * 42 / usual)))
    assert scores(client, "crab crab")["t0"] == pytest.approx(2 * found["t0"])


def test_lengths_are_kept_in_one_byte() -> None:
    steps = [40, 42, 44, 46, 48, 50, 52, 54, 56, 60, 64, 68, 72, 76, 80, 84, 88, 96, 104, 112]
    assert [stored(length) for length in range(41)] == list(range(41))
    assert sorted({stored(length) for length in range(40, 120)}) == steps
    assert stored(2_000_000_000) <= 2_000_000_000


def test_the_analyser_takes_whitespace_lower_case_and_stems() -> None:
    assert analysed("Walking CRABS\t蟹が カニ") == ["walk", "crab", "蟹が", "カニ"]


def test_each_shard_counts_for_itself(clock: FakeClock) -> None:
    texts = ["crab", "crab sea", "sea", "sea sea", "crab shell", "shell"]
    found = []
    for shards in (1, 3):
        client = client_of(FakeCollection(clock, shards=shards), clock)
        client.create(INDEX, opensearch_index_body(NOW))
        written(client, clock, *texts)
        found.append(scores(client, "crab sea"))
    assert set(found[0]) == set(found[1])
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", f"/{INDEX}/_delete_by_query", 404),
        ("POST", f"/{INDEX}/_refresh", 404),
        ("POST", f"/{INDEX}/_forcemerge", 404),
        ("POST", f"/{INDEX}/_search/scroll", 404),
        ("PUT", f"/{INDEX}/_bulk", 404),
        ("GET", "/", 404),
        ("POST", f"/{INDEX}/_bulk?refresh=true", 400),
        ("DELETE", f"/{INDEX}?timeout=1s", 400),
        ("PUT", "/Upper", 404),
        ("PUT", "/_hidden", 404),
        ("POST", "/nobody/_search", 404),
        ("DELETE", "/nobody", 404),
        ("PUT", f"/{INDEX}", 400),
    ],
)
def test_what_the_service_does_not_have_is_refused(
    client: OpenSearchClient, collection: FakeCollection, method: str, path: str, status: int
) -> None:
    headers = {"content-type": "application/json"}
    assert ask(collection, method, path, b"{}", **headers).status_code == status


@pytest.mark.parametrize(
    "body",
    [
        {"query": {"match_phrase": {"terms": "a"}}},
        {"query": {"match": {"terms": {"query": "a", "fuzziness": 2}}}},
        {"query": {"term": {"text": "a", "ref": "b"}}},
        {"query": {"term": {"steps": "a"}}},
        {"query": {"range": {"at": {"gt": 1}}}},
        {"query": {"range": {"sequence": {"gte": 2**31}}}},
        {"query": {"bool": {"should": []}}},
        {"size": 10_001},
        {"from": 3},
        {"script_fields": {}},
        {"sort": [{"text": {"order": "asc"}}]},
        {"aggs": {"a": {"significant_terms": {"field": "ref"}}}},
        {"aggs": {"a": {"terms": {"field": "terms", "size": 3}}}},
    ],
)
def test_what_we_never_ask_is_no_question(
    client: OpenSearchClient, collection: FakeCollection, body: dict[str, Any]
) -> None:
    content = httpx.Request("POST", ENDPOINT, json=body).content
    headers = {"content-type": "application/json"}
    assert ask(collection, "POST", f"/{INDEX}/_search", content, **headers).status_code == 400


@pytest.mark.parametrize(
    "content",
    [
        b'{"index":{"_id":"a"}}\n{"doc":"row"}',
        b'{"update":{"_id":"a"}}\n{"doc":"row"}\n',
        b'{"index":{"_id":"a","if_seq_no":1}}\n{"doc":"row"}\n',
        b'{"index":{"_id":"' + b"a" * 513 + b'"}}\n{"doc":"row"}\n',
    ],
)
def test_a_malformed_bulk_is_refused(
    client: OpenSearchClient, collection: FakeCollection, content: bytes
) -> None:
    headers = {"content-type": "application/x-ndjson"}
    assert ask(collection, "POST", f"/{INDEX}/_bulk", content, **headers).status_code == 400


@pytest.mark.parametrize(
    "source",
    [
        {"doc": 1},
        {"sequence": 2**31},
        {"sequence": True},
        {"taint": "yes"},
        {"text": "\ud800"},
        {"at": 1.5},
        {"more": "x"},
    ],
)
def test_a_document_must_fit_the_mapping(client: OpenSearchClient, source: dict[str, Any]) -> None:
    assert [each.status for each in client.write(INDEX, [DocumentWrite("a", source)])] == [400]


@pytest.mark.parametrize("lacks", ["authorization", "x-amz-content-sha256"])
def test_an_unsigned_request_is_forbidden(
    client: OpenSearchClient, collection: FakeCollection, lacks: str
) -> None:
    request = httpx.Request("GET", f"{ENDPOINT}/{INDEX}/_mapping")
    request.headers.update(sign_opensearch_request(request, b"", signer("eu-central-1"), NOW))
    assert collection.handle_request(request).status_code == 200
    del request.headers[lacks]
    assert collection.handle_request(request).status_code == 403


def test_a_signature_over_another_body_is_forbidden(collection: FakeCollection) -> None:
    request = httpx.Request("PUT", f"{ENDPOINT}/{INDEX}", content=b"{}")
    request.headers.update(sign_opensearch_request(request, b"[]", signer("eu-central-1"), NOW))
    assert collection.handle_request(request).status_code == 403


def test_writing_into_no_index_makes_one_that_nobody_described(
    collection: FakeCollection, clock: FakeClock
) -> None:
    client = client_of(collection, clock)
    client.write(INDEX, [DocumentWrite("a", {"anything": "goes"})])
    assert client.about(INDEX) == {}
    clock.advance(timedelta(minutes=1).total_seconds())
    assert collection.indexes() == (INDEX,)
