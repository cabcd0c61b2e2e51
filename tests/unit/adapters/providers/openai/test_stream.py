"""Streams: put together they are the same answer as in one piece, and never half of one."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.adapters.providers.wire.framing import wire_stream_frames
from opencrab.adapters.providers.wire.wire import StreamFrame
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer
from tests.unit.adapters.providers.recorded import PARTY, exchanges, read_stream

WIRE = OpenAIWire()
USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
DONE = b"data: [DONE]\n\n"


def _chunk(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"model": "crab-1", "choices": [choice], "usage": None, **more}


def _piece(index: int | None, arguments: str = "", **more: Any) -> dict[str, Any]:
    name = more.pop("name", None)
    function = {"arguments": arguments} | ({"name": name} if name else {})
    entry = {"function": function, **more} | ({} if index is None else {"index": index})
    return _chunk({"tool_calls": [entry]})


def _sent(chunks: Iterable[Any]) -> bytes:
    lines = (f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks)
    return "".join(lines).encode()


def _answer(*chunks: Any) -> ModelAnswer:
    return read_stream(WIRE, [_sent([*chunks, _chunk({}, "stop")]), DONE])


def _called(*chunks: Any) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in _answer(*chunks).calls]


LAST = _chunk({}, "stop") | {"choices": [], "usage": USAGE}
JAPANESE = _sent(
    [
        {"model": "", "choices": [], "prompt_filter_results": []},
        _chunk({"role": "assistant", "content": "", "refusal": None}, obfuscation="x8k"),
        *(_chunk({"content": word}) for word in ("こんにちは", "、蟹", "です🦀", "。")),
        _chunk({}, "stop"),
        LAST,
    ]
)
CALLING = _sent(
    [
        _chunk({"role": "assistant", "content": None}),
        _chunk({"reasoning_content": "日記を"}),
        _chunk({"reasoning_content": "書く"}),
        _piece(0, "", id="call_a", type="function", name="ws_write"),
        _piece(0, '{"path": "日記.md", "content": "晴'),
        _piece(1, "", id="call_b", type="function", name="ws_list"),
        _piece(0, 'れ"}'),
        _piece(1, "{}"),
        _chunk({}, "tool_calls"),
        LAST,
    ]
)


@pytest.mark.parametrize("stream", [JAPANESE + DONE, CALLING + DONE])
def test_a_stream_cut_at_any_byte_is_whole_or_no_answer(stream: bytes) -> None:
    whole = read_stream(WIRE, [stream])
    assert whole.text or whole.calls
    answers = 0
    for length in range(len(stream)):
        assembly = WIRE.assembly(PARTY)
        for event in wire_stream_frames([stream[:length]], "sse"):
            assembly.add(event)
        if assembly.is_complete:
            answer = WIRE.from_wire(assembly.body(), PARTY)
            assert (answer.text, answer.calls) == (whole.text, whole.calls)
            assert answer.usage in (whole.usage, answer.usage.__class__())
            answers += 1
    assert 0 < answers < len(stream) // 2


@pytest.mark.parametrize("stream", [JAPANESE + DONE, CALLING + DONE])
def test_a_stream_may_come_byte_by_byte(stream: bytes) -> None:
    whole = read_stream(WIRE, [stream])
    assert read_stream(WIRE, (bytes([byte]) for byte in stream)) == whole
    assert read_stream(WIRE, [stream.replace(b"\n", b"\r\n")]) == whole


def test_two_recorded_streams_cut_at_any_byte_are_whole_or_no_answer(wire: Path) -> None:
    recorded = {each.name: each for each in exchanges(wire, "openai", "chat")}
    for name in ("openai/chat-017-72504565.json", "openai/chat-019-48fe3139.json"):
        stream = recorded[name].body
        whole = read_stream(WIRE, [stream])
        # Within a line nothing changes, so that each end of a line stands for all before it.
        for length in range(len(stream)):
            if stream[length - 1 : length] not in (b"\n", b"}", b"]"):
                continue
            assembly = WIRE.assembly(PARTY)
            for event in wire_stream_frames([stream[:length]], "sse"):
                assembly.add(event)
            if assembly.is_complete:
                answer = WIRE.from_wire(assembly.body(), PARTY)
                assert (answer.text, answer.calls) == (whole.text, whole.calls)


def test_streamed_and_in_one_piece_an_answer_is_the_same() -> None:
    entries = [
        {"id": "call_a", "function": {"name": "ws_write", "arguments": '{"path": "日記.md", '
         '"content": "晴れ"}'}},
        {"id": "call_b", "function": {"name": "ws_list", "arguments": "{}"}},
    ]  # fmt: skip
    message = {"content": None, "reasoning_content": "日記を書く", "tool_calls": entries}
    choice = {"message": message, "finish_reason": "tool_calls"}
    body = {"model": "crab-1", "choices": [choice], "usage": USAGE}
    assert read_stream(WIRE, [CALLING, DONE]) == WIRE.from_wire(body, PARTY)


def test_the_first_word_is_noticed() -> None:
    empty = _chunk({"role": "assistant", "content": ""})
    chunks: list[Any] = [{"choices": []}, empty, _chunk({"content": "や"}), _chunk({}, "stop")]
    assembly = WIRE.assembly(PARTY)
    seen = []
    for chunk in chunks:
        assembly.add(StreamFrame(json.dumps(chunk)))
        seen.append((assembly.has_content, assembly.is_complete))
    assert seen == [(False, False), (False, False), (True, False), (True, True)]


def test_usage_may_come_with_the_last_choice() -> None:
    answer = read_stream(
        WIRE, [_sent([_chunk({"content": "や"}), _chunk({}, "stop", usage=USAGE)]), DONE]
    )
    assert answer.usage.input_tokens == 9


def test_a_server_that_never_says_done_has_said_why_it_stopped() -> None:
    assert read_stream(WIRE, [JAPANESE]).text == "こんにちは、蟹です🦀。"


def test_what_follows_the_end_is_ignored() -> None:
    late = _sent([_chunk({"content": "もう一度"}), {"error": {"message": "late"}}])
    assert read_stream(WIRE, [JAPANESE, DONE, late, DONE]) == read_stream(WIRE, [JAPANESE, DONE])


def test_only_the_first_of_several_choices_is_read() -> None:
    other = _chunk({"content": "別の"})
    other["choices"][0]["index"] = 1
    assert _answer(_chunk({"content": "一"}), other, _chunk({"content": "つ"})).text == "一つ"


def test_calls_are_told_apart_even_where_they_are_not_counted() -> None:
    two = [("a", {}), ("b", {"n": 1})]
    begun = {"id": "1", "name": "a"}, {"id": "2", "name": "b"}
    assert _called(_piece(0, "{}", **begun[0]), _piece(0, '{"n": 1}', **begun[1])) == two
    assert _called(_piece(None, "{}", **begun[0]), _piece(None, '{"n": 1}', **begun[1])) == two
    assert _called(_piece(None, "{}", name="a"), _piece(None, '{"n": 1}', name="b")) == two
    assert _called(_piece(None, "{", **begun[0]), _piece(None, "}")) == [("a", {})]


def test_a_name_that_is_repeated_is_one_name() -> None:
    pieces = [_piece(0, piece, id="1", name="a") for piece in ("{", '"n": 1', "}")]
    assert _called(*pieces) == [("a", {"n": 1})]
    assert _called(*(_piece(0, piece, name="a") for piece in ("{", "}"))) == [("a", {})]


def test_arguments_may_come_as_an_object() -> None:
    entry = {"index": 0, "id": "1", "function": {"name": "a", "arguments": {"本": 1}}}
    assert _called(_chunk({"tool_calls": [entry]})) == [("a", {"本": 1})]


def test_the_older_form_of_a_call_is_understood() -> None:
    first = _chunk({"function_call": {"name": "a", "arguments": '{"n"'}})
    assert _called(first, _chunk({"function_call": {"arguments": ": 1}"}})) == [("a", {"n": 1})]


def test_a_custom_call_keeps_its_plain_text() -> None:
    first = {"index": 0, "id": "1", "type": "custom", "custom": {"name": "calc", "input": "1 +"}}
    then = {"index": 0, "custom": {"input": " 1"}}
    (call,) = _answer(_chunk({"tool_calls": [first]}), _chunk({"tool_calls": [then]})).calls
    assert (call.name, call.arguments, call.raw) == ("calc", None, "1 + 1")


def test_arguments_that_were_cut_are_kept_as_they_came() -> None:
    (call,) = _answer(_piece(0, '{"path": "日', id="1", name="ws_write")).calls
    assert call.arguments is None
    assert call.raw == '{"path": "日'


def test_two_hundred_calls_at_once_are_two_hundred_calls() -> None:
    begun = [_piece(n, "", id=f"call_{n}", name="a") for n in range(200)]
    filled = [_piece(n, f'{{"n": {n}}}') for n in reversed(range(200))]
    assert _called(*begun, *filled) == [("a", {"n": n}) for n in range(200)]


def test_details_of_reasoning_are_joined_and_their_signature_is_kept() -> None:
    def detail(**fields: Any) -> dict[str, Any]:
        return _chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, **fields}]})

    secret = {"type": "reasoning.encrypted", "index": 0, "data": "c2VjcmV0"}
    answer = _answer(
        detail(text="ま", format=None),
        detail(text="ず"),
        detail(signature="s", format="f"),
        _chunk({"reasoning_details": [secret]}),
        _chunk({"reasoning_details": [secret]}),
    )
    joined = {"type": "reasoning.text", "index": 0, "text": "まず", "signature": "s", "format": "f"}
    assert answer.replay is not None
    assert answer.replay["reasoning_details"] == [joined, secret, secret]


@pytest.mark.parametrize("name", ["", "error", "bare"])
def test_an_error_in_the_middle_is_billed_once_words_have_come(name: str) -> None:
    error = StreamFrame(
        json.dumps({"error": {"code": 429, "message": "混雑"}, "usage": USAGE}), name
    )
    assembly = WIRE.assembly(PARTY)
    assembly.add(StreamFrame(json.dumps(_chunk({"content": "途"}))))
    with pytest.raises(ModelCallFailed, match="混雑") as caught:
        assembly.add(error)
    assert caught.value.fault is Fault.RATE_LIMITED
    assert caught.value.may_be_billed
    assert caught.value.usage is not None
    assert caught.value.usage.output_tokens == 4


def test_an_error_before_the_first_word_may_be_free() -> None:
    with pytest.raises(ModelCallFailed) as caught:
        WIRE.assembly(PARTY).add(StreamFrame('{"error": {"code": 429, "message": "混雑"}}'))
    assert not caught.value.may_be_billed


def test_tokens_counted_before_an_error_are_billed_but_may_not_be_all() -> None:
    busy = {"error": {"code": 429, "message": "混雑"}}
    counted = {"choices": [], "usage": USAGE}
    for chunks, is_final in (
        ([counted, busy], False),
        ([{**busy, "usage": USAGE}], True),
        ([_chunk({"content": "蟹"}, "stop"), counted, busy], True),
    ):
        with pytest.raises(ModelCallFailed) as caught:
            _answer(*chunks)
        assert caught.value.may_be_billed
        assert (caught.value.usage is not None) is is_final


def test_an_answer_in_one_piece_is_a_stream_of_one() -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": "蟹です"}]}
    whole = {"choices": [{"index": 0, "message": message}], "usage": USAGE}
    for frame in (_sent([whole]), json.dumps(whole, indent=1).encode()):
        answer = read_stream(WIRE, [frame])
        assert (answer.text, answer.usage.output_tokens) == ("蟹です", 4)
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("a", "b")]
    whole["choices"] = [{"message": {"content": None, "tool_calls": calls}}]
    assert [call.name for call in read_stream(WIRE, [_sent([whole])]).calls] == ["a", "b"]


def test_a_message_that_repeats_all_that_was_said_is_not_said_twice() -> None:
    last = {"choices": [{"index": 0, "message": {"content": "蟹です"}, "finish_reason": "stop"}]}
    assert _answer(_chunk({"content": "蟹"}), _chunk({"content": "です"}), last).text == "蟹です"


def test_a_last_chunk_that_no_blank_line_ends_is_read() -> None:
    stream = _sent([_chunk({"content": "蟹"}), _chunk({}, "stop")])
    assert read_stream(WIRE, [stream.rstrip()]).text == "蟹"


@pytest.mark.parametrize("data", ["{", "日本", '{"choices": [', "[" * 100_000])
def test_a_chunk_that_is_no_json_is_nonsense(data: str) -> None:
    with pytest.raises(ModelCallFailed, match="蟹屋") as caught:
        WIRE.assembly(PARTY).add(StreamFrame(data))
    assert caught.value.fault is Fault.NONSENSE
    assert len(caught.value.message) < 2_000


@pytest.mark.parametrize("stream", [b"", DONE, _sent([3, [], None, {"choices": []}]) + DONE])
def test_a_stream_without_a_choice_is_no_answer(stream: bytes) -> None:
    assembly = WIRE.assembly(PARTY)
    for event in wire_stream_frames([stream], "sse"):
        assembly.add(event)
    assert assembly.is_complete == bool(stream)
    with pytest.raises(ModelCallFailed):
        WIRE.from_wire(assembly.body(), PARTY)


KNOWN = (
    "choices", "index", "delta", "content", "tool_calls", "function", "name", "arguments", "custom",
    "id", "usage", "prompt_tokens", "reasoning_details", "type", "text", "finish_reason", "model",
    "error", "function_call",
)  # fmt: skip
likely = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KNOWN), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(st.lists(likely | likely.map(lambda delta: {"choices": [{"delta": delta}]}), max_size=4))
def test_any_chunks_become_an_answer_or_unanswered(chunks: list[Any]) -> None:
    assembly = WIRE.assembly(PARTY)
    try:
        for chunk in chunks:
            assembly.add(StreamFrame(json.dumps(chunk)))
        answer = WIRE.from_wire(assembly.body(), PARTY)
    except ModelCallFailed:
        return
    assert ModelAnswer.model_validate_json(answer.model_dump_json()) == answer


def test_a_filtered_stream_without_a_word_is_blocked() -> None:
    choice = {"index": 0, "finish_reason": "content_filter", "content_filter_results": {}}
    with pytest.raises(ModelCallFailed) as caught:
        read_stream(WIRE, [_sent([{"model": "m", "choices": [choice]}]), DONE])
    assert caught.value.fault is Fault.BLOCKED


def test_an_unusable_call_that_a_stream_reports_may_be_retried() -> None:
    error = {"error": {"message": "Failed to call a function.", "code": "tool_use_failed"}}
    with pytest.raises(ModelCallFailed) as caught:
        read_stream(WIRE, [_sent([_chunk({"content": "は"}), error])])
    assert caught.value.fault is Fault.NONSENSE
    assert caught.value.fault.may_pass
