"""Answers of the Responses API: words, thoughts and calls, and what is no answer."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.responses.endpoint import ResponsesWire
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer
from tests.unit.adapters.providers.recorded import PARTY, exchanges, read

WIRE = ResponsesWire()
USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 8},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 29,
}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "書くべき"}],
    "encrypted_content": "gAAA==",
    "status": None,
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ws_write"}
KNOWN = (
    "output", "type", "content", "text", "arguments", "summary", "usage", "status", "error",
    "incomplete_details", "reason", "input_tokens", "call_id", "message",
)  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KNOWN),
            inner | st.sampled_from(["message", "reasoning", "function_call", "failed"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


def _said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "content": [part]}


def _body(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    return {
        "model": "gpt-5.2-pro",
        "status": status,
        "output": list(output),
        "usage": USAGE,
        **more,
    }


def _read(*output: Any, **more: Any) -> ModelAnswer:
    return WIRE.from_wire(_body(*output, **more), PARTY)


def _fault(*output: Any, **more: Any) -> ModelCallFailed:
    with pytest.raises(ModelCallFailed) as caught:
        _read(*output, **more)
    return caught.value


def test_words_thoughts_and_calls_are_told_apart() -> None:
    call = {**CALL, "arguments": '{"path": "蟹.md"}'}
    answer = _read(THOUGHT, _said("書きます"), call)
    assert answer.text == ""
    assert answer.thought is not None
    assert (answer.thought.judgment, answer.thought.intent) == ("書くべき", "書きます")
    assert [(each.name, each.arguments) for each in answer.calls] == [
        ("ws_write", {"path": "蟹.md"})
    ]
    assert answer.usage == Usage(
        input_tokens=20, output_tokens=9, cached_tokens=8, reasoning_tokens=5
    )
    assert (answer.model, answer.finish) == ("gpt-5.2-pro", "completed")


def test_thoughts_before_calls_are_kept_to_be_sent_back() -> None:
    replay = _read(THOUGHT, {**CALL, "arguments": "{}"}).replay
    kept = {name: THOUGHT[name] for name in ("type", "id", "summary", "encrypted_content")}
    assert replay == {
        "vendor": "responses",
        "model": PARTY.model,
        "items": [kept, {"type": "function_call", "call_id": "call_1"}],
    }
    assert _read(THOUGHT, _said("はい")).replay is None
    assert _read({**CALL, "arguments": "{}"}).replay is None
    huge = {**THOUGHT, "encrypted_content": "x" * 300_000}
    assert _read(huge, {**CALL, "arguments": "{}"}).replay is None


def test_tools_that_ran_at_the_vendor_are_no_calls() -> None:
    ran = [{"type": kind, "status": "completed"} for kind in ("web_search_call", "mcp_call")]
    answer = _read(*ran, _said("はい"))
    assert (answer.text, answer.calls) == ("はい", ())


def test_a_refusal_is_what_the_model_says() -> None:
    refused = {"type": "message", "content": [{"type": "refusal", "refusal": "お断りします"}]}
    assert _read(refused).text == "お断りします"


def test_an_answer_that_the_limit_cut_says_so() -> None:
    cut = {"incomplete_details": {"reason": "max_output_tokens"}, "status": "incomplete"}
    assert _read(_said("途中"), **cut).finish == "max_output_tokens"
    partial = {**CALL, "arguments": '{"path": "日', "status": "incomplete"}
    (call,) = _read(partial, **cut).calls
    assert (call.arguments, call.raw) == (None, '{"path": "日')
    (call,) = _read({**partial, "arguments": ""}, **cut).calls
    assert call.arguments is None


def test_what_is_no_answer_is_a_failure() -> None:
    filtered = {"incomplete_details": {"reason": "content_filter"}, "status": "incomplete"}
    assert _fault(**filtered).fault is Fault.BLOCKED
    assert _read(_said("途中"), **filtered).text == "途中"
    error = {"code": "server_error", "message": "落ちました"}
    assert _fault(status="failed", error=error).fault is Fault.SERVER_ERROR
    assert _fault(status="failed").fault is Fault.SERVER_ERROR
    prompt = {"code": "invalid_prompt", "message": "flagged"}
    failed = _fault(status="failed", error=prompt)
    assert (failed.fault, failed.usage is not None) == (Fault.BLOCKED, True)
    with pytest.raises(ModelCallFailed) as caught:
        WIRE.from_wire({"choices": []}, PARTY)
    assert caught.value.fault is Fault.NONSENSE


@pytest.mark.parametrize("kind", [["message"], {"a": 1}, None, 3])
def test_an_item_that_is_none_does_not_cost_the_answer(kind: Any) -> None:
    answer = WIRE.from_wire({"output": [{"type": kind}, _said("はい")], "usage": USAGE}, PARTY)
    assert answer.text == "はい"


@given(anything)
def test_any_json_becomes_an_answer_or_a_failure(body: Any) -> None:
    try:
        WIRE.from_wire(body, PARTY).model_dump_json()
    except ModelCallFailed:
        return


def test_every_recorded_whole_answer_loses_nothing(wire: Path) -> None:
    for exchange in exchanges(wire, "responses", "responses"):
        if exchange.is_error or exchange.is_stream:
            continue
        said = exchange.answered
        answer = read(WIRE, exchange)
        texts = [
            part["text"]
            for item in said["output"]
            if item["type"] == "message"
            for part in item["content"]
        ]
        words = answer.thought.intent if answer.calls and answer.thought else answer.text
        assert words == "".join(texts).strip(), exchange.name
        calls = [
            item["name"]
            for item in said["output"]
            if item["type"] in {"function_call", "custom_tool_call"}
        ]
        assert [call.name for call in answer.calls] == calls, exchange.name
        counted = (answer.usage.input_tokens, answer.usage.output_tokens)
        assert counted[0] == said["usage"]["input_tokens"], exchange.name
        assert counted[1] >= said["usage"]["output_tokens"], exchange.name
