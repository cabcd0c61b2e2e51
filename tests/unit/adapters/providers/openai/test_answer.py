"""What comes back: a server's reply becomes an answer, or ModelCallFailed with its reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.openai.answer import REPLAY_BYTES, openai_answer
from opencrab.adapters.providers.wire.lenient import RAW_BYTES
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.turn.record import ModelAnswer
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
    "reasoning_content", "reasoning_details", "finish_reason", "model", "text", "id",
)  # fmt: skip
likely = st.recursive(
    anything,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KNOWN), inner, min_size=1, max_size=5)
    ),
    max_leaves=20,
)
PARTY = ErrorParty("蟹屋", "crab-1", "CRAB_API_KEY")


def _said(content: Any, **message: Any) -> ModelAnswer:
    return openai_answer(completion({"content": content, **message}))


def _arguments(arguments: Any) -> Any:
    (call,) = openai_answer(completion(calling("ws_write", arguments))).calls
    return call


@given(anything | likely)
def test_any_json_becomes_an_answer_or_unanswered(body: Any) -> None:
    try:
        answer = openai_answer(body)
    except ModelCallFailed:
        return
    answer.model_dump_json()


@given(likely, likely, likely)
def test_any_message_becomes_an_answer_or_unanswered(message: Any, usage: Any, finish: Any) -> None:
    choice = {"message": message, "finish_reason": finish}
    try:
        answer = openai_answer({"choices": [choice], "usage": usage})
    except ModelCallFailed:
        return
    assert ModelAnswer.model_validate_json(answer.model_dump_json()) == answer
    assert 0 <= answer.usage.cached_tokens <= answer.usage.input_tokens


@pytest.mark.parametrize("text", ["こんにちは。", "Hello.", "🦀", "改行\nされた", "  "])
def test_words_arrive_as_they_were_said(text: str) -> None:
    answer = _said(text)
    assert (answer.text, answer.calls, answer.finish) == (text.strip(), (), "stop")
    assert answer.model == "crab-1"
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 5)


@pytest.mark.parametrize(
    "body",
    [None, [], "text", 3, {}, {"choices": None}, {"choices": []}, {"choices": [3]},
     {"choices": [{}]}, {"choices": [{"message": None}]}, {"choices": {"0": {}}}],
)  # fmt: skip
def test_a_body_without_a_message_is_nonsense(body: Any) -> None:
    with pytest.raises(ModelCallFailed, match="蟹屋") as caught:
        openai_answer(body, PARTY)
    assert caught.value.fault is Fault.NONSENSE


def test_nonsense_that_was_counted_keeps_its_count() -> None:
    with pytest.raises(ModelCallFailed) as caught:
        openai_answer({"choices": [], "usage": {"prompt_tokens": 7}})
    assert caught.value.usage is not None
    assert caught.value.usage.input_tokens == 7
    assert caught.value.may_be_billed


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ({"code": 502, "message": "落ちました"}, Fault.SERVER_ERROR),
        ({"code": 402, "message": "no credit"}, Fault.QUOTA_SPENT),
        ({"message": "maximum context length is 8192"}, Fault.TOO_LONG),
        ("provider died", Fault.SERVER_ERROR),
    ],
)
def test_an_error_that_came_with_success_is_an_error(error: Any, fault: Fault) -> None:
    message = {"content": "途中まで"}
    choice = {"message": message, "error": error}
    for body in ({"error": error}, completion(message) | {"error": error}, {"choices": [choice]}):
        with pytest.raises(ModelCallFailed) as caught:
            openai_answer(body, PARTY)
        assert caught.value.fault is fault
        assert caught.value.may_be_billed or "usage" not in body


def _finished(finish: str, message: Any) -> Any:
    body = completion(message)
    body["choices"][0]["finish_reason"] = finish
    return body


def test_an_answer_that_was_filtered_before_its_first_word_is_none() -> None:
    with pytest.raises(ModelCallFailed) as caught:
        openai_answer(_finished("content_filter", {"content": None}))
    assert caught.value.fault is Fault.BLOCKED
    assert caught.value.may_be_billed
    assert openai_answer(_finished("content_filter", {"content": "途中"})).text == "途中"


def test_a_filtered_choice_without_a_message_is_blocked() -> None:
    body = completion({}) | {"choices": [{"index": 0, "finish_reason": "content_filter"}]}
    with pytest.raises(ModelCallFailed) as caught:
        openai_answer(body)
    assert caught.value.fault is Fault.BLOCKED
    assert caught.value.usage is not None


@pytest.mark.parametrize("message", [{"content": None}, {"content": "途中"}, calling("a", "{}")])
def test_an_answer_that_its_server_lost_is_none_however_much_of_it_came(message: Any) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        openai_answer(_finished("error", message))
    assert caught.value.fault is Fault.SERVER_ERROR
    assert caught.value.may_be_billed


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ("", None),
        (None, None),
        ({}, None),
        ({"a": 1}, None),
        ('{"a": ', None),
        ('{"a": 1}', {"a": 1}),
    ],
)
def test_the_last_call_of_an_answer_that_was_cut_is_unread_unless_its_text_is_whole(
    arguments: Any, read: Any
) -> None:
    given_: list[Any] = [{}, arguments]
    entries = [calling("ws_write", each)["tool_calls"][0] for each in given_]
    body = _finished("length", {"content": None, "tool_calls": entries})
    assert [call.arguments for call in openai_answer(body).calls] == [{}, read]


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
    "content", ["<think>考え中</think>答え", "はい<memory>m</memory>", "a\n\n\nb"]
)
def test_a_wire_takes_nothing_out_of_the_words(content: str) -> None:
    assert _said(content).text == content
    assert _said(content).thought is None


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_beside_the_words_is_a_thought(field: str) -> None:
    answer = _said("はい", **{field: " 外 "})
    assert answer.thought is not None
    assert answer.thought.judgment == "外"
    assert _said("はい", **{field: {"not": "text"}}).thought is None


def test_words_beside_a_call_are_what_it_was_meant_for() -> None:
    body = completion(calling("ws_read", '{"path":"日記.md"}') | {"content": "日記を読みます"})
    answer = openai_answer(body)
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


def test_half_characters_and_nul_do_not_survive() -> None:
    assert _arguments('{"a": "x\\ud83e\\udd80\\u0000y\\ud83d"}').arguments == {"a": "x🦀y\ufffd"}
    assert _said("x\ud83e\udd80\x00y\ud83d").text == "x🦀y\ufffd"


def test_the_older_form_of_a_call_is_understood() -> None:
    older = {"content": None, "function_call": {"name": "ws_list", "arguments": "{}"}}
    (call,) = openai_answer(completion(older)).calls
    assert (call.id, call.name, call.arguments) == ("c0", "ws_list", {})


def test_ids_are_our_own_whatever_the_server_sends() -> None:
    entries = [{"id": "same", "function": {"name": name}} for name in ("a", "b")]
    message = {"tool_calls": [None, *entries, {}]}
    calls = openai_answer(completion(message)).calls
    assert [(call.id, call.name) for call in calls] == [("c0", "a"), ("c1", "b")]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 4}, (10, 4, 0, 0)),
        ({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 20}, (10, 10, 0, 0)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 5}}, (9, 0, 5, 0)),
        # Audio that Mistral was sent: in the total, but in neither part of it.
        ({"prompt_tokens": 4, "completion_tokens": 8, "total_tokens": 400,
          "prompt_audio_seconds": 31}, (392, 8, 0, 0)),
        ({"prompt_tokens": 4, "completion_tokens": 8, "total_tokens": 400,
          "prompt_tokens_details": {"audio_tokens": 388}}, (392, 8, 0, 0)),
        # OpenAI counts it as part of the prompt.
        ({"prompt_tokens": 40, "completion_tokens": 8, "total_tokens": 48,
          "prompt_tokens_details": {"audio_tokens": 30}}, (40, 8, 0, 0)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 50}, (9, 0, 9, 0)),
        ({"completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 6}},
         (0, 7, 0, 6)),
        ({"completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 60}},
         (0, 7, 0, 7)),
        ({"prompt_tokens": -5, "completion_tokens": float("nan")}, (0, 0, 0, 0)),
        ({"prompt_tokens": True, "completion_tokens": "12"}, (0, 12, 0, 0)),
        ({"prompt_tokens": 3.9, "completion_tokens": 10**30}, (3, 2**31 - 1, 0, 0)),
        (None, (0, 0, 0, 0)), ("many", (0, 0, 0, 0)), ([], (0, 0, 0, 0)),
    ],
)  # fmt: skip
def test_tokens_are_counted_and_nonsense_counts_as_none(
    usage: Any, counted: tuple[int, int, int, int]
) -> None:
    used = openai_answer(completion({"content": "ok"}, usage=usage)).usage
    found = (used.input_tokens, used.output_tokens, used.cached_tokens, used.reasoning_tokens)
    assert found == counted


def test_what_was_written_to_a_cache_is_counted_within_the_input() -> None:
    details = {"cached_tokens": 3, "cache_write_tokens": 50}
    usage = {"prompt_tokens": 10, "prompt_tokens_details": details}
    used = openai_answer(completion({"content": "ok"}, usage=usage)).usage
    assert (used.cached_tokens, used.cache_write_tokens) == (3, 7)


def test_an_answer_that_names_no_model_is_of_the_one_that_was_asked() -> None:
    assert openai_answer(completion({"content": "やあ"}, model=None), PARTY).model == "crab-1"
    assert openai_answer(completion({"content": "やあ"}, model="other"), PARTY).model == "other"


def test_two_hundred_calls_are_two_hundred_calls() -> None:
    function = {"name": "知らない", "arguments": '{"n": 1}'}
    calls = openai_answer(completion({"tool_calls": [{"function": function}] * 200})).calls
    assert len({call.id for call in calls}) == 200
    assert {call.name for call in calls} == {"知らない"}


def test_five_megabytes_are_an_answer_as_well() -> None:
    text = "蟹は歩く。" * 350_000
    assert openai_answer(completion({"content": text})).text == text


def test_thoughts_before_a_call_are_kept_for_the_model_that_wants_them_back() -> None:
    thought = {"reasoning_content": "まず読む"}
    calling_ = calling("ws_read", "{}")
    replay = openai_answer(completion(calling_ | thought), PARTY).replay
    assert replay == {"model": "crab-1", "reasoning_content": "まず読む"}
    assert openai_answer(completion({"content": "はい", **thought}), PARTY).replay is None
    assert openai_answer(completion(calling_ | {"reasoning": "まず読む"}), PARTY).replay is None


def test_details_of_reasoning_are_kept_with_the_ids_that_they_name() -> None:
    details = [{"type": "reasoning.encrypted", "data": "c2VjcmV0", "id": "call_1"}]
    message = calling("ws_read", "{}") | {"reasoning_details": details}
    assert openai_answer(completion(message), PARTY).replay == {
        "model": "crab-1",
        "reasoning_details": details,
        "ids": ["call_1"],
    }


@pytest.mark.parametrize("text", ["x" * REPLAY_BYTES, "half \ud83d", float("nan")])
def test_what_no_journal_can_keep_is_not_kept(text: Any) -> None:
    message = {"content": "ok", "reasoning_details": [{"type": "reasoning.text", "text": text}]}
    assert openai_answer(completion(message), PARTY).replay is None
