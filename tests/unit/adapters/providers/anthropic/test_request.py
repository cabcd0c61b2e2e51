"""What goes out to Anthropic: bodies that its schema accepts and its caches know again."""

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.anthropic.request import anthropic_request
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    Image,
    ModelInfo,
)

WRITE = ActionSchema(
    name="ws_write",
    description="ファイルを書く。Write a file.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
READ = ActionSchema(name="ws_read", description="読む。Read.", parameters={"properties": {}})
INFO = ModelInfo(name="anthropic:claude-opus-4.6", vision=True)
CALL = ActionCall(
    id="c1_0", name="ws_write", arguments={"path": "日記.md", "content": "今日は晴れ"}
)
OTHER = ActionCall(id="c1_1", name="ws_read", arguments={})
SIGNED = {"type": "thinking", "thinking": "まず書こう。", "signature": "EqYC"}


def _request(*turns: ChatMessage | CallReturn, **changes: Any) -> ChatRequest:
    wanted: dict[str, Any] = {
        "model": "claude-opus-4.6",
        "actions": (WRITE, READ),
        "system": "あなたは蟹です。You are a crab.",
        "turns": turns or (_user("凛 (u1): こんにちは。Hello! 🦀", name="u1"),),
        "max_output_tokens": 200,
    }
    return ChatRequest(**{**wanted, **changes})


def _body(
    *turns: ChatMessage | CallReturn, info: ModelInfo = INFO, **changes: Any
) -> dict[str, Any]:
    return anthropic_request(_request(*turns, **changes), info, stream=True)


def _said(text: str = "", **changes: Any) -> ChatMessage:
    return ChatMessage("assistant", text, **changes)


def _user(text: str, **changes: Any) -> ChatMessage:
    return ChatMessage("user", text, **changes)


def _replay(*blocks: Any, model: str = "claude-opus-4-6") -> dict[str, Any]:
    return {"vendor": "anthropic", "model": model, "blocks": list(blocks)}


def _follows_the_rules(body: dict[str, Any]) -> None:
    """What the schema cannot say: who speaks when, and which result belongs to which call."""
    messages = body["messages"]
    assert [each["role"] for each in messages] == [
        "assistant" if place % 2 else "user" for place in range(len(messages))
    ]
    assert messages[-1]["role"] == "user"
    called: list[str] = []
    seen: set[str] = set()
    for message in messages:
        blocks = message["content"]
        assert blocks
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert sorted(results) == sorted(called)
        assert all(block["type"] == "tool_result" for block in blocks[: len(results)])
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert not seen & set(called)
        assert len(set(called)) == len(called)
        seen |= set(called)
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
    marks = _marks(body)
    assert len(marks) <= 4
    assert marks == sorted(marks)


def _marks(body: dict[str, Any]) -> list[str]:
    """How long each marked part is kept, in the order in which a cache reads them."""
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    for message in body["messages"]:
        blocks += message["content"]
    return [block["cache_control"]["ttl"] for block in blocks if "cache_control" in block]


@pytest.mark.parametrize(
    "body",
    [
        _body(),
        _body(require_action=True, stop=("\n", "終わり")),
        _body(actions=(), require_action=True, system=" "),
        _body(_user("見て", images=(Image("image/png", "aGk="), Image("image/tiff", "x")))),
        _body(
            _user("書いて"),
            _said(calls=(CALL, OTHER)),
            CallReturn(OTHER.id, OTHER.name, ""),
            CallReturn(CALL.id, CALL.name, '{"done": true}'),
            _said("書きました。"),
            _user("12:00"),
        ),
        _body(
            _said(calls=(ActionCall(id="ん" * 90, name="", arguments=None, raw="{"),)),
            CallReturn("ん" * 90, "", "壊れた"),
        ),
        _body(
            _user("go"),
            _said(calls=(CALL,), replay=_replay(SIGNED, {"type": "tool_use", "id": "toolu_1"})),
            CallReturn(CALL.id, CALL.name, "ok"),
            _user("12:01"),
        ),
    ],
)
def test_every_kind_of_request_fits_the_published_schema(
    body: dict[str, Any], messages_schema: jsonschema.Draft202012Validator
) -> None:
    messages_schema.validate(body)
    _follows_the_rules(body)


def test_all_our_actions_fit_the_published_schema(
    our_actions: tuple[ActionSchema, ...], messages_schema: jsonschema.Draft202012Validator
) -> None:
    body = _body(actions=our_actions)
    messages_schema.validate(body)
    assert [tool["name"] for tool in body["tools"]] == [action.name for action in our_actions]


def test_the_schema_would_notice_a_field_that_does_not_exist(
    messages_schema: jsonschema.Draft202012Validator,
) -> None:
    body = _body()
    assert not messages_schema.is_valid({**body, "max_token": 1})
    body["messages"][0]["content"][0]["name"] = "rin"
    assert not messages_schema.is_valid(body)


names = st.sampled_from(["ws_write", "", "書く", "a.b c", "x" * 200])
ids = st.sampled_from(["c1_0", "c1_1", "h7", "t1.s1.c0", "ん", ""])
texts = st.sampled_from(["", "  \n", "こんにちは", "hello 🦀", "\ud83e"])
arguments = st.none() | st.dictionaries(st.text(max_size=3), st.integers() | st.text(), max_size=2)
calls = st.lists(
    st.builds(ActionCall, id=ids, name=names, arguments=arguments, raw=texts), max_size=3
).map(tuple)
blocks = st.lists(
    st.sampled_from(
        [
            SIGNED,
            {"type": "redacted_thinking", "data": "Evg"},
            {"type": "text", "text": "では"},
            {"type": "tool_use", "id": "toolu_1"},
            {"type": "tool_use", "id": "だめ"},
            {"type": "thinking", "thinking": 1},
            {"type": ["x"]},
            None,
        ]
    ),
    max_size=5,
)
replays = st.one_of(
    st.none(),
    blocks.map(lambda kept: _replay(*kept)),
    st.just({"vendor": "google", "blocks": 3}),
    st.just({"vendor": "anthropic", "model": "claude-opus-4-6", "blocks": {}}),
)
images = st.sampled_from([(), (Image("image/webp", "aGk="),)])
turns = st.one_of(
    st.builds(ChatMessage, st.just("user"), texts, images=images),
    st.builds(ChatMessage, st.just("assistant"), texts, calls=calls, replay=replays),
    st.builds(CallReturn, ids, names, texts),
)
conversations = st.lists(turns, max_size=10).map(tuple)


@given(conversation=conversations, functions=st.booleans(), vision=st.booleans())
def test_any_conversation_alternates_and_has_a_result_for_each_call(
    messages_schema: jsonschema.Draft202012Validator,
    conversation: tuple[ChatMessage | CallReturn, ...],
    *,
    functions: bool,
    vision: bool,
) -> None:
    info = ModelInfo(name="anthropic:x", functions=functions, vision=vision)
    body = anthropic_request(_request(turns=conversation), info, stream=True)
    messages_schema.validate(body)
    _follows_the_rules(body)


def _before_the_last_mark(body: dict[str, Any]) -> str:
    """What a cache can serve: the body up to its last mark, in the order of caching."""
    text = json.dumps([body.get("tools"), body.get("system"), body["messages"]])
    return text[: text.rfind("cache_control")]


@given(conversations, turns, turns)
def test_requests_that_differ_in_the_last_turn_are_the_same_up_to_the_last_mark(
    conversation: tuple[ChatMessage | CallReturn, ...],
    last: ChatMessage | CallReturn,
    other: ChatMessage | CallReturn,
) -> None:
    one, two = (_body(turns=(*conversation, turn)) for turn in (last, other))
    assert _before_the_last_mark(one) == _before_the_last_mark(two)


def test_a_grown_conversation_begins_with_what_was_cached() -> None:
    said = (_user("やあ"), _said(calls=(CALL,)))
    grown = (*said, CallReturn(CALL.id, CALL.name, "ok"))
    before = _body(*said, _user("12:00"))["messages"]
    after = _body(*grown, _user("12:01"))["messages"]
    assert before[0] == after[0]
    assert _marks(_body(*grown, _user("12:01"))) == ["1h", "1h", "5m"]


def test_the_volatile_turn_carries_no_mark() -> None:
    body = _body(_user("やあ"), _user("書いて"), _user("時刻 12:00"))
    assert [block.get("cache_control") for block in body["messages"][0]["content"]] == [
        None,
        {"type": "ephemeral", "ttl": "5m"},
        None,
    ]


def test_tools_and_system_are_kept_for_an_hour() -> None:
    body = _body()
    assert body["tools"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert "cache_control" not in body["tools"][0]
    assert body["system"][0]["cache_control"]["ttl"] == "1h"


def test_results_of_one_message_come_together_right_after_its_calls() -> None:
    body = _body(
        _user("go"),
        _said("はい", calls=(CALL, OTHER)),
        CallReturn(OTHER.id, OTHER.name, "二"),
        CallReturn(CALL.id, CALL.name, "一"),
        _user("12:00"),
    )
    assert [block["type"] for block in body["messages"][1]["content"]] == [
        "text",
        "tool_use",
        "tool_use",
    ]
    assert [
        (block.get("tool_use_id"), block.get("content", block.get("text")))
        for block in body["messages"][2]["content"]
    ] == [("c1_1", "二"), ("c1_0", "一"), (None, "12:00")]


def test_a_call_that_nobody_answered_gets_a_result_that_says_so() -> None:
    body = _body(
        _user("go"),
        _said(calls=(CALL,)),
        _user("もう？"),
        CallReturn(CALL.id, CALL.name, "遅い"),
        _user("12:00"),
    )
    result, *words = body["messages"][2]["content"]
    assert result["tool_use_id"] == CALL.id
    assert "no result" in result["content"]
    assert [block["text"] for block in words] == ["もう？", "[ws_write → 遅い]", "12:00"]


def test_arguments_that_could_not_be_read_go_back_as_an_object() -> None:
    call = ActionCall(id="c1_0", name="ws_write", arguments=None, raw='{"path": "日')
    body = _body(_user("go"), _said(calls=(call,)), _user("?"))
    assert body["messages"][1]["content"][0]["input"] == {"unreadable": '{"path": "日'}


def test_ids_and_names_that_anthropic_refuses_are_replaced_alike_in_call_and_result() -> None:
    call = ActionCall(id="t1.s1.c0", name="書く", arguments={})
    body = _body(
        _user("go"), _said(calls=(call,)), CallReturn(call.id, call.name, "ok"), _user("?")
    )
    (used,) = body["messages"][1]["content"]
    assert used["id"] == body["messages"][2]["content"][0]["tool_use_id"] != call.id
    assert used["name"] == "__"


def test_a_model_without_functions_reads_calls_as_words() -> None:
    info = ModelInfo(name="anthropic:x", functions=False)
    body = _body(
        _user("go"),
        _said(calls=(OTHER,)),
        CallReturn(OTHER.id, OTHER.name, "蟹"),
        info=info,
        require_action=True,
    )
    assert "tools" not in body
    assert "tool_choice" not in body
    assert body["messages"][1]["content"][0]["text"] == "[ws_read: {}]"
    assert body["messages"][2]["content"][0]["text"] == "[ws_read → 蟹]"


def test_thoughts_go_back_verbatim_and_in_their_places() -> None:
    second = {"type": "redacted_thinking", "data": "Evg"}
    kept = _replay(
        SIGNED,
        {"type": "text", "text": "では。"},
        {"type": "tool_use", "id": "toolu_1"},
        second,
        {"type": "tool_use", "id": "toolu_2"},
    )
    body = _body(
        _user("go"),
        _said(calls=(CALL, OTHER), replay=kept),
        CallReturn(CALL.id, CALL.name, "ok"),
        CallReturn(OTHER.id, OTHER.name, "ok"),
        _user("12:00"),
    )
    first, words, one, thought, two = body["messages"][1]["content"]
    assert (first, thought) == (SIGNED, second)
    assert words["text"] == "では。"
    assert (one["id"], one["input"], two["id"]) == ("toolu_1", CALL.arguments, "toolu_2")
    results = body["messages"][2]["content"][:2]
    assert [block["tool_use_id"] for block in results] == ["toolu_1", "toolu_2"]


@pytest.mark.parametrize(
    "replay",
    [
        _replay(SIGNED, {"type": "tool_use", "id": "toolu_1"}, model="claude-sonnet-5"),
        _replay(SIGNED),
        {"vendor": "google", "parts": []},
        {},
    ],
)
def test_thoughts_of_another_model_or_another_answer_stay_at_home(replay: dict[str, Any]) -> None:
    said = _said(calls=(CALL,), replay=replay)
    body = _body(_user("go"), said, CallReturn(CALL.id, CALL.name, "ok"))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]


def test_a_thought_never_takes_the_mark() -> None:
    kept = _replay({"type": "tool_use", "id": "toolu_1"}, SIGNED)
    said = _said(calls=(CALL,), replay=kept)
    body = _body(_user("go"), said, CallReturn(CALL.id, CALL.name, "ok"))
    call, thought = body["messages"][1]["content"]
    assert call["cache_control"]["ttl"] == "5m"
    assert thought == SIGNED


@pytest.mark.parametrize(
    ("asked", "sent"), [(0.1, 0.1), (1.0, 1.0), (1.7, 1.0), (0.0, 0.0), (None, None)]
)
def test_the_temperature_is_one_at_most(asked: float | None, sent: float | None) -> None:
    assert _body(temperature=asked).get("temperature") == sent


def test_a_model_that_forbids_a_temperature_is_asked_without_one() -> None:
    info = ModelInfo(name="anthropic:claude-sonnet-5", temperature=False)
    assert "temperature" not in _body(temperature=0.5, info=info)


def test_blank_stops_are_left_out() -> None:
    assert _body(stop=("\n", "", "終"))["stop_sequences"] == ["終"]
    assert "stop_sequences" not in _body(stop=("\n",))
    assert "stop_sequences" not in _body(stop=("終",), info=replace(INFO, stop=False))


def test_a_forced_call_is_asked_for_where_the_model_takes_it() -> None:
    assert _body(require_action=True)["tool_choice"] == {"type": "any"}
    assert "tool_choice" not in _body(require_action=True, model="claude-opus-5-5")
    assert "tool_choice" not in _body()


def test_images_come_before_the_words_about_them_and_only_where_they_can_be_seen() -> None:
    said = _user("何？", images=(Image("image/jpeg", "aGk="),))
    image, words = _body(said)["messages"][0]["content"]
    assert image["source"] == {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}
    assert words["text"] == "何？"
    (words,) = _body(said, info=ModelInfo(name="anthropic:x"))["messages"][0]["content"]
    assert words["type"] == "text"


def test_the_same_request_is_the_same_body_and_leaves_the_request_as_it_was() -> None:
    request = _request(_user("a"), _said("b"), _user("c"))
    first = json.dumps(anthropic_request(request, INFO, stream=False))
    assert json.dumps(anthropic_request(request, INFO, stream=False)) == first
    assert "cache_control" not in READ.model_dump_json()
    assert "stream" not in json.loads(first)
