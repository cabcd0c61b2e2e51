"""OpenAI's wire and Azure's: where requests go, how they are let in, and which models there are."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.openai.endpoint import AzureWire, OpenAIWire
from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.wire import Endpoint, Wire
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import CallReturn, ChatMessage, ChatRequest, ModelInfo
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.openai_cases import asked, asking
from tests.unit.adapters.providers.recorded import Exchange, exchanges, sequences
from tests.unit.adapters.providers.stub import completion

KEY = "sk-proj-crab0123456789"
ENDPOINT = Endpoint(
    "蟹屋", "https://example.com/v1", KEY, "CRAB_API_KEY", {"OpenAI-Organization": "org-sea"}
)
HELLO = json.dumps(completion({"content": "やあ"})).encode()


def _model(transport: Replying, wire: Wire, *, stream: bool = False) -> VendorModel:
    info = ModelInfo(name="蟹屋:crab-1")
    return VendorModel(wire, ENDPOINT, "crab-1", info, transport, stream=stream)


def _chat(model: VendorModel, request: ChatRequest) -> ModelAnswer:
    return model.chat(request, model.encode(request))


def test_a_request_goes_to_the_completions_of_its_server_with_its_key() -> None:
    transport = Replying(HELLO)
    assert _chat(_model(transport, OpenAIWire()), asking()).text == "やあ"
    (sent,) = transport.sent
    assert sent.url == "https://example.com/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["openai-organization"] == "org-sea"


def test_a_server_without_a_key_is_sent_none() -> None:
    endpoint = Endpoint("llamacpp", "http://127.0.0.1:8080/v1")
    assert OpenAIWire().headers(endpoint) == {}
    assert AzureWire().headers(endpoint) == {}


def test_azure_is_let_in_by_a_header_of_its_own() -> None:
    transport = Replying(HELLO)
    _chat(_model(transport, AzureWire()), asking())
    (sent,) = transport.sent
    assert sent.headers["api-key"] == KEY
    assert "authorization" not in sent.headers
    assert sent.url == "https://example.com/v1/chat/completions"


def test_an_older_azure_wants_its_version_in_the_address() -> None:
    wire = AzureWire("2024-10-21")
    assert wire.chat_path("crab-1", stream=True) == "/chat/completions?api-version=2024-10-21"
    assert wire.embeddings_path("vec-1") == "/embeddings?api-version=2024-10-21"
    assert wire.models_path() == "/models?api-version=2024-10-21"


@pytest.mark.parametrize("status", [200, 400, 401, 404, 429, 500])
@pytest.mark.parametrize("stream", [True, False])
def test_the_key_is_in_no_error_even_if_the_server_quotes_it(
    status: int, stream: bool  # noqa: FBT001
) -> None:  # fmt: skip
    body = json.dumps({"error": {"message": f"{KEY} は使えません"}}).encode()
    frame = b"data: " + body + b"\n\n"
    transport = Replying(frame if stream and status == 200 else body, status)
    with pytest.raises(ModelCallFailed, match=r"\*\*\* は使えません") as caught:
        _chat(_model(transport, OpenAIWire(), stream=stream), asking())
    assert KEY not in repr(caught.value.__dict__)


@pytest.mark.parametrize("provider", ["openai", "llamacpp"])
def test_recorded_lists_of_models_are_read(wire: Path, provider: str) -> None:
    (exchange,) = exchanges(wire, provider, "models")
    models = OpenAIWire().models_from_wire(exchange.answered)
    assert list(models) == [entry["id"] for entry in exchange.answered["data"]]


@pytest.mark.parametrize(
    ("body", "models"),
    [
        ({"data": [{"id": "a"}, {"id": "a"}, {"id": None}, {}, 3, {"id": "蟹"}]}, ("a", "蟹")),
        ([{"id": "a"}], ("a",)), ({"data": {}}, ()), (None, ()), ({}, ()), ("a", ()),
    ],
)  # fmt: skip
def test_any_list_of_models_is_read_as_far_as_it_makes_sense(
    body: Any, models: tuple[str, ...]
) -> None:
    assert OpenAIWire().models_from_wire(body) == models


@pytest.mark.parametrize("provider", ["openai", "deepseek"])
def test_recorded_action_loops_go_on_with_what_they_answered(wire: Path, provider: str) -> None:
    loops = 0
    for name, exchanged in sequences(wire, provider).items():
        steps = [each for each in exchanged if "/chat/completions" in each.url]
        for step, following in pairwise(steps):
            answer = _replied(step)
            if answer.calls and not following.is_error:
                _check_continued(answer, asked(following.asked), name)
                loops += 1
    assert loops


def _replied(exchange: Exchange) -> ModelAnswer:
    transport = Replying(exchange.body, exchange.status, headers=exchange.headers)
    model = _model(transport, OpenAIWire(), stream=exchange.is_stream)
    return _chat(model, asked(exchange.asked))


def _check_continued(answer: ModelAnswer, request: ChatRequest, name: str) -> None:
    """The next request of a loop holds the calls that we read, and says the same in our words."""
    said = [turn for turn in request.turns if isinstance(turn, ChatMessage) and turn.calls][-1]
    assert [(call.name, call.arguments) for call in said.calls] == [
        (call.name, call.arguments) for call in answer.calls
    ], name
    results = tuple(CallReturn(call.id, call.name, "晴れ") for call in answer.calls)
    ours = asking(ChatMessage("assistant", answer.text, calls=answer.calls), *results)
    body = OpenAIWire().to_wire(ours, ModelInfo(name="x"), stream=True)
    _, called, *returned = body["messages"]
    ids = [entry["id"] for entry in called["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in returned], name


def test_an_overload_in_mid_stream_is_no_half_answer() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "途中"}}]}
    error = {"error": {"message": "overloaded", "type": "server_error"}}
    frames = [f"data: {json.dumps(each)}\n\n".encode() for each in (chunk, error)]
    with pytest.raises(ModelCallFailed) as caught:
        _chat(_model(Replying(chunks=frames), OpenAIWire(), stream=True), asking())
    assert caught.value.fault is Fault.OVERLOADED
    assert caught.value.may_be_billed
