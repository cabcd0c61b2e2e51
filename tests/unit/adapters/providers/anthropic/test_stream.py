"""Anthropic's events become the message that they are pieces of."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.providers.anthropic.stream import AnthropicAssembly
from opencrab.adapters.providers.wire.framing import BARE
from opencrab.adapters.providers.wire.wire import ErrorParty, StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from tests.soak import examples

PARTY = ErrorParty(provider="anthropic", model="claude-sonnet-5")
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def _start(**usage: Any) -> dict[str, Any]:
    message = {"type": "message", "model": "claude-sonnet-5", "usage": usage}
    return {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}


def _opened(kind: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    block = {"type": kind, **fields}
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(kind: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    delta = {"type": kind, **fields}
    return {"type": "content_block_delta", "index": index, "delta": delta}


def _last(usage: dict[str, Any], **delta: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": delta, "usage": usage}


def _assembled(*events: Any) -> AnthropicAssembly:
    assembly = AnthropicAssembly(PARTY)
    for event in events:
        assembly.add(StreamFrame(json.dumps(event), event.get("type", "")))
    return assembly


def test_pieces_become_whole_blocks_in_their_places() -> None:
    assembly = _assembled(
        _start(input_tokens=9, output_tokens=1),
        {"type": "ping"},
        _opened("thinking", thinking="", signature=""),
        _delta("thinking_delta", thinking="まず"),
        _delta("thinking_delta", thinking="読む"),
        _delta("signature_delta", signature="Eq"),
        _delta("signature_delta", signature="YC"),
        _opened("text", 1, text=""),
        _delta("text_delta", 1, text="では"),
        _delta("citations_delta", 1, citation={"cited_text": "x"}),
        _opened("tool_use", 2, id="toolu_1", name="ws_read", input={}),
        _delta("input_json_delta", 2, partial_json=""),
        _delta("input_json_delta", 2, partial_json='{"pa'),
        {"type": "なにか"},
        _delta("input_json_delta", 2, partial_json='th": "日記"}'),
        _last({"output_tokens": 7}, stop_reason="tool_use"),
        {"type": "message_stop"},
    )
    assert assembly.is_complete
    body = assembly.body()
    assert body["content"] == [
        {"type": "thinking", "thinking": "まず読む", "signature": "EqYC"},
        {"type": "text", "text": "では"},
        {"type": "tool_use", "id": "toolu_1", "name": "ws_read", "input": '{"path": "日記"}'},
    ]
    assert body["usage"] == {"input_tokens": 9, "output_tokens": 7}
    assert (body["model"], body["stop_reason"]) == ("claude-sonnet-5", "tool_use")


def test_a_call_without_arguments_keeps_the_empty_object_that_it_began_with() -> None:
    body = _assembled(
        _opened("tool_use", id="t", name="now", input={}),
        _delta("input_json_delta", partial_json=""),
    ).body()
    assert body["content"][0]["input"] == {}


def test_later_counts_replace_earlier_ones_but_nothing_replaces_none() -> None:
    body = _assembled(
        _start(input_tokens=2_694, output_tokens=1, cache_read_input_tokens=5),
        _last({"input_tokens": 11_665, "cache_read_input_tokens": None}),
    ).body()
    assert body["usage"] == {
        "input_tokens": 11_665,
        "output_tokens": 1,
        "cache_read_input_tokens": 5,
    }


@pytest.mark.parametrize(
    ("events", "began"),
    [
        ([], False),
        ([_start(), {"type": "ping"}, _opened("text", text="")], False),
        ([_opened("thinking", thinking="", signature="")], False),
        ([_opened("text", text=""), _delta("text_delta", text="")], False),
        ([_opened("text", text="は")], True),
        ([_opened("text", text=""), _delta("text_delta", text="は")], True),
        ([_delta("thinking_delta", thinking="ふ")], True),
        ([_opened("tool_use", id="t", name="now", input={})], True),
    ],
)
def test_an_answer_begins_with_its_first_word_thought_or_call(
    events: list[Any], *, began: bool
) -> None:
    assembly = _assembled(*events)
    assert assembly.has_content is began
    assert not assembly.is_complete


@pytest.mark.parametrize("begun", [False, True])
def test_an_error_in_the_middle_was_billed_if_anything_had_begun(*, begun: bool) -> None:
    before = [_delta("text_delta", text="蟹は")] if begun else []
    with pytest.raises(ModelCallFailed, match="Overloaded") as caught:
        _assembled(_start(), *before, OVERLOADED)
    assert caught.value.fault is Fault.OVERLOADED
    assert caught.value.may_be_billed is begun


def test_an_error_after_the_prompt_was_counted_is_billed_without_a_count_that_is_not_final() -> (
    None
):
    with pytest.raises(ModelCallFailed) as caught:
        _assembled(_start(input_tokens=100_000), OVERLOADED)
    assert caught.value.may_be_billed
    assert caught.value.usage is None


def test_with_a_reason_to_stop_an_answer_is_whole_whatever_follows() -> None:
    said = (_start(input_tokens=9), _delta("text_delta", text="はい"))
    assert not _assembled(*said, _last({})).is_complete
    assembly = _assembled(*said, _last({"output_tokens": 2}, stop_reason="end_turn"), OVERLOADED)
    assert assembly.is_complete
    assert assembly.body()["usage"] == {"input_tokens": 9, "output_tokens": 2}


def test_a_message_in_one_piece_is_a_stream_of_one() -> None:
    message = {"type": "message", "content": [{"type": "text", "text": "はい"}], "usage": {}}
    assembly = AnthropicAssembly(PARTY)
    assembly.add(StreamFrame(json.dumps(message), BARE))
    assert assembly.has_content
    assert assembly.is_complete
    assert assembly.body() == message


def test_an_error_outside_any_event_is_one_as_well() -> None:
    assembly = AnthropicAssembly(PARTY)
    with pytest.raises(ModelCallFailed) as caught:
        assembly.add(StreamFrame('{"error": {"type": "api_error", "message": "x"}}', BARE))
    assert caught.value.fault is Fault.SERVER_ERROR


def test_a_frame_that_is_no_json_is_nonsense() -> None:
    with pytest.raises(ModelCallFailed) as caught:
        AnthropicAssembly(PARTY).add(StreamFrame("<html>", "message_start"))
    assert caught.value.fault is Fault.NONSENSE


def test_nothing_counts_after_the_end() -> None:
    assembly = _assembled(_delta("text_delta", text="はい"), {"type": "message_stop"}, OVERLOADED)
    assembly.add(StreamFrame("[DONE]"))
    assert assembly.body()["content"] == [{"type": "text", "text": "はい"}]


def test_spaces_after_the_json_do_not_matter_and_neither_does_a_missing_type() -> None:
    assembly = AnthropicAssembly(PARTY)
    delta = '{"index": 0, "delta": {"type": "text_delta", "text": "は"}}   '
    assembly.add(StreamFrame(delta, "content_block_delta"))
    assembly.add(StreamFrame("{}     ", "message_stop"))
    assert assembly.is_complete
    assert assembly.body()["content"][0]["text"] == "は"


def test_a_stream_of_nothing_is_no_message() -> None:
    assert _assembled({"type": "message_stop"}).body() == {}


def test_a_long_answer_is_put_together_in_the_time_that_its_length_takes() -> None:
    pieces = [_delta("text_delta", text="蟹")] * 20_000
    assert len(_assembled(*pieces).body()["content"][0]["text"]) == 20_000


values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "thinking", "input", "usage", "id", "stop_reason"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
kinds = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"]
)
parts = st.dictionaries(
    st.sampled_from(["type", "text", "thinking", "signature", "partial_json", "id", "name"]),
    values | st.sampled_from(["text_delta", "input_json_delta", "signature_delta", "tool_use"]),
    max_size=4,
)
frames = st.fixed_dictionaries(
    {"type": kinds | values},
    optional={
        "index": values,
        "delta": parts | values,
        "content_block": parts | values,
        "message": values,
        "usage": values,
        "error": values,
    },
)


@settings(max_examples=examples(60))
@given(st.lists(frames | values, max_size=8))
def test_any_frames_become_a_body_or_unanswered(events: list[Any]) -> None:
    assembly = AnthropicAssembly(PARTY)
    try:
        for event in events:
            assembly.add(StreamFrame(json.dumps(event)))
    except ModelCallFailed:
        return
    json.dumps(assembly.body())
