"""A real collection of OpenSearch Serverless: it takes our requests and finds in both languages."""

import secrets
from collections.abc import Iterator
from threading import Event

import pytest

from opencrab.adapters.opensearch.client import OpenSearchClient
from opencrab.adapters.opensearch.connection import (
    OpenSearchBackoff,
    OpenSearchConnection,
    new_opensearch_transport,
)
from opencrab.adapters.opensearch.schema import opensearch_index_name
from opencrab.adapters.opensearch.search import OpenSearch
from opencrab.adapters.opensearch.watermark import SETTLED
from opencrab.adapters.search_rows import Batch
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.aws.search import aws_opensearch_signer
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.ports.memory.search import SearchQuery
from tests.bench.opensearch_system import ToldPast
from tests.opensearch.porter import stem

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

TEXTS = ("蟹はどこにいますか", "市場で見ました", "We were walking along the harbour", "Café 京都")
LONGEST_SECONDS = SETTLED.total_seconds()


def wait(seconds: float) -> None:
    Event().wait(seconds)


def row(number: int, text: str) -> SearchRow:
    return SearchRow(
        session_id="s1",
        sequence=number,
        kind=RowKind.SPEECH,
        hearing=Hearing.SESSION,
        speaker_id="taro",
        speaker="太郎",
        at=SystemClock().now(),
        text=text,
    )


@pytest.fixture
def client(opensearch_endpoint: str) -> OpenSearchClient:
    backoff = OpenSearchBackoff(wait, lambda: 0.5)
    connection = OpenSearchConnection(
        opensearch_endpoint,
        new_opensearch_transport(),
        aws_opensearch_signer,
        SystemClock(),
        backoff,
    )
    return OpenSearchClient(connection)


@pytest.fixture
def agent_id(client: OpenSearchClient, stage: str) -> Iterator[str]:
    """An agent of its own, whose index goes at the end."""
    made = f"live-{secrets.token_hex(4)}"
    yield made
    client.drop(opensearch_index_name(stage, made))


def test_what_was_indexed_is_found_within_two_minutes(
    client: OpenSearchClient, stage: str, agent_id: str
) -> None:
    rows = tuple(row(number, text) for number, text in enumerate(TEXTS, 1))
    past = ToldPast([Batch(rows=rows, session_id="s1", last=len(rows))])
    search = OpenSearch(client, stage, past, SystemClock())
    search.catch_up(agent_id)
    waited = 0.0
    while search.status(agent_id).rows < len(rows) and waited < LONGEST_SECONDS:
        wait(5)
        waited += 5
    assert search.status(agent_id).rows == len(rows)
    # From here on nothing but the collection can tell.
    past = ToldPast([])
    search = OpenSearch(client, stage, past, SystemClock())
    for question, answer in (("蟹", 0), ("who walks", 2), ("cafe", 3)):
        assert search.search(agent_id, SearchQuery(question))[0].row.text == TEXTS[answer]
    neighbour = search.search(agent_id, SearchQuery("蟹はどこ"))[1]
    assert (neighbour.row.text, neighbour.why) == (TEXTS[1], ("neighbour",))


def test_the_server_stems_as_we_do(client: OpenSearchClient, stage: str, agent_id: str) -> None:
    words = "walking generalizations happily oscillators agreed hopping ties 蟹 2024"
    past = ToldPast([Batch(rows=(row(1, words),), session_id="s1", last=1)])
    OpenSearch(client, stage, past, SystemClock()).catch_up(agent_id)
    waited, found = 0.0, set[str]()
    stems = set(map(stem, words.split()))
    while found != stems and waited < LONGEST_SECONDS:
        wait(5)
        waited += 5
        for each in stems:
            answer = client.search(
                opensearch_index_name(stage, agent_id),
                {"size": 1, "query": {"term": {"terms": each}}},
            )
            found.update({each} if answer and answer["hits"]["hits"] else ())
    assert found == stems
