"""Ollama's wire as a whole: what it is sent, and every recorded exchange read."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.ollama.endpoint import OllamaWire
from opencrab.adapters.providers.wire.wire import Endpoint
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    Image,
    ModelInfo,
)
from tests.unit.adapters.providers.recorded import PARTY, Exchange, exchanges, read

WIRE = OllamaWire()
INFO = ModelInfo(name="ollama:qwen3", max_input_tokens=8_192, vision=True)
WRITE = ActionSchema(name="ws_write", description="ファイルを書く", parameters={"type": "object"})
CALL = ActionCall(id="c0", name="ws_write", arguments={"path": "日記.md"})
BROKEN = ActionCall(id="c1", name="", arguments=None, raw="{")


@pytest.fixture(scope="session")
def spec(wire: Path) -> dict[str, Any]:
    """What Ollama publishes of its own interface."""
    path = wire / "specs" / "ollama" / "openapi.min.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _validator(spec: dict[str, Any], name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(
        {
            "$ref": f"#/components/schemas/{name}",
            "unevaluatedProperties": False,
            "components": spec["components"],
        }
    )


@pytest.fixture(scope="session")
def chat(spec: dict[str, Any]) -> jsonschema.Draft202012Validator:
    """Judges the body of a chat."""
    return _validator(spec, "ChatRequest")


def _body(
    *turns: ChatMessage | CallReturn, info: ModelInfo = INFO, stream: bool = False, **changes: Any
) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "model": "qwen3",
        "actions": (WRITE,),
        "system": "あなたは蟹です。",
        "turns": turns or (ChatMessage("user", "こんにちは🦀"),),
        "max_output_tokens": 200,
    }
    return WIRE.to_wire(ChatRequest(**{**wanted, **changes}), info, stream=stream)


def test_a_key_is_sent_only_where_there_is_one() -> None:
    assert "authorization" not in WIRE.headers(Endpoint("ollama", "http://localhost:11434"))
    headers = WIRE.headers(Endpoint("ollama", "https://ollama.com", "geheim"))
    assert headers["authorization"] == "Bearer geheim"


@pytest.mark.parametrize("stream", [True, False])
def test_whether_to_stream_is_always_said(*, stream: bool) -> None:
    assert _body(stream=stream)["stream"] is stream
    assert WIRE.chat_path("qwen3", stream=stream) == "/api/chat"


def test_a_conversation_with_everything_fits_the_published_schema(
    chat: jsonschema.Draft202012Validator,
) -> None:
    body = _body(
        ChatMessage("user", "見て", images=(Image("image/png", "iVBORw0KGgo="),)),
        ChatMessage("assistant", "はい", calls=(CALL, BROKEN)),
        CallReturn("c0", "ws_write", '{"ok":true}'),
        temperature=0.2,
        stop=("終", ""),
        require_action=True,
    )
    chat.validate(body)
    assert [message["role"] for message in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    _, user, assistant, result, missing = body["messages"]
    assert user["images"] == ["iVBORw0KGgo="]
    assert assistant["tool_calls"] == [
        {"function": {"name": "ws_write", "arguments": {"path": "日記.md"}}},
        {"function": {"name": "", "arguments": {"unreadable": "{"}}},
    ]
    assert result == {"role": "tool", "tool_name": "ws_write", "content": '{"ok":true}'}
    assert missing == {"role": "tool", "tool_name": "", "content": "no result is known"}
    assert body["options"] == {
        "num_ctx": 8_192,
        "num_predict": 200,
        "temperature": 0.2,
        "stop": ["終"],
    }


def test_the_schema_would_notice_a_field_that_does_not_exist(
    chat: jsonschema.Draft202012Validator,
) -> None:
    assert not chat.is_valid({**_body(), "tool_choice": "required"})


def test_the_whole_window_is_asked_for_since_ollama_cuts_without_a_word() -> None:
    whole = ModelInfo(name="ollama:qwen3", max_input_tokens=8_192, max_total_tokens=40_960)
    assert _body(info=whole)["options"]["num_ctx"] == 40_960


def test_a_model_that_stops_at_no_text_is_named_none() -> None:
    assert "stop" not in _body(info=replace(INFO, stop=False), stop=("終",))["options"]


def test_a_result_that_nobody_asked_for_becomes_words() -> None:
    message = _body(CallReturn("c9", "ws_read", "晴れ"))["messages"][-1]
    assert message == {"role": "user", "content": "[ws_read → 晴れ]"}


def test_what_a_model_cannot_do_is_left_out() -> None:
    plain = ModelInfo(name="ollama:old", functions=False, temperature=False)
    picture = ChatMessage("user", "見て", images=(Image("image/png", "iVBORw0KGgo="),))
    body = _body(picture, info=plain, temperature=0.2)
    assert "tools" not in body
    assert "temperature" not in body["options"]
    assert body["messages"][1] == {"role": "user", "content": "見て"}


def test_all_our_actions_fit_the_published_schema(
    our_actions: tuple[ActionSchema, ...], chat: jsonschema.Draft202012Validator
) -> None:
    body = _body(actions=our_actions)
    chat.validate(body)
    told = [tool["function"]["name"] for tool in body["tools"]]
    assert told == [action.name for action in our_actions]


TEXTS = st.sampled_from(["", "こんにちは", "Hello", "🦀\n"])
TURNS = st.lists(
    st.builds(CallReturn, TEXTS, TEXTS, TEXTS)
    | st.builds(
        ChatMessage,
        st.sampled_from(["user", "assistant"]),
        TEXTS,
        calls=st.lists(st.sampled_from([CALL, BROKEN]), max_size=3).map(tuple),
    ),
    max_size=9,
)


@given(turns=TURNS)
def test_any_conversation_fits_the_published_schema(
    chat: jsonschema.Draft202012Validator, turns: list[ChatMessage | CallReturn]
) -> None:
    body = _body(turns=tuple(turns))
    chat.validate(body)
    assert len(body["messages"]) >= 1 + len(turns)


def test_models_are_listed_by_the_name_that_is_asked_for() -> None:
    body = {"models": [{"name": "a:8b", "model": "a:8b"}, {"name": "b"}, {"model": 5}, None]}
    assert WIRE.models_path() == "/api/tags"
    assert WIRE.models_from_wire(body) == ("a:8b", "b")
    assert WIRE.models_from_wire("蟹") == ()


def test_texts_become_vectors(wire: Path, spec: dict[str, Any]) -> None:
    body = WIRE.embeddings_to_wire("nomic-embed-text", ("蟹", "crab", ""))
    _validator(spec, "EmbedRequest").validate(body)
    assert body["truncate"] is False
    (recorded,) = exchanges(wire, "ollama", "embed")
    found = WIRE.embeddings_from_wire(recorded.answered, ("Hello world",), PARTY)
    assert len(found.vectors[0]) == 768
    assert found.model == "nomic-embed-text"
    assert found.usage.input_tokens == 2


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"embeddings": [[1.0]]}, Fault.NONSENSE),
        ({"embeddings": [[1.0], ["x"]]}, Fault.NONSENSE),
        ({"embeddings": [[1.0], [1.0, 2.0]]}, Fault.NONSENSE),
        ([], Fault.NONSENSE),
        ({"error": "the input length exceeds the context length"}, Fault.TOO_LONG),
    ],
)
def test_what_is_not_a_vector_for_each_text_is_unanswered(body: Any, fault: Fault) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        WIRE.embeddings_from_wire(body, ("a", "b"), PARTY)
    assert caught.value.fault is fault


def test_every_recorded_exchange_is_read(wire: Path) -> None:
    recorded = [_stream_if_lines(exchange) for exchange in exchanges(wire, "ollama", "chat")]
    assert len(recorded) > 5
    for exchange in recorded:
        if exchange.is_error:
            assert WIRE.failure(exchange.reply, PARTY).fault is Fault.MODEL_GONE
            continue
        answer = read(WIRE, exchange)
        assert f"fin:{answer.finish}" in exchange.features
        assert bool(answer.calls) == ("toolcall" in exchange.features)
        assert bool(answer.thought) == ("thinking" in exchange.features)
        assert bool(answer.text) != bool(answer.calls)
        assert answer.usage.input_tokens > 0
        assert answer.usage.output_tokens > 0


def _stream_if_lines(exchange: Exchange) -> Exchange:
    lines = exchange.body.decode().count('"created_at"')
    assert exchange.is_stream == (lines > 1)
    return exchange
