"""Streams of the Responses API: the same answer as in one piece, and errors in the middle."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.responses.endpoint import AzureResponsesWire, ResponsesWire
from opencrab.adapters.providers.responses.stream import ResponsesAssembly
from opencrab.adapters.providers.wire.framing import wire_stream_frames
from opencrab.adapters.providers.wire.wire import StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer
from tests.unit.adapters.providers.recorded import PARTY, exchanges, read_stream

WIRE = ResponsesWire()
CREATED = {
    "type": "response.created",
    "response": {"model": "gpt-5.2-pro", "status": "in_progress", "output": []},
}
CALL = {"type": "function_call", "call_id": "call_1", "name": "ws_write", "arguments": ""}


def _sse(*events: Any) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in events
    )


def _delta(kind: str, index: int, delta: str) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": delta}


def _item(index: int, item: Any, step: str = "added") -> dict[str, Any]:
    return {"type": f"response.output_item.{step}", "output_index": index, "item": item}


def _ended(status: str = "completed", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}
    response = {"model": "gpt-5.2-pro", "status": status, "output": [], "usage": usage, **more}
    return {"type": f"response.{status}", "response": response}


def _answer(*events: Any) -> ModelAnswer:
    return read_stream(WIRE, [_sse(CREATED, *events)])


def test_pieces_are_put_together_by_item() -> None:
    answer = _answer(
        _item(0, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA=="}),
        _delta("reasoning_summary_text", 0, "書く"),
        _delta("reasoning_summary_text", 0, "べき"),
        _item(1, {"type": "message", "content": []}),
        _delta("output_text", 1, "書き"),
        _delta("output_text", 1, "ます🦀"),
        _item(2, CALL),
        _delta("function_call_arguments", 2, '{"path": '),
        _delta("function_call_arguments", 2, '"蟹.md"}'),
        _ended(),
    )
    assert answer.thought is not None
    assert (answer.thought.judgment, answer.thought.intent) == ("書くべき", "書きます🦀")
    assert [(call.name, call.arguments) for call in answer.calls] == [
        ("ws_write", {"path": "蟹.md"})
    ]
    assert answer.replay is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (9, 4)


def test_an_incomplete_response_says_why() -> None:
    why = {"incomplete_details": {"reason": "max_output_tokens"}}
    answer = _answer(_delta("output_text", 0, "途中"), _ended("incomplete", **why))
    assert (answer.text, answer.finish) == ("途中", "max_output_tokens")
    blocked = {"incomplete_details": {"reason": "content_filter"}}
    with pytest.raises(ModelCallFailed) as caught:
        _answer(_ended("incomplete", **blocked))
    assert caught.value.fault is Fault.BLOCKED


@pytest.mark.parametrize(
    ("event", "fault"),
    [
        (_ended("failed", error={"code": "server_error", "message": "落ち"}), Fault.SERVER_ERROR),
        (
            _ended("failed", error={"code": "rate_limit_exceeded", "message": "落ち"}),
            Fault.RATE_LIMITED,
        ),
        ({"type": "error", "code": "server_error", "message": "落ち"}, Fault.SERVER_ERROR),
        ({"type": "error", "error": {"code": 503, "message": "落ち"}}, Fault.OVERLOADED),
        (
            {"type": "error", "code": "context_length_exceeded", "message": "落ち"},
            Fault.TOO_LONG,
        ),
    ],
)
def test_an_error_in_a_stream_is_an_error(event: Any, fault: Fault) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        _answer(_delta("output_text", 0, "は"), event)
    assert caught.value.fault is fault
    assert caught.value.may_be_billed
    assert "落ち" in caught.value.message


def test_unknown_events_and_what_follows_the_end_are_ignored() -> None:
    new = {"type": "response.shell.delta", "output_index": 7, "delta": "x"}
    late = {"type": "error", "message": "late"}
    assert _answer(new, _delta("output_text", 0, "はい"), _ended(), late).text == "はい"


def test_a_stream_tells_what_has_arrived() -> None:
    assembly = ResponsesAssembly(PARTY, WIRE.usage)
    seen = []
    stream = _sse(CREATED, _delta("output_text", 0, "は"), _item(1, CALL), _ended())
    for frame in wire_stream_frames([stream], "sse"):
        assembly.add(frame)
        seen.append((assembly.has_content, assembly.text, assembly.has_calls, assembly.is_complete))
    assert seen == [
        (False, "", False, False),
        (True, "は", False, False),
        (True, "は", True, False),
        (True, "は", True, True),
    ]


def test_every_recorded_stream_is_its_last_response_also_without_it(wire: Path) -> None:
    """What the deltas amount to is what the last event says once more."""
    read = 0
    for exchange in exchanges(wire, "responses", "responses"):
        if not exchange.is_stream:
            continue
        whole = read_stream(WIRE, [exchange.body])
        assembly = ResponsesAssembly(PARTY, WIRE.usage)
        for frame in wire_stream_frames([exchange.body], "sse"):
            event = json.loads(frame.data) if frame.data.startswith("{") else {}
            if event.get("type") in {"response.completed", "response.incomplete"}:
                event["response"]["output"] = []
                assembly.add(StreamFrame(json.dumps(event), frame.name))
            else:
                assembly.add(frame)
        pieced = WIRE.from_wire(assembly.body(), PARTY)
        assert (pieced.text, pieced.calls) == (whole.text, whole.calls), exchange.name
        assert pieced.usage == whole.usage, exchange.name
        read += 1
    assert read > 10


def test_azures_address_and_key_are_its_own() -> None:
    wire = AzureResponsesWire("2026-05-01")
    assert wire.chat_path("m", stream=True) == "/responses?api-version=2026-05-01"
    assert AzureResponsesWire().chat_path("m", stream=False) == "/responses"
    assert wire._key("k") == {"api-key": "k"}
    assert WIRE.chat_path("m", stream=True) == "/responses"
