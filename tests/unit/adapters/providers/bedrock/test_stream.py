"""Streams of Converse: the same answer as in one piece, and errors in the middle of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.bedrock.endpoint import BedrockWire
from opencrab.adapters.providers.bedrock.stream import BedrockAssembly
from opencrab.adapters.providers.wire.framing import wire_stream_frames
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer
from tests.unit.adapters.providers.event_stream import event_stream
from tests.unit.adapters.providers.recorded import PARTY, exchanges, read_stream

WIRE = BedrockWire()
START = ("messageStart", {"role": "assistant"})
METADATA = ("metadata", {"usage": {"inputTokens": 9, "outputTokens": 4, "totalTokens": 13}})


def _delta(index: int, **delta: Any) -> tuple[str, Any]:
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": delta}


def _stop(reason: str = "end_turn") -> tuple[str, Any]:
    return "messageStop", {"stopReason": reason}


def _answer(*events: tuple[str, Any]) -> ModelAnswer:
    return read_stream(WIRE, [event_stream(START, *events)])


def test_pieces_are_put_together_by_block() -> None:
    named = {"toolUseId": "tooluse_1", "name": "ws_write"}
    answer = _answer(
        _delta(0, reasoningContent={"text": "書"}),
        _delta(0, reasoningContent={"text": "こう"}),
        _delta(0, reasoningContent={"signature": "s1"}),
        _delta(1, text="書き"),
        _delta(1, text="ます"),
        ("contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": named}}),
        _delta(2, toolUse={"input": '{"path": "蟹'}),
        _delta(2, toolUse={"input": '🦀.md"}'}),
        ("contentBlockStop", {"contentBlockIndex": 2}),
        _stop("tool_use"),
        METADATA,
    )
    assert answer.thought is not None
    assert (answer.thought.judgment, answer.thought.intent) == ("書こう", "書きます")
    assert [(call.name, call.arguments) for call in answer.calls] == [
        ("ws_write", {"path": "蟹🦀.md"})
    ]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (9, 4)


def test_arguments_that_the_limit_cut_are_unread() -> None:
    start = {"contentBlockIndex": 0, "start": {"toolUse": {"name": "ws_write"}}}
    cut = _delta(0, toolUse={"input": '{"path": "蟹'})
    (call,) = _answer(("contentBlockStart", start), cut, _stop("max_tokens")).calls
    assert (call.arguments, call.raw) == (None, '{"path": "蟹')


@pytest.mark.parametrize("reason", ["guardrail_intervened", "content_filtered"])
def test_a_stream_that_was_withheld_is_blocked(reason: str) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        _answer(_delta(0, text="申し訳"), _stop(reason), METADATA)
    assert caught.value.fault is Fault.BLOCKED
    assert caught.value.usage is not None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("throttlingException", Fault.RATE_LIMITED),
        ("serviceUnavailableException", Fault.OVERLOADED),
        ("internalServerException", Fault.SERVER_ERROR),
        ("modelStreamErrorException", Fault.SERVER_ERROR),
        ("validationException", Fault.BAD_REQUEST),
        ("somethingNewException", Fault.SERVER_ERROR),
    ],
)
def test_an_exception_in_a_stream_is_an_error(name: str, fault: Fault) -> None:
    for begun in ((), (_delta(0, text="はじ"),)):
        with pytest.raises(ModelCallFailed) as caught:
            _answer(*begun, (name, {"message": "だめです"}))
        assert caught.value.fault is fault
        assert "だめです" in caught.value.message
        assert caught.value.may_be_billed is (bool(begun) or fault.may_be_billed)


def test_an_unknown_event_is_ignored() -> None:
    assert _answer(("newInIt", {"x": 1}), _delta(0, text="はい"), _stop()).text == "はい"


def test_a_stream_tells_what_has_arrived() -> None:
    assembly = BedrockAssembly(PARTY)
    seen = []
    for frame in wire_stream_frames([event_stream(START, _delta(0, text="は"), _stop())], "aws"):
        assembly.add(frame)
        seen.append((assembly.has_content, assembly.text, assembly.is_complete))
    assert seen == [(False, "", False), (True, "は", False), (True, "は", True)]
    assert not assembly.has_calls


def test_every_recorded_stream_loses_nothing(wire: Path) -> None:
    for exchange in exchanges(wire, "bedrock", "stream"):
        if not exchange.is_stream or "guardrail" in exchange.features:
            continue
        frames = list(wire_stream_frames([exchange.body], "aws"))
        answer = read_stream(WIRE, [exchange.body])
        texts = [_said(frame.data) for frame in frames if frame.name == "contentBlockDelta"]
        words = answer.thought.intent if answer.calls and answer.thought else answer.text
        assert words == "".join(texts).strip(), exchange.name
        starts = [frame.data for frame in frames if frame.name == "contentBlockStart"]
        calls = [start for start in starts if '"toolUse":' in start and "server_tool" not in start]
        assert len(answer.calls) == len(calls), exchange.name
        assert all(call.arguments is not None for call in answer.calls), exchange.name
        assert answer.usage.is_counted, exchange.name


def _said(data: str) -> str:
    return str(json.loads(data)["delta"].get("text", ""))
