"""What comes back: whatever a server sends becomes an answer, or an error that says what to do."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.openai_answer import (
    RAW_BYTES,
    from_wire,
    parse,
    read_arguments,
)
from opencrab.adapters.providers.text import MAX_DEPTH
from opencrab.domain.errors import OpenCrabError, Refused, TooLarge, Unavailable
from opencrab.domain.record import Answer
from tests.unit.adapters.providers.stub import calling, completion

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KNOWN = (
    "choices", "message", "content", "tool_calls", "function", "function_call", "name",
    "arguments", "custom", "input", "usage", "prompt_tokens", "completion_tokens", "total_tokens",
    "prompt_tokens_details", "cached_tokens", "error", "code", "type", "refusal", "reasoning",
    "reasoning_content", "finish_reason", "model", "text",
)  # fmt: skip
likely = st.recursive(
    anything,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KNOWN), inner, min_size=1, max_size=5)
    ),
    max_leaves=20,
)


def _said(content: Any, **message: Any) -> Answer:
    return from_wire(completion({"content": content, **message}))


def _arguments(arguments: Any) -> Any:
    (call,) = from_wire(completion(calling("ws_write", arguments))).calls
    return call


@given(anything | likely)
def test_any_json_becomes_an_answer_or_our_own_error(body: Any) -> None:
    try:
        answer = from_wire(body)
    except OpenCrabError:
        return
    answer.model_dump_json()


@given(likely, likely, likely)
def test_any_message_becomes_an_answer_or_our_own_error(
    message: Any, usage: Any, finish: Any
) -> None:
    choice = {"message": message, "finish_reason": finish}
    try:
        answer = from_wire({"choices": [choice], "usage": usage})
    except OpenCrabError:
        return
    assert Answer.model_validate_json(answer.model_dump_json()) == answer
    assert 0 <= answer.usage.cached_tokens <= answer.usage.input_tokens


@given(st.binary())
def test_any_bytes_are_json_or_unavailable(body: bytes) -> None:
    with suppress(Unavailable):
        parse(body)


@pytest.mark.parametrize("text", ["こんにちは。", "Hello.", "🦀", "改行\nされた", "  "])
def test_words_arrive_as_they_were_said(text: str) -> None:
    answer = _said(text)
    assert (answer.text, answer.calls, answer.finish) == (text.strip(), (), "stop")
    assert answer.model == "crab-1"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 5)


def test_a_body_may_begin_with_white_space_or_a_mark() -> None:
    for before in (b"\n\n  ", b"\xef\xbb\xbf"):
        assert parse(before + '{"a":"蟹"}'.encode()) == {"a": "蟹"}


@pytest.mark.parametrize("body", [b"", b"<html>oops</html>", b'{"a":', b"[" * 200_000])
def test_what_is_not_json_is_unavailable_and_shown(body: bytes) -> None:
    with pytest.raises(Unavailable, match="not JSON") as caught:
        parse(body)
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    "body",
    [None, [], "text", 3, {}, {"choices": None}, {"choices": []}, {"choices": [3]},
     {"choices": [{}]}, {"choices": [{"message": None}]}, {"choices": {"0": {}}}],
)  # fmt: skip
def test_a_body_without_a_message_is_unavailable(body: Any) -> None:
    with pytest.raises(Unavailable):
        from_wire(body)


def test_an_error_that_came_with_success_is_an_error() -> None:
    message = {"content": "途中まで"}
    disguised = completion(message) | {"error": {"code": 502, "message": "落ちました"}}
    with pytest.raises(Unavailable, match="落ちました"):
        from_wire(disguised)
    with pytest.raises(Refused):
        from_wire({"error": {"code": 402, "message": "no credit"}})
    with pytest.raises(TooLarge):
        from_wire({"error": {"message": "maximum context length is 8192"}})
    with pytest.raises(Unavailable, match="provider died"):
        from_wire({"choices": [{"error": {"message": "provider died"}, "message": message}]})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "こん"}, {"type": "text", "text": "にちは"}], "こんにちは"),
        ([{"type": "image_url"}, "loose", {"text": 3}, {"text": "ok"}], "ok"),
        (None, ""), (3, ""), ({"text": "x"}, ""), ([], ""),
    ],
)  # fmt: skip
def test_words_may_come_in_parts(content: Any, text: str) -> None:
    assert _said(content).text == text


def test_a_refusal_is_what_the_model_says() -> None:
    assert _said(None, refusal="お答えできません").text == "お答えできません"
    assert _said("はい", refusal="お答えできません").text == "はい"


@pytest.mark.parametrize(
    ("content", "text", "thought", "memory"),
    [
        ("<think>考え中</think>答え", "答え", "考え中", None),
        ("<thinking>hmm</thinking>\nyes", "yes", "hmm", None),
        ("opened by the template</think>はい", "はい", "opened by the template", None),
        ("はい<think>終わらない", "はい", "終わらない", None),
        ("覚えた<memory>凛は猫が好き</memory>よ", "覚えた\nよ", "", "凛は猫が好き"),
        ("<memory>a</memory><memory>b</memory>ok", "ok", "", "a\nb"),
        ("<THINK>大文字</THINK>ok<MEMORY>m", "ok", "大文字", "m"),
        ("1 < 2 > 0 <b>太字</b>", "1 < 2 > 0 <b>太字</b>", "", None),
    ],
)
def test_thoughts_and_memories_are_not_said(
    content: str, text: str, thought: str, memory: str | None
) -> None:
    answer = _said(content)
    assert answer.text == text
    assert (answer.thought.judgment if answer.thought else "") == thought
    assert answer.memory_update == memory


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_beside_the_words_is_a_thought(field: str) -> None:
    answer = _said("<think>内</think>はい", **{field: " 外 "})
    assert answer.thought is not None
    assert answer.thought.judgment == "外\n内"
    assert _said("はい", **{field: {"not": "text"}}).thought is None


def test_words_beside_a_call_are_what_it_was_meant_for() -> None:
    body = completion(calling("ws_read", '{"path":"日記.md"}') | {"content": "日記を読みます"})
    answer = from_wire(body)
    assert answer.text == ""
    assert answer.thought is not None
    assert answer.thought.intent == "日記を読みます"
    assert answer.calls[0].arguments == {"path": "日記.md"}


@pytest.mark.parametrize("arguments", [None, "", "  ", "{}", {}])
def test_a_call_without_arguments_has_none(arguments: Any) -> None:
    assert _arguments(arguments).arguments == {}


@pytest.mark.parametrize("arguments", ['{"本文": "🦀"}', {"本文": "🦀"}])
def test_arguments_may_be_text_or_an_object(arguments: Any) -> None:
    assert _arguments(arguments).arguments == {"本文": "🦀"}


@pytest.mark.parametrize(
    "arguments",
    ['{"path": "日記', "{", "書いて", "[1]", '"text"', "3", '{"a": NaN}', '{"a": [-Infinity]}',
     '{"a": 1e999}', '{"a":' * 100_000, [1], True, 3.5],
)  # fmt: skip
def test_arguments_that_cannot_be_read_are_kept_as_they_came(arguments: Any) -> None:
    call = _arguments(arguments)
    assert call.arguments is None
    assert call.raw
    assert (
        call.raw[:20] == (arguments if isinstance(arguments, str) else json.dumps(arguments))[:20]
    )
    assert len(call.raw.encode()) <= RAW_BYTES


def test_what_is_kept_of_arguments_is_cut_between_characters() -> None:
    raw = _arguments('{"a": "' + "蟹" * RAW_BYTES).raw
    assert RAW_BYTES - 3 <= len(raw.encode()) <= RAW_BYTES
    assert raw.endswith("蟹")


@pytest.mark.parametrize("as_text", [True, False])
def test_arguments_deeper_than_anybody_means_are_not_read(as_text: bool) -> None:  # noqa: FBT001
    def nested(depth: int) -> Any:
        value: dict[str, Any] = {}
        for _ in range(depth):
            value = {"a": value}
        return json.dumps(value) if as_text else value

    assert read_arguments(nested(MAX_DEPTH - 2)) is not None
    assert read_arguments(nested(MAX_DEPTH + 1)) is None


def test_half_characters_and_nul_do_not_survive() -> None:
    assert _arguments('{"a": "x\\ud83e\\udd80\\u0000y\\ud83d"}').arguments == {"a": "x🦀y\ufffd"}
    assert _said("x\ud83e\udd80\x00y\ud83d").text == "x🦀y\ufffd"


@given(st.text() | anything)
def test_any_arguments_are_an_object_of_clean_json_or_unread(arguments: Any) -> None:
    for given_ in (arguments, json.dumps(arguments)):
        read = read_arguments(given_)
        if read is not None:
            json.dumps(read, allow_nan=False, ensure_ascii=False).encode()


def test_the_older_form_of_a_call_is_understood() -> None:
    older = {"content": None, "function_call": {"name": "ws_list", "arguments": "{}"}}
    (call,) = from_wire(completion(older)).calls
    assert (call.id, call.name, call.arguments) == ("c0", "ws_list", {})


def test_ids_are_our_own_whatever_the_server_sends() -> None:
    entries = [{"id": "same", "function": {"name": name}} for name in ("a", "b")]
    message = {"tool_calls": [None, *entries, {}]}
    calls = from_wire(completion(message)).calls
    assert [(call.id, call.name) for call in calls] == [("c0", "a"), ("c1", "b")]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 4}, (10, 4, 0, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 20}, (10, 10, 0, 0)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 5}}, (9, 0, 5, 0)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 50}, (9, 0, 9, 0)),
        ({"completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 6}},
         (0, 7, 0, 6)),
        ({"prompt_tokens": -5, "completion_tokens": float("nan")}, (0, 0, 0, 0)),
        ({"prompt_tokens": True, "completion_tokens": "12"}, (0, 0, 0, 0)),
        ({"prompt_tokens": 3.9, "completion_tokens": 10**30}, (3, 2**31 - 1, 0, 0)),
        (None, (0, 0, 0, 0)), ("many", (0, 0, 0, 0)), ([], (0, 0, 0, 0)),
    ],
)  # fmt: skip
def test_tokens_are_counted_and_nonsense_counts_as_none(
    usage: Any, counted: tuple[int, int, int, int]
) -> None:
    used = from_wire(completion({"content": "ok"}, usage=usage)).usage
    found = (used.input_tokens, used.output_tokens, used.cached_tokens, used.reasoning_tokens)
    assert found == counted
