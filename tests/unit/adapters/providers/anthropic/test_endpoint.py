"""Anthropic as a whole: everything recorded is read, and no stream is ever read by half."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from opencrab import settings
from opencrab.adapters.providers.anthropic.endpoint import VERSION, AnthropicWire
from opencrab.adapters.providers.catalogue.connection import BASE_URLS
from opencrab.adapters.providers.transport.exchange import (
    IsStopped,
    OpenReply,
    Reply,
    provider_exchange_never_stopped,
)
from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
)
from tests.unit.adapters.providers.recorded import (
    PARTY,
    Exchange,
    exchanges,
    read,
    read_stream,
    sequences,
)

WIRE = AnthropicWire()
HIDDEN_TOKENS = int(settings.load_settings({}, {}).pricing["vendors"]["anthropic"]["hidden_tokens"])
ENDPOINT = Endpoint("anthropic", BASE_URLS["anthropic"], "sk-ant-canary", "ANTHROPIC_API_KEY")
HELLO = ChatRequest("m", (), "", (ChatMessage("user", "やあ"),), 100)
FAULTS = {400: Fault.BAD_REQUEST, 401: Fault.AUTH, 404: Fault.MODEL_GONE}
JAPANESE: list[tuple[str, dict[str, Any]]] = [
    ("message_start", {"message": {"model": "claude-opus-4-6", "usage": {"input_tokens": 9}}}),
    ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
    ("ping", {}),
    ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "日記を"}}),
    ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "書く🦀。"}}),
    ("content_block_stop", {"index": 0}),
    (
        "content_block_start",
        {"index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "ws_write"}},
    ),
    *(
        (
            "content_block_delta",
            {"index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}},
        )
        for piece in ("", '{"path": "日記', '.md", "text": "晴れ"}')
    ),
    ("content_block_stop", {"index": 1}),
    ("message_delta", {"delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 21}}),
    ("message_stop", {}),
]


@dataclass
class Streaming:
    """A Transport whose reply comes in these chunks, and then ends."""

    chunks: list[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        return Reply(self.status, b"".join(self.chunks), self.headers)

    @contextmanager
    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> Iterator[OpenReply]:
        yield OpenReply(self.status, self.headers, iter(self.chunks))


def _stream(events: list[tuple[str, dict[str, Any]]]) -> bytes:
    """The events as Anthropic sends them, with its spaces behind the JSON."""
    frames = (
        f"event: {name}\ndata: {json.dumps({'type': name, **data}, ensure_ascii=False)}   \n\n"
        for name, data in events
    )
    return "".join(frames).encode()


def _chat(*chunks: bytes) -> ModelAnswer:
    info = ModelInfo(name="anthropic:claude-opus-4.6")
    model = VendorModel(WIRE, ENDPOINT, "claude-opus-4.6", info, Streaming(list(chunks)))
    return model.chat(HELLO, model.encode(HELLO)).replaced(first_token_ms=None)


def _told(exchange: Exchange) -> list[dict[str, Any]]:
    """The blocks of a recorded answer, put together in another way than ours."""
    if not exchange.is_stream:
        content: list[dict[str, Any]] = exchange.answered["content"]
        return content
    blocks: dict[int, dict[str, Any]] = {}
    for line in exchange.body.decode().splitlines():
        event = json.loads(line[5:]) if line.startswith("data:") else {}
        if event.get("type") == "content_block_start":
            blocks[event["index"]] = {**event["content_block"], "input": ""}
        delta = event.get("delta") or {}
        if "partial_json" in delta:
            blocks[event["index"]]["input"] += delta["partial_json"]
        for name in ("text", "thinking"):
            if name in delta:
                blocks[event["index"]][name] += delta[name]
    for block in blocks.values():
        block["input"] = json.loads(block["input"] or "{}")
    return list(blocks.values())


def _same(answer: ModelAnswer, blocks: list[dict[str, Any]]) -> None:
    text = "".join(block["text"] for block in blocks if block["type"] == "text").strip()
    uses = [block for block in blocks if block["type"] == "tool_use"]
    thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking"]
    intent = answer.thought.intent if answer.thought else ""
    judgment = answer.thought.judgment if answer.thought else ""
    assert (intent if uses else answer.text) == text
    assert [call.name for call in answer.calls] == [use["name"] for use in uses]
    whole = answer.calls[:-1] if answer.finish == "max_tokens" else answer.calls
    assert [call.arguments for call in whole] == [use["input"] for use in uses[: len(whole)]]
    assert judgment == "\n".join(filter(None, thoughts)).strip()


def test_every_recorded_exchange_is_read(wire: Path) -> None:
    found = exchanges(wire, "anthropic", "messages")
    assert len(found) >= 35
    for exchange in found:
        if exchange.is_error:
            with pytest.raises(ModelCallFailed) as caught:
                read(WIRE, exchange)
            assert caught.value.fault is FAULTS[exchange.status], exchange.name
            continue
        answer = read(WIRE, exchange)
        _same(answer, _told(exchange))
        assert answer.finish in {feature.removeprefix("fin:") for feature in exchange.features}
        assert answer.usage.input_tokens > 0, exchange.name
        assert answer.usage.output_tokens > 0, exchange.name
        assert bool(answer.usage.cached_tokens) is ("cachehit" in exchange.features), exchange.name
        assert answer.model


def test_every_recorded_conversation_is_read_and_its_thoughts_go_out_again(wire: Path) -> None:
    thoughts = 0
    for conversation in sequences(wire, "anthropic").values():
        for exchange in conversation:
            model = exchange.asked["model"]
            answer = _answered(exchange, replace(PARTY, model=model))
            assert answer.text or answer.calls
            if answer.replay is not None:
                signed = _signed(answer.replay["blocks"])
                assert signed == _signed(exchange.answered["content"])
                assert signed == _signed(_going_on(answer, model)["messages"][1]["content"])
                thoughts += len(signed)
    assert thoughts


def _answered(exchange: Exchange, party: ErrorParty) -> ModelAnswer:
    if exchange.body.startswith(b"event:"):
        return read_stream(WIRE, [exchange.body], party)
    return WIRE.from_wire(exchange.answered, party)


def _signed(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for block in blocks if block["type"] == "thinking"]


def _going_on(answer: ModelAnswer, model: str) -> dict[str, Any]:
    """The request after an answer, when its calls have their results."""
    turns: tuple[ChatMessage | CallReturn, ...] = (
        ChatMessage("user", "go"),
        ChatMessage("assistant", answer.text, calls=answer.calls, replay=answer.replay),
        *(CallReturn(call.id, call.name, "ok") for call in answer.calls),
        ChatMessage("user", "12:00"),
    )
    actions = (ActionSchema(name="now", description="", parameters={}),)
    request = replace(HELLO, model=model, actions=actions, turns=turns)
    return WIRE.to_wire(request, ModelInfo(name=f"anthropic:{model}"), stream=False)


@pytest.mark.parametrize(
    ("name", "text", "calls"),
    [
        ("basic_response", "Hello there!", []),
        ("tool_use_response", "", [("get_weather", {"location": "Paris"})]),
    ],
)
def test_streams_of_the_vendors_own_library_are_read(
    wire: Path, name: str, text: str, calls: list[Any]
) -> None:
    path = wire / "cassettes" / "vendor-fixtures" / "anthropic-sdk" / f"{name}.txt"
    answer = _chat(path.read_bytes().rstrip() + b"\n\n")
    assert answer.text == text
    assert [(call.name, call.arguments) for call in answer.calls] == calls


def test_a_refusal_of_the_vendors_own_library_is_blocked(wire: Path) -> None:
    path = wire / "cassettes" / "vendor-fixtures" / "anthropic-sdk" / "refusal_response.txt"
    with pytest.raises(ModelCallFailed, match="refused due to policy") as caught:
        _chat(path.read_bytes().rstrip() + b"\n\n")
    assert caught.value.fault is Fault.BLOCKED
    assert caught.value.usage is not None
    assert caught.value.usage.input_tokens == 20


def test_llama_cpp_is_read_and_its_cut_call_is_not_taken_for_whole(wire: Path) -> None:
    path = wire / "cassettes" / "llamacpp" / "anthropic-tool.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))["response"]["body"]
    answer = WIRE.from_wire(json.loads(recorded), PARTY)
    assert answer.calls[0].arguments == {"city": "Osaka", "days": 1}
    assert answer.calls[-1].arguments is None
    assert answer.finish == "max_tokens"
    assert (answer.usage.input_tokens, answer.usage.cached_tokens) == (489, 345)


def _chat_or_fault(body: bytes) -> ModelAnswer | Fault:
    try:
        return _chat(body)
    except ModelCallFailed as error:
        return error.fault


def test_a_stream_cut_at_any_byte_is_never_read_by_half(wire: Path) -> None:
    streams = [each for each in exchanges(wire, "anthropic", "messages") if each.is_stream]
    shortest = sorted(streams, key=lambda each: len(each.body))[:2]
    for body in (_stream(JAPANESE), *(each.body for each in shortest)):
        whole = _chat(body)
        stopped = body.index(b"message_delta")
        found = [_chat_or_fault(body[:end]) for end in range(len(body))]
        assert set(found[:stopped]) == {Fault.BROKEN_OFF}
        assert all(each in (Fault.BROKEN_OFF, whole) for each in found)
        assert _chat(body) == whole


def test_a_japanese_stream_is_the_same_in_chunks_of_any_size() -> None:
    body = _stream(JAPANESE)
    whole = _chat(body)
    assert whole.thought is not None
    assert whole.thought.intent == "日記を書く🦀。"
    assert whole.calls[0].arguments == {"path": "日記.md", "text": "晴れ"}
    assert (whole.usage.input_tokens, whole.usage.output_tokens) == (9, 21)
    for size in (1, 2, 3, 7, 64):
        assert _chat(*(body[at : at + size] for at in range(0, len(body), size))) == whole
    for at in range(0, len(body), 5):
        assert _chat(body[:at], body[at:]) == whole


def test_the_same_answer_in_one_piece_and_as_a_stream_is_the_same() -> None:
    content = [
        {"type": "text", "text": "日記を書く🦀。"},
        {"type": "tool_use", "id": "toolu_1", "name": "ws_write",
         "input": {"path": "日記.md", "text": "晴れ"}},
    ]  # fmt: skip
    usage = {"input_tokens": 9, "output_tokens": 21}
    body = {"model": "claude-opus-4-6", "content": content, "stop_reason": "tool_use"}
    assert WIRE.from_wire({**body, "usage": usage}, PARTY) == _chat(_stream(JAPANESE))


@pytest.mark.parametrize(
    ("base_url", "root"),
    [
        ("https://api.anthropic.com", "/v1"),
        ("https://api.anthropic.com/v1", ""),
        ("http://127.0.0.1:8080/v1/", ""),
        ("https://gateway.example/anthropic", "/v1"),
    ],
)
def test_a_base_url_may_name_the_version_or_leave_it_out(base_url: str, root: str) -> None:
    wire = AnthropicWire(base_url)
    assert wire.chat_path("claude-opus-4.6", stream=True) == f"{root}/messages"
    assert wire.models_path() == f"{root}/models?limit=1000"


def test_the_version_is_pinned_and_the_key_has_its_own_header() -> None:
    assert VERSION == "2023-06-01"
    headers = WIRE.headers(ENDPOINT)
    assert headers["anthropic-version"] == VERSION
    assert headers["x-api-key"] == "sk-ant-canary"
    assert "authorization" not in headers
    assert "x-api-key" not in WIRE.headers(Endpoint("llamacpp", "http://127.0.0.1:8080"))


def test_recorded_models_are_listed_as_they_are_named(wire: Path) -> None:
    (listed,) = exchanges(wire, "anthropic", "models")
    names = WIRE.models_from_wire(listed.answered)
    assert names[0] == "claude-opus-5"
    assert "claude-opus-4-1-20250805" in names


@pytest.mark.parametrize("body", [None, [], {}, {"data": 3}, {"data": [None, {"id": 5}, "蟹"]}])
def test_a_listing_that_makes_no_sense_lists_nothing(body: Any) -> None:
    assert WIRE.models_from_wire(body) == ()


def test_there_are_no_embeddings() -> None:
    assert WIRE.embeddings_path("claude-opus-4.6") is None
    with pytest.raises(ModelCallFailed, match="no embeddings"):
        WIRE.embeddings_to_wire("claude-opus-4.6", ("蟹",))
    with pytest.raises(ModelCallFailed, match="no embeddings"):
        WIRE.embeddings_from_wire({}, ("蟹",), PARTY)


def test_recorded_requests_never_cost_more_than_their_bytes_and_the_hidden_tokens(
    wire: Path,
) -> None:
    for exchange in exchanges(wire, "anthropic", "messages"):
        own = "web_search" not in exchange.request.decode() and not exchange.is_error
        if own and "code_execution" not in exchange.request.decode():
            tokens = read(WIRE, exchange).usage.input_tokens
            assert tokens <= len(exchange.request) + HIDDEN_TOKENS, exchange.name
