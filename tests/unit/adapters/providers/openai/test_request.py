"""What goes out: bodies that OpenAI's own schema accepts, byte for byte the same each time."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.openai.request import openai_request
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    Image,
    ModelInfo,
)
from tests.unit.adapters.providers.openai_cases import CALL, CASES, asked, asking
from tests.unit.adapters.providers.recorded import exchanges


def _body(request: ChatRequest, *, stream: bool = False, **known: Any) -> Any:
    """A body as it goes out, of a model of which this is known."""
    info = ModelInfo(name=f"openai:{request.model}", **{"vision": True, **known})
    body = openai_request(request, info, stream=stream)
    return json.loads(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))


@pytest.mark.parametrize("request_", CASES)
def test_every_kind_of_request_fits_the_published_schema(
    request_: ChatRequest, chat_schema: jsonschema.Draft202012Validator
) -> None:
    chat_schema.validate(_body(request_))
    chat_schema.validate(_body(request_, stream=True, temperature=False))
    chat_schema.validate(_body(request_, functions=False, vision=False))


def test_the_schema_would_notice_a_field_that_does_not_exist(
    chat_schema: jsonschema.Draft202012Validator,
) -> None:
    body = _body(asking())
    assert not chat_schema.is_valid({**body, "max_token": 1})


def test_what_others_asked_in_recordings_fits_in_our_words(
    wire: Path, chat_schema: jsonschema.Draft202012Validator
) -> None:
    for exchange in exchanges(wire, "openai", "chat"):
        if exchange.is_error:
            continue
        body = _body(asked(exchange.asked), stream=exchange.is_stream)
        chat_schema.validate(body)
        theirs = [message["role"] for message in exchange.asked["messages"]]
        assert len(body["messages"]) == len(theirs), exchange.name
        theirs = [
            tool["function"] for tool in exchange.asked.get("tools", ()) if "function" in tool
        ]
        ours = [tool["function"]["name"] for tool in body.get("tools", ())]
        assert ours == [function["name"] for function in theirs], exchange.name


def test_the_schema_that_judges_us_accepts_most_of_what_others_sent(
    wire: Path, chat_schema: jsonschema.Draft202012Validator
) -> None:
    sent = [each.asked for each in exchanges(wire, "openai", "chat") if not each.is_error]
    assert sum(map(chat_schema.is_valid, sent)) > len(sent) * 3 // 4


def test_all_our_actions_fit_the_published_schema(
    our_actions: tuple[ActionSchema, ...], chat_schema: jsonschema.Draft202012Validator
) -> None:
    body = _body(asking(actions=our_actions))
    chat_schema.validate(body)
    told = [tool["function"] for tool in body["tools"]]
    assert [each["name"] for each in told] == [action.name for action in our_actions]
    assert [each["parameters"] for each in told] == [each.parameters for each in our_actions]


def test_text_goes_out_as_it_was_written() -> None:
    system, said = _body(asking())["messages"]
    assert said == {"role": "user", "content": "こんにちは。Hello! 🦀", "name": "rin"}
    assert system["content"] == "あなたは蟹です。You are a crab."


def test_what_caches_keep_comes_first() -> None:
    assert list(_body(asking(temperature=0.0)))[:3] == ["model", "tools", "messages"]
    assert _body(asking())["messages"][0]["role"] == "system"


def test_a_stream_is_asked_for_with_its_usage() -> None:
    body = _body(asking(), stream=True)
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert not {"stream", "stream_options"} & set(_body(asking()))


def test_an_action_is_demanded_only_where_there_is_one() -> None:
    assert _body(asking(require_action=True))["tool_choice"] == "required"
    assert "tool_choice" not in _body(asking())
    bare = _body(asking(actions=(), require_action=True))
    assert "tool_choice" not in bare
    assert "tools" not in bare


def test_a_reasoning_model_gets_no_temperature_no_stop_and_another_limit() -> None:
    body = _body(asking(temperature=0.7, stop=("終",)), temperature=False)
    assert body["max_completion_tokens"] == 200
    assert not {"temperature", "max_tokens", "stop"} & set(body)


def test_any_other_model_gets_all_of_them() -> None:
    body = _body(asking(temperature=0.7, stop=("終", "", "a", "b", "c", "d")))
    assert (body["max_tokens"], body["temperature"]) == (200, 0.7)
    assert body["stop"] == ["終", "a", "b", "c"]
    assert "stop" not in _body(asking(stop=("",)))


def test_pictures_go_to_whom_can_see_them() -> None:
    said = ChatMessage("user", "何の絵？", images=(Image("image/png", "aGVsbG8="),))
    words, picture = _body(asking(said))["messages"][-1]["content"]
    assert words == {"type": "text", "text": "何の絵？"}
    assert picture["image_url"]["url"] == "data:image/png;base64,aGVsbG8="
    blind = _body(asking(said), vision=False)["messages"][-1]
    assert blind == {"role": "user", "content": "何の絵？"}


def test_how_closely_a_picture_is_looked_at_is_passed_on() -> None:
    pictures = (Image("image/png", "aGVsbG8=", detail="low"), Image("image/png", "aGVsbG8="))
    said = ChatMessage("user", "何の絵？", images=pictures)
    _, low, automatic = _body(asking(said))["messages"][-1]["content"]
    assert low["image_url"]["detail"] == "low"
    assert "detail" not in automatic["image_url"]


def test_a_model_without_functions_reads_calls_and_results_as_words() -> None:
    turns = (ChatMessage("assistant", "", calls=(CALL,)), CallReturn(CALL.id, CALL.name, "書けた"))
    body = _body(asking(*turns, require_action=True), functions=False)
    assert not {"tools", "tool_choice"} & set(body)
    assert [message["role"] for message in body["messages"]] == ["system", "assistant", "user"]
    assert "今日は晴れ" in body["messages"][1]["content"]
    assert "書けた" in body["messages"][2]["content"]


def _replayed(model: str, **replay: Any) -> list[dict[str, Any]]:
    said = ChatMessage("assistant", "", calls=(CALL,), replay={"model": "crab-1", **replay})
    request = asking(said, CallReturn(CALL.id, CALL.name, "{}"), model=model)
    messages: list[dict[str, Any]] = _body(request)["messages"][1:]
    return messages


def test_what_a_vendor_wants_back_goes_back_to_the_same_model_only() -> None:
    details = [{"type": "reasoning.text", "text": "考", "signature": "s"}]
    said, returned = _replayed("crab-1", reasoning_details=details, ids=["toolu_1"])
    assert said["reasoning_details"] == details
    assert said["tool_calls"][0]["id"] == returned["tool_call_id"] == "toolu_1"
    said, returned = _replayed("crab-2", reasoning_details=details, ids=["toolu_1"])
    assert "reasoning_details" not in said
    assert said["tool_calls"][0]["id"] == returned["tool_call_id"] == CALL.id
    said, _ = _replayed("crab-1", reasoning_content="考", signature="of another vendor")
    assert said["reasoning_content"] == "考"
    assert "signature" not in said


@pytest.mark.parametrize("ids", [None, [], ["a", "b"], [""], "x", [None]])
def test_ids_that_fit_no_call_are_not_used(ids: Any) -> None:
    said, returned = _replayed("crab-1", ids=ids)
    assert said["tool_calls"][0]["id"] == returned["tool_call_id"] == CALL.id


def test_a_name_that_openai_refuses_is_left_out() -> None:
    named = _body(asking(ChatMessage("user", "hi", name="rin_1")))["messages"][-1]
    assert named["name"] == "rin_1"
    for name in ("凛", "two words", "a" * 65, ""):
        assert "name" not in _body(asking(ChatMessage("user", "hi", name=name)))["messages"][-1]


def test_a_call_and_its_result_share_one_id_of_a_length_that_fits() -> None:
    for call_id in ("c0", "c" * 40, "c" * 41, "長い" * 60):
        call = ActionCall(id=call_id, name="ws_write", arguments={})
        said, returned = _body(
            asking(
                ChatMessage("assistant", "", calls=(call,)), CallReturn(call_id, "ws_write", "{}")
            )
        )["messages"][1:]
        assert said["tool_calls"][0]["id"] == returned["tool_call_id"]
        assert len(returned["tool_call_id"]) <= 40


def test_a_call_goes_out_with_its_own_words_unescaped() -> None:
    (entry,) = _body(asking(ChatMessage("assistant", "", calls=(CALL,))))["messages"][1][
        "tool_calls"
    ]
    assert json.loads(entry["function"]["arguments"]) == CALL.arguments
    assert "今日は晴れ" in entry["function"]["arguments"]


def test_broken_arguments_go_out_as_an_object_that_shows_them() -> None:
    call = ActionCall(id="c0", name="ws write!", arguments=None, raw='{"path": "日')
    (entry,) = _body(asking(ChatMessage("assistant", "", calls=(call,))))["messages"][1][
        "tool_calls"
    ]
    assert json.loads(entry["function"]["arguments"]) == {"unreadable": '{"path": "日'}
    assert entry["function"]["name"] == "ws_write_"


@given(st.text(), st.text(max_size=80), st.text(), st.floats(0, 2) | st.none())
def test_no_text_makes_a_body_that_is_not_json(
    text: str, name: str, raw: str, temperature: float | None
) -> None:
    call = ActionCall(id=name, name=name, arguments=None, raw=raw)
    turns = (ChatMessage("user", text, name=name), ChatMessage("assistant", text, calls=(call,)))
    request = asking(*turns, CallReturn(name, name, text), system="蟹", temperature=temperature)
    body = _body(request)
    assert body["messages"][1]["content"].encode() == text.encode("utf-8", "replace")
    assert 1 <= len(body["messages"][2]["tool_calls"][0]["function"]["name"]) <= 64


def test_each_call_has_its_result_right_after_it_and_strays_become_words() -> None:
    other = ActionCall(id="c1", name="ws_read", arguments={})
    turns = (
        CallReturn("c7", "ws_list", "古い"),
        ChatMessage("assistant", "", calls=(CALL, other)),
        CallReturn("c9", "ws_move", "迷子"),
        CallReturn("c1", "ws_read", "読んだ"),
        ChatMessage("user", "次"),
        ChatMessage("assistant", "", calls=(other,)),
    )
    _, *messages = _body(asking(*turns))["messages"]
    assert [(each["role"], each["content"]) for each in messages] == [
        ("user", "[ws_list → 古い]"),
        ("assistant", None),
        ("tool", "読んだ"),
        ("tool", "no result is known"),
        ("user", "[ws_move → 迷子]"),
        ("user", "次"),
        ("assistant", None),
        ("tool", "no result is known"),
    ]
    assert [each.get("tool_call_id") for each in messages[2:4]] == ["c1", CALL.id]


def test_a_model_that_stops_at_no_text_is_named_none() -> None:
    assert "stop" not in _body(asking(stop=("終わり",)), stop=False)
    assert "stop" in _body(asking(stop=("終わり",)))
