"""A model behind an OpenAI-shaped server: what it sends, and that its key stays with it."""

import json
import traceback
from collections.abc import Mapping
from typing import Any

import pytest

from opencrab.adapters.providers.openai import Endpoint, OpenAIModel
from opencrab.adapters.providers.transport import Reply
from opencrab.domain.errors import Invalid, NeverSent, OpenCrabError, Refused, Unavailable
from opencrab.ports.model import ChatRequest, ModelInfo, Said
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.stub import completion

KEY = "sk-proj-crab0123456789"
ENDPOINT = Endpoint("蟹屋", "https://example.com/v1", KEY, "CRAB_API_KEY", "org-sea")
REQUEST = ChatRequest(
    model="whatever the engine calls it",
    actions=(),
    system="",
    turns=(Said("user", "こんにちは"),),
    max_output_tokens=10,
    timeout_seconds=7.5,
)
HELLO = json.dumps(completion({"content": "やあ"})).encode()


class Failing:
    """A transport on which everything goes wrong, with words of our choice."""

    def __init__(self, error: OpenCrabError) -> None:
        self.error = error

    def send(self, url: str, **_: Any) -> Reply:
        raise self.error


def _chat(transport: Any, endpoint: Endpoint = ENDPOINT) -> Any:
    model = OpenAIModel(endpoint, "crab-1", ModelInfo(name="蟹屋:crab-1"), transport)
    return model.chat(REQUEST, model.encode(REQUEST))


def test_a_request_goes_to_the_completions_of_its_server() -> None:
    transport = Replying(HELLO)
    assert _chat(transport).text == "やあ"
    (sent,) = transport.sent
    assert sent.url == "https://example.com/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["openai-organization"] == "org-sea"
    assert sent.timeout_seconds == REQUEST.timeout_seconds
    assert json.loads(sent.body or b"")["model"] == "crab-1"


def test_a_server_without_a_key_is_sent_none() -> None:
    transport = Replying(HELLO)
    _chat(transport, Endpoint("llamacpp", "http://127.0.0.1:8080/v1"))
    headers: Mapping[str, str] = transport.sent[0].headers
    assert not {"authorization", "openai-organization"} & set(headers)


def test_the_bytes_that_were_reserved_are_those_that_go_out() -> None:
    transport = Replying(HELLO)
    model = OpenAIModel(ENDPOINT, "crab-1", ModelInfo(name="x"), transport)
    model.chat(REQUEST, b"exactly this")
    assert transport.sent[0].body == b"exactly this"


def test_an_answer_that_names_no_model_is_the_one_that_was_asked() -> None:
    body = completion({"content": "やあ"}) | {"model": None}
    assert _chat(Replying(json.dumps(body).encode())).model == "crab-1"


@pytest.mark.parametrize("status", [200, 400, 401, 404, 429, 500])
@pytest.mark.parametrize(
    "quote",
    [
        lambda key: {"error": {"message": f"{key} は使えません"}},
        lambda key: {"error": key},
        lambda key: {"detail": [key]},
        lambda key: f"<html>{key}</html>",
        lambda key: {"choices": [{"message": None, "echo": key}]},
    ],
)
def test_the_key_is_in_no_error_even_if_the_server_quotes_it(status: int, quote: Any) -> None:
    body = json.dumps(quote(KEY), ensure_ascii=False).encode()
    with pytest.raises(OpenCrabError) as caught:
        _chat(Replying(body, status))
    told = "".join(traceback.format_exception(caught.value))
    assert KEY not in told
    assert KEY not in repr(caught.value.__dict__)


@pytest.mark.parametrize("kind", [NeverSent, Unavailable])
def test_an_error_of_the_connection_keeps_its_kind_and_loses_the_key(
    kind: type[OpenCrabError],
) -> None:
    with pytest.raises(kind, match=r"\*\*\*") as caught:
        _chat(Failing(kind(f"proxy said {KEY}")))
    assert type(caught.value) is kind
    assert KEY not in str(caught.value) + caught.value.message


def test_the_key_is_not_in_an_answer_that_quotes_it() -> None:
    body = json.dumps(completion({"content": f"あなたの鍵は{KEY}です"}, model=KEY)).encode()
    answer = _chat(Replying(body))
    assert KEY not in answer.model_dump_json()
    assert answer.text == "あなたの鍵は***です"


def test_a_value_that_shows_itself_hides_its_key() -> None:
    assert KEY not in repr(ENDPOINT)


@pytest.mark.parametrize("key", ["sk-a b", "sk-a\n", "鍵", "“sk-a”", "sk-\x7f", " "])
def test_a_key_that_no_header_can_carry_is_refused_without_quoting_it(key: str) -> None:
    endpoint = Endpoint("蟹屋", "https://example.com/v1", key, "CRAB_API_KEY")
    with pytest.raises(Refused, match="CRAB_API_KEY") as caught:
        OpenAIModel(endpoint, "crab-1", ModelInfo(name="x"), Replying(HELLO))
    assert key.strip() == "" or key not in caught.value.message


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>login</html>", Unavailable), (200, b"", Unavailable),
        (200, b"[]", Unavailable), (200, b'{"error":"dead"}', Unavailable),
        (201, HELLO, Unavailable), (404, b"not found", Invalid), (400, b"{}", Invalid),
        (302, b"", Invalid), (502, "<h1>落ちました</h1>".encode(), Unavailable),
        (500, b"[" * 100_000, Unavailable), (500, b"\xff\xfe\x00", Unavailable),
    ],
)  # fmt: skip
def test_a_server_that_answers_nonsense_is_an_error_of_ours(
    status: int, body: bytes, kind: type[OpenCrabError]
) -> None:
    with pytest.raises(kind) as caught:
        _chat(Replying(body, status))
    assert len(caught.value.message) < 1_000
