"""Search by another function: what goes over the wire comes back as it was, and so do errors."""

import json
from io import BytesIO
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from opencrab.adapters.lambda_search import LambdaSearch, answer_lambda_search
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.errors import (
    Exhausted,
    Invalid,
    NotFound,
    OpenCrabError,
    Refused,
    TooLarge,
    Unavailable,
)
from opencrab.domain.memory.search_row import RowKind, SearchClearance, SearchRow
from opencrab.domain.text.query import LONGEST_QUESTION
from opencrab.ports.memory.search import MOST_FOUND, IndexStatus, SearchHit, SearchQuery
from tests.contract.example import ENGLISH, JAPANESE, NOW

WHOLE = SearchQuery(
    text=JAPANESE,
    clearance=SearchClearance(session_id="s1", guild_id="g", person_id="taro"),
    limit=7,
    session_id="s1",
    kinds=frozenset({RowKind.SPEECH, RowKind.MEMORY}),
    hearings=frozenset({Hearing.GUILD}),
    speaker="太郎",
    since=NOW,
    until=NOW,
    before=("s1", 3),
)


def found(text: str) -> SearchHit:
    row = SearchRow(
        "s1", 3, RowKind.SPEECH, Hearing.PUBLIC, "taro", "太郎", NOW, text, ref="", taint=True
    )
    return SearchHit(row, 0.25, ("speaker",), f"太郎: {text}", taint=True)


class Answering:
    """A search that notes what it is asked, and answers as it is told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, SearchQuery | None]] = []
        self.found: tuple[SearchHit, ...] = ()
        self.trouble: OpenCrabError | None = None

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        self._note(agent_id, query)
        return self.found

    def apply_erasures(self, agent_id: str) -> None:
        self._note(agent_id)

    def status(self, agent_id: str) -> IndexStatus:
        self._note(agent_id)
        return IndexStatus("sqlite", 3, 4, 1, (("s1", 9),), NOW, 2)

    def _note(self, agent_id: str, query: SearchQuery | None = None) -> None:
        self.asked.append((agent_id, query))
        if self.trouble is not None:
            raise self.trouble


class Client:
    """Lambda, with one function in this process."""

    def __init__(self, search: Answering) -> None:
        self.search = search
        self.answer: Any = None
        self.more: dict[str, Any] = {}
        self.error: Exception | None = None

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert FunctionName == "opencrab-dev-search"
        if self.error is not None:
            raise self.error
        told = self.answer
        if told is None:
            told = json.dumps(answer_lambda_search(self.search, json.loads(Payload))).encode()
        return {"StatusCode": 200, "Payload": BytesIO(told), **self.more}


@pytest.fixture
def client() -> Client:
    return Client(Answering())


@pytest.fixture
def search(client: Client) -> LambdaSearch:
    return LambdaSearch(client, "opencrab-dev-search")


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_a_question_and_its_answer_arrive_as_they_were(
    client: Client, search: LambdaSearch, text: str
) -> None:
    client.search.found = (found(text), found(f"{text}。"))
    assert search.search("mika", WHOLE) == client.search.found
    assert client.search.asked == [("mika", WHOLE)]


def test_a_plain_question_arrives_as_it_was(client: Client, search: LambdaSearch) -> None:
    assert search.search("mika", SearchQuery("蟹")) == ()
    assert client.search.asked == [("mika", SearchQuery("蟹"))]


def test_how_the_index_stands_is_told(client: Client, search: LambdaSearch) -> None:
    assert search.status("mika") == client.search.status("mika")


def test_to_forget_is_passed_on(client: Client, search: LambdaSearch) -> None:
    search.apply_erasures("mika")
    assert client.search.asked == [("mika", None)]


@pytest.mark.parametrize("kind", [Refused, NotFound, Invalid, TooLarge, Unavailable, Exhausted])
def test_an_error_comes_back_as_the_same_one(
    client: Client, search: LambdaSearch, kind: type[OpenCrabError]
) -> None:
    client.search.trouble = kind("蟹が見つかりません", field="query", cure="look elsewhere")
    with pytest.raises(kind) as caught:
        search.search("mika", WHOLE)
    assert type(caught.value) is kind
    told = (caught.value.message, caught.value.field, caught.value.cure)
    assert told == ("蟹が見つかりません", "query", "look elsewhere")


@pytest.mark.parametrize(
    "text", ["\ud800蟹", "a\x00b", "蟹" * 100_000, "", '"* NEAR( -x agent_id:', "🦀" * 5_000]
)
def test_any_words_can_be_sent_and_only_what_is_read_of_them(
    client: Client, search: LambdaSearch, text: str
) -> None:
    search.search("mika", SearchQuery(text, limit=10_000, speaker=text))
    ((_, query),) = client.search.asked
    assert query is not None
    assert len(query.text) <= LONGEST_QUESTION
    assert query.limit == MOST_FOUND
    query.text.encode()


@pytest.mark.parametrize("agent_id", ["../x", "a" * 500, "", "\ud800", "蟹/蟹"])
def test_an_id_that_is_none_is_refused_there(
    client: Client, search: LambdaSearch, agent_id: str
) -> None:
    with pytest.raises(Invalid):
        search.search(agent_id, WHOLE)
    assert client.search.asked == []


def test_more_than_lambda_carries_is_left_out_from_the_worst_on() -> None:
    search = Answering()
    search.found = tuple(found(f"{number}{JAPANESE}") for number in range(20))
    question = {"v": 1, "ask": "search", "agent": "mika", "query": {"text": JAPANESE}}
    told = answer_lambda_search(search, question, at_most=3_000)["found"]
    assert 0 < len(told) < 20
    assert len(json.dumps(told)) < 3_500
    assert [each["row"]["text"] for each in told] == [
        each.row.text for each in search.found[: len(told)]
    ]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"null",
        b"[]",
        b'{"v": 2, "found": []}',
        b'{"v": 1}',
        b'{"v": 1, "found": [{"row": 3}]}',
        b'{"v": 1, "error": {"code": "from the future", "message": "?"}}',
        b'{"v": 1, "error": "?"}',
    ],
)
def test_an_answer_that_nobody_understands_may_pass(
    client: Client, search: LambdaSearch, answer: bytes
) -> None:
    client.answer = answer
    with pytest.raises(Unavailable):
        search.search("mika", WHOLE)


def test_a_function_that_failed_may_work_again(client: Client, search: LambdaSearch) -> None:
    client.answer, client.more = b'{"errorMessage": "boom"}', {"FunctionError": "Unhandled"}
    with pytest.raises(Unavailable, match="opencrab-dev-search"):
        search.search("mika", WHOLE)


REFUSAL: Any = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (ClientError(REFUSAL, "Invoke"), "lambda:InvokeFunction"),
        (ReadTimeoutError(endpoint_url="x"), "try again"),
    ],
    ids=["forbidden", "silent"],
)
def test_a_function_that_cannot_be_reached_is_unavailable(
    client: Client, search: LambdaSearch, error: Exception, cure: str
) -> None:
    client.error = error
    with pytest.raises(Unavailable) as caught:
        search.search("mika", WHOLE)
    assert cure in str(caught.value.cure)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ({}, "unavailable"),
        ({"v": 2, "ask": "search"}, "unavailable"),
        ({"v": 1, "ask": "search", "agent": "mika"}, "invalid"),
        ({"v": 1, "ask": "search", "agent": "mika", "query": {"text": 3}}, "invalid"),
        ({"v": 1, "ask": "search", "agent": 3, "query": {"text": "x"}}, "invalid"),
        ({"v": 1, "ask": "dance", "agent": "mika"}, "invalid"),
    ],
)
def test_a_question_that_nobody_understands_is_answered(
    question: dict[str, Any], code: str
) -> None:
    assert answer_lambda_search(Answering(), question)["error"]["code"] == code
