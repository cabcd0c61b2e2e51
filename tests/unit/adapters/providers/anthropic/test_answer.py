"""What Anthropic answers: words, calls, thoughts and counts, however carelessly they are sent."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.anthropic.answer import anthropic_answer
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ModelAnswer

PARTY = ErrorParty(provider="anthropic", model="claude-sonnet-5", key_name="ANTHROPIC_API_KEY")
USE = {"type": "tool_use", "id": "toolu_1", "name": "ws_write", "input": {"path": "日記.md"}}
KNOWN = (
    "type", "content", "text", "thinking", "signature", "data", "id", "name", "input", "usage",
    "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
    "cache_creation", "ephemeral_1h_input_tokens", "ephemeral_5m_input_tokens", "stop_reason",
    "output_tokens_details", "thinking_tokens", "stop_details", "explanation", "error", "message",
    "model", "code", "details", "error_code",
)  # fmt: skip
WORDS = (
    "text", "tool_use", "thinking", "redacted_thinking", "message", "error", "refusal",
    "max_tokens", "model_context_window_exceeded", "pause_turn", "overloaded_error",
)  # fmt: skip
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KNOWN) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=20,
)
likely = st.fixed_dictionaries(
    {
        "content": st.lists(
            st.dictionaries(st.sampled_from(KNOWN), anything | st.sampled_from(WORDS), max_size=5)
        )
    },
    optional={"stop_reason": st.sampled_from(WORDS), "usage": anything, "model": anything},
)


def _message(*blocks: Any, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    whole = {"type": "message", "model": "claude-sonnet-5", "stop_reason": "end_turn"}
    return {**whole, "usage": usage, "content": list(blocks), **more}


def _said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _read(*blocks: Any, **more: Any) -> ModelAnswer:
    return anthropic_answer(_message(*blocks, **more), PARTY)


@given(anything | likely)
def test_any_json_becomes_an_answer_or_unanswered(body: Any) -> None:
    try:
        answer = anthropic_answer(body, PARTY)
    except ModelCallFailed as error:
        error.message.encode()
        return
    ModelAnswer.model_validate_json(answer.model_dump_json())
    json.dumps(answer.replay, allow_nan=False, ensure_ascii=False).encode()


def test_words_in_several_blocks_are_one_text() -> None:
    answer = _read(_said("蟹は"), {"type": "server_tool_use", "name": "web"}, _said("赤い。"))
    assert answer.text == "蟹は赤い。"
    assert (answer.finish, answer.model) == ("end_turn", "claude-sonnet-5")
    assert answer.replay is None


def test_an_answer_without_any_content_is_empty() -> None:
    answer = _read()
    assert (answer.text, answer.calls, answer.thought) == ("", (), None)
    assert answer.usage.output_tokens == 5


def test_words_beside_a_call_are_what_it_is_meant_for() -> None:
    answer = _read(_said("書きます。"), USE, stop_reason="tool_use")
    (call,) = answer.calls
    assert (call.id, call.name, call.arguments) == ("c0", "ws_write", {"path": "日記.md"})
    assert answer.text == ""
    assert answer.thought is not None
    assert answer.thought.intent == "書きます。"


def test_calls_are_read_whatever_the_stop_reason_says() -> None:
    assert len(_read(USE, USE, stop_reason="end_turn").calls) == 2


def test_thoughts_are_kept_apart_from_words_and_go_back_with_calls() -> None:
    thought = {"type": "thinking", "thinking": "まず読む。", "signature": "EqYC"}
    hidden = {"type": "redacted_thinking", "data": "Evg"}
    answer = _read(thought, hidden, USE, stop_reason="tool_use")
    assert answer.thought is not None
    assert answer.thought.judgment == "まず読む。"
    assert answer.replay == {
        "vendor": "anthropic",
        "model": "claude-sonnet-5",
        "blocks": [thought, hidden, {"type": "tool_use", "id": "toolu_1"}],
    }
    assert _read(thought, _said("はい")).replay is None


@pytest.mark.parametrize("arguments", [{}, {"path": "日"}, "", None])
def test_a_last_call_that_the_limit_cut_has_no_arguments_however_whole_they_look(
    arguments: Any,
) -> None:
    first, last = _read(USE, {**USE, "input": arguments}, stop_reason="max_tokens").calls
    assert first.arguments == {"path": "日記.md"}
    assert last.arguments is None


def test_whole_arguments_of_a_stream_count_although_the_limit_came_right_after() -> None:
    (call,) = _read({**USE, "input": '{"path": "日記.md"}'}, stop_reason="max_tokens").calls
    assert call.arguments == {"path": "日記.md"}


def test_cut_arguments_are_kept_as_they_came() -> None:
    (call,) = _read({**USE, "input": '{"path": "日'}, stop_reason="max_tokens").calls
    assert (call.arguments, call.raw) == (None, '{"path": "日')


def test_words_cut_by_the_limit_are_an_answer() -> None:
    answer = _read(_said("蟹は"), stop_reason="max_tokens")
    assert (answer.text, answer.finish) == ("蟹は", "max_tokens")


def test_a_pause_is_an_answer() -> None:
    assert _read(_said("続く"), stop_reason="pause_turn").text == "続く"


def test_a_refusal_in_words_is_an_answer_without_calls() -> None:
    answer = _read(_said("できません。"), USE, stop_reason="refusal")
    assert (answer.text, answer.calls) == ("できません。", ())


def test_a_refusal_without_words_is_blocked_and_billed() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "policy 方針"}
    with pytest.raises(ModelCallFailed, match="policy 方針") as caught:
        _read(_said(" "), stop_reason="refusal", stop_details=details)
    assert caught.value.fault is Fault.BLOCKED
    assert caught.value.may_be_billed
    assert caught.value.usage == Usage(input_tokens=10, output_tokens=5)


def test_an_answer_for_which_the_context_had_no_room_is_too_long_and_billed() -> None:
    with pytest.raises(ModelCallFailed, match="claude-sonnet-5") as caught:
        _read(_said("蟹は"), stop_reason="model_context_window_exceeded")
    assert caught.value.fault is Fault.TOO_LONG
    assert caught.value.may_be_billed
    assert caught.value.usage == Usage(input_tokens=10, output_tokens=5)


def test_an_error_in_place_of_a_message_is_that_error() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(ModelCallFailed, match="Overloaded") as caught:
        anthropic_answer(body, PARTY)
    assert caught.value.fault is Fault.OVERLOADED


@pytest.mark.parametrize("body", [None, [], "はい", {}, {"content": None}, {"content": {"a": 1}}])
def test_what_is_no_message_is_nonsense(body: Any) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        anthropic_answer(body, PARTY)
    assert caught.value.fault is Fault.NONSENSE


def test_what_a_cache_took_and_gave_is_part_of_the_input() -> None:
    answer = _read(
        usage={
            "input_tokens": 6,
            "cache_read_input_tokens": 1_000,
            "cache_creation_input_tokens": 300,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
            "output_tokens": 50,
            "output_tokens_details": {"thinking_tokens": 30},
        }
    )
    assert answer.usage == Usage(
        input_tokens=1_306,
        output_tokens=50,
        cached_tokens=1_000,
        cache_write_tokens=100,
        cache_write_long_tokens=200,
        reasoning_tokens=30,
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"cache_creation_input_tokens": 85}, Usage(input_tokens=85, cache_write_long_tokens=85)),
        (
            {"cache_creation": {"ephemeral_1h_input_tokens": 7}},
            Usage(input_tokens=7, cache_write_long_tokens=7),
        ),
        (
            {"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_5m_input_tokens": 2}},
            Usage(input_tokens=9, cache_write_tokens=2, cache_write_long_tokens=7),
        ),
        ({"input_tokens": -5, "output_tokens": None}, Usage()),
        ({"output_tokens": 3, "output_tokens_details": {"thinking_tokens": 9}},
         Usage(output_tokens=3, reasoning_tokens=3)),
        ("many", Usage()),
        (None, Usage()),
    ],
)  # fmt: skip
def test_counts_that_are_missing_or_mad_are_none(usage: Any, expected: Usage) -> None:
    assert _read(usage=usage).usage == expected


def test_two_hundred_calls_are_all_kept() -> None:
    calls = _read(*[USE] * 200, stop_reason="tool_use").calls
    assert len({call.id for call in calls}) == 200


def test_arguments_beyond_reason_are_unread_and_not_lost() -> None:
    deep: Any = {}
    for _ in range(100):
        deep = {"深": deep}
    (call,) = _read({**USE, "input": deep}).calls
    assert call.arguments is None
    assert call.raw
