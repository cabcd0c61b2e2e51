"""What goes out: bodies that OpenAI's own schema accepts, byte for byte the same each time."""

import json
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.providers.openai_request import encoded, to_wire
from opencrab.domain.agent import Agent
from opencrab.domain.record import Call
from opencrab.domain.value import Language
from opencrab.ports.model import ActionSchema, ChatRequest, Returned, Said

WRITE = ActionSchema(
    name="ws_write",
    description="ファイルを書く。Write a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
)
BORN = datetime(2026, 3, 1, tzinfo=UTC)
CALL = Call(id="t1.s1.c0", name="ws_write", arguments={"path": "日記.md", "content": "今日は晴れ"})


def _request(*turns: Said | Returned, **changes: Any) -> ChatRequest:
    wanted: dict[str, Any] = {
        "model": "gpt-4o-mini",
        "actions": (WRITE,),
        "system": "あなたは蟹です。You are a crab.",
        "turns": turns or (Said("user", "こんにちは。Hello! 🦀", name="rin"),),
        "max_output_tokens": 200,
    }
    return ChatRequest(**{**wanted, **changes})


@pytest.mark.parametrize(
    "request_",
    [
        _request(),
        _request(temperature=0.4),
        _request(model="gpt-5-mini", temperature=0.4),
        _request(model="o4-mini"),
        _request(require_action=True),
        _request(actions=(), require_action=True),
        _request(system=""),
        _request(Said("user", "蟹は？", name="凛")),
        _request(
            Said("user", "書いて", name="rin"),
            Said("assistant", "", calls=(CALL,)),
            Returned(CALL.id, CALL.name, '{"ok":true}'),
            Said("assistant", "書きました。"),
        ),
        _request(
            Said("user", "write"),
            Said("assistant", "はい", calls=(Call(id="c" * 90, name="", arguments=None, raw="{"),)),
            Returned("c" * 90, "", "壊れた"),
        ),
    ],
)
def test_every_kind_of_request_fits_the_published_schema(
    request_: ChatRequest, chat_schema: jsonschema.Draft202012Validator
) -> None:
    chat_schema.validate(json.loads(encoded(request_)))


def test_the_schema_would_notice_a_field_that_does_not_exist(
    chat_schema: jsonschema.Draft202012Validator,
) -> None:
    body = to_wire(_request())
    assert not chat_schema.is_valid({**body, "max_token": 1})


def test_all_our_actions_fit_the_published_schema(
    chat_schema: jsonschema.Draft202012Validator,
) -> None:
    agent = Agent(id="a1", name="蟹", language=Language.JA, created_at=BORN, updated_at=BORN)
    actions = Registry(GROUPS).schemas(agent)
    assert len(actions) >= 7
    chat_schema.validate(json.loads(encoded(_request(actions=actions))))


def test_text_goes_out_as_it_was_written() -> None:
    body = encoded(_request())
    assert "こんにちは。Hello! 🦀".encode() in body
    assert "あなたは蟹です。".encode() in body


def test_half_a_character_does_not_stop_a_request() -> None:
    body = encoded(_request(Said("user", "a\ud83d b")))
    assert json.loads(body)["messages"][-1]["content"] == "a? b"


def test_what_caches_keep_comes_first() -> None:
    assert list(to_wire(_request(temperature=0.0)))[:3] == ["model", "tools", "messages"]
    assert to_wire(_request())["messages"][0]["role"] == "system"


def test_the_same_request_gives_the_same_bytes() -> None:
    assert encoded(_request()) == encoded(_request())


def test_an_action_is_demanded_only_where_there_is_one() -> None:
    assert to_wire(_request(require_action=True))["tool_choice"] == "required"
    assert "tool_choice" not in to_wire(_request())
    bare = to_wire(_request(actions=(), require_action=True))
    assert "tool_choice" not in bare
    assert "tools" not in bare


@pytest.mark.parametrize(
    "model", ["o1", "o4-mini", "gpt-5", "gpt-5.2", "gpt-10", "openai/gpt-5-nano"]
)
def test_a_reasoning_model_gets_neither_temperature_nor_max_tokens(model: str) -> None:
    body = to_wire(_request(model=model, temperature=0.7))
    assert body["max_completion_tokens"] == 200
    assert not {"temperature", "max_tokens"} & set(body)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1", "llama3.1:8b", "olmo-2", "o", "my-gpt-5"])
def test_any_other_model_gets_both(model: str) -> None:
    body = to_wire(_request(model=model, temperature=0.7))
    assert (body["max_tokens"], body["temperature"]) == (200, 0.7)


def test_a_name_that_openai_refuses_is_left_out() -> None:
    named = to_wire(_request(Said("user", "hi", name="rin_1")))["messages"][-1]
    assert named["name"] == "rin_1"
    for name in ("凛", "two words", "a" * 65, ""):
        assert "name" not in to_wire(_request(Said("user", "hi", name=name)))["messages"][-1]


def test_a_call_and_its_result_share_one_id_of_a_length_that_fits() -> None:
    for call_id in ("c0", "c" * 40, "c" * 41, "長い" * 60):
        call = Call(id=call_id, name="ws_write", arguments={})
        said, returned = to_wire(
            _request(Said("assistant", "", calls=(call,)), Returned(call_id, "ws_write", "{}"))
        )["messages"][1:]
        assert said["tool_calls"][0]["id"] == returned["tool_call_id"]
        assert len(returned["tool_call_id"]) <= 40


def test_a_call_goes_out_with_its_own_words_unescaped() -> None:
    (entry,) = to_wire(_request(Said("assistant", "", calls=(CALL,))))["messages"][-1]["tool_calls"]
    assert json.loads(entry["function"]["arguments"]) == CALL.arguments
    assert "今日は晴れ" in entry["function"]["arguments"]


def test_broken_arguments_go_out_as_an_object_that_shows_them() -> None:
    call = Call(id="c0", name="ws write!", arguments=None, raw='{"path": "日')
    (entry,) = to_wire(_request(Said("assistant", "", calls=(call,))))["messages"][-1]["tool_calls"]
    assert json.loads(entry["function"]["arguments"]) == {"unreadable": '{"path": "日'}
    assert entry["function"]["name"] == "ws_write_"


@given(st.text(), st.text(max_size=80), st.text(), st.floats(0, 2) | st.none())
def test_no_text_makes_a_body_that_is_not_json(
    text: str, name: str, raw: str, temperature: float | None
) -> None:
    call = Call(id=name, name=name, arguments=None, raw=raw)
    turns = (Said("user", text, name=name), Said("assistant", text, calls=(call,)))
    request = _request(*turns, Returned(name, name, text), system="蟹", temperature=temperature)
    body = json.loads(encoded(request))
    assert body["messages"][1]["content"].encode() == text.encode("utf-8", "replace")
    assert 1 <= len(body["messages"][2]["tool_calls"][0]["function"]["name"]) <= 64
