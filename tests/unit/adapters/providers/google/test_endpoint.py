"""Gemini's wire as a whole: where it sends what, and every recorded exchange read."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from opencrab.adapters.providers.catalogue.connection import BASE_URLS
from opencrab.adapters.providers.google.endpoint import GoogleWire
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import CallReturn, ChatMessage, ChatRequest, ModelInfo
from tests.unit.adapters.providers.recorded import PARTY, Exchange, exchanges, read, sequences

WIRE = GoogleWire()
INFO = ModelInfo(name="google:gemini-3.1-pro-preview")
SPOKEN = ("generate", "stream", "batchembed")


def test_the_key_is_in_a_header_and_in_no_address() -> None:
    endpoint = Endpoint(
        "google",
        BASE_URLS["google"],
        "geheim",
        extra_headers={"x-crab": "1", "x-goog-api-key": "?"},
    )
    headers = WIRE.headers(endpoint)
    assert headers["x-goog-api-key"] == "geheim"
    assert headers["x-crab"] == "1"
    paths = [
        WIRE.chat_path("m", stream=True),
        WIRE.chat_path("m", stream=False),
        WIRE.models_path(),
        WIRE.embeddings_path("m"),
    ]
    assert not any("geheim" in str(path) or "key" in str(path) for path in paths)
    assert "x-goog-api-key" not in WIRE.headers(Endpoint("google", BASE_URLS["google"]))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gemini-2.5-flash", "/models/gemini-2.5-flash:generateContent"),
        ("models/gemini-2.5-flash", "/models/gemini-2.5-flash:generateContent"),
        ("../蟹?a=b", "/models/..%2F%E8%9F%B9%3Fa%3Db:generateContent"),
    ],
)
def test_a_model_cannot_lead_to_another_address(model: str, expected: str) -> None:
    assert WIRE.chat_path(model, stream=False) == expected


def test_a_stream_is_asked_for_in_the_address() -> None:
    path = WIRE.chat_path("gemini-2.5-flash", stream=True)
    assert path == "/models/gemini-2.5-flash:streamGenerateContent?alt=sse"


def test_models_are_listed_as_they_are_asked_for() -> None:
    body = {
        "models": [{"name": "models/a"}, {"name": "tuned"}, {"name": 5}, None, {"name": "models/a"}]
    }
    assert WIRE.models_from_wire(body) == ("a", "tuned")
    assert WIRE.models_from_wire([]) == ()


def test_texts_become_vectors(wire: Path) -> None:
    texts = ("蟹", "crab", "")
    body = WIRE.embeddings_to_wire("gemini-embedding-001", texts)
    path = wire / "specs" / "google" / "generativelanguage.schema.json"
    spec = json.loads(path.read_text(encoding="utf-8"))
    schema = {"$ref": "#/$defs/BatchEmbedContentsRequest", "$defs": spec["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(body)
    assert len(body["requests"]) == 3
    answer = {"embeddings": [{"values": [0.1, n]} for n in range(3)]}
    found = WIRE.embeddings_from_wire(answer, texts, PARTY)
    assert found.vectors == ((0.1, 0.0), (0.1, 1.0), (0.1, 2.0))
    assert found.model == PARTY.model


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"embeddings": [{"values": [1]}]}, Fault.NONSENSE),
        ({"embeddings": [{"values": [1]}, {"values": ["x"]}]}, Fault.NONSENSE),
        ({"embeddings": [{"values": [1]}, None]}, Fault.NONSENSE),
        ([], Fault.NONSENSE),
        ({"error": {"code": 429}}, Fault.RATE_LIMITED),
    ],
)
def test_what_is_not_a_vector_for_each_text_is_unanswered(body: Any, fault: Fault) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        WIRE.embeddings_from_wire(body, ("a", "b"), PARTY)
    assert caught.value.fault is fault


FAULTS = {
    "err:INVALID_ARGUMENT/400": Fault.AUTH,
    "err:PERMISSION_DENIED/403": Fault.AUTH,
    "err:NOT_FOUND/404": Fault.MODEL_GONE,
    "err:RESOURCE_EXHAUSTED/429": Fault.RATE_LIMITED,
}


def _candidates(exchange: Exchange) -> list[dict[str, Any]]:
    """Every candidate of an answer, in one piece or in chunks, read without our own code."""
    text = exchange.body.decode()
    if text.startswith("data:"):
        lines = (line for line in text.splitlines() if line.startswith("data:"))
        bodies = [json.loads(line.removeprefix("data:")) for line in lines]
    else:
        loaded = json.loads(text)
        bodies = loaded if isinstance(loaded, list) else [loaded]
    return [body["candidates"][0] for body in bodies if body.get("candidates")]


def test_every_recorded_answer_is_read(wire: Path) -> None:
    recorded = exchanges(wire, "google", *SPOKEN)
    answers = [_read(exchange) for exchange in recorded if not exchange.is_error]
    assert len(answers) > 30
    assert sum(bool(answer.calls) for answer in answers) >= 12
    assert sum(bool(answer.usage.cached_tokens) for answer in answers) >= 4


def test_every_recorded_error_is_read(wire: Path) -> None:
    for exchange in exchanges(wire, "google", *SPOKEN):
        if exchange.is_error:
            (fault,) = (FAULTS[feature] for feature in exchange.features if feature in FAULTS)
            assert WIRE.failure(exchange.reply, PARTY).fault is fault, exchange.name


def _read(exchange: Exchange) -> ModelAnswer:
    """The answer, checked against what was recorded."""
    answer = read(WIRE, exchange)
    candidates = _candidates(exchange)
    parts = [part for each in candidates for part in each.get("content", {}).get("parts", [])]
    words = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    called = [part["functionCall"] for part in parts if "functionCall" in part]
    assert answer.text == ("" if called else words.strip()), exchange.name
    assert [(call.name, call.arguments) for call in answer.calls] == [
        (call["name"], call.get("args", {})) for call in called
    ]
    assert answer.finish in {"STOP", "MAX_TOKENS"}
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0
    return answer


def test_the_longest_wait_that_was_recorded_is_obeyed(wire: Path) -> None:
    (limited,) = (e for e in exchanges(wire, "google", "generate") if e.status == 429)
    assert WIRE.failure(limited.reply, PARTY).retry_after_seconds == 48


@pytest.mark.parametrize("index", [0, 1])
def test_a_recorded_conversation_goes_on_with_what_google_signed(wire: Path, index: int) -> None:
    """What we would send next holds the calls and signatures that another client sent then."""
    conversation = sorted(sequences(wire, "google").items())[index][1]
    model = conversation[0].url.rpartition("/")[2].partition(":")[0]
    party = ErrorParty("google", model)
    turns: list[ChatMessage | CallReturn] = [ChatMessage("user", "天気は？")]
    for exchange, following in pairwise(conversation):
        answer = ModelAnswer.model_validate_json(read(WIRE, exchange, party).model_dump_json())
        turns += _remembered(answer)
        request = ChatRequest(model, (), "", tuple(turns), 100)
        sent = WIRE.to_wire(request, INFO, stream=False)["contents"]
        for ours, theirs in zip(_called(sent), _called(following.asked["contents"]), strict=True):
            assert ours["functionCall"]["args"] == theirs["functionCall"]["args"]
            assert ours.get("thoughtSignature") == theirs.get("thoughtSignature")


def _remembered(answer: ModelAnswer) -> list[ChatMessage | CallReturn]:
    said = ChatMessage("assistant", answer.text, calls=answer.calls, replay=answer.replay)
    came = [CallReturn(call.id, call.name, "晴れ") for call in answer.calls]
    return [said, *came] if came else [said, ChatMessage("user", "次は？")]


def _called(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [part for each in contents for part in each["parts"] if "functionCall" in part]
