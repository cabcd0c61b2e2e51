"""Requests to the Responses API: valid by OpenAI's schema, and nothing of them is stored there."""

import json
from typing import Any

import jsonschema
import pytest

from opencrab.adapters.providers.responses.endpoint import ResponsesWire
from opencrab.domain.turn.record import ActionCall
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
)
from tests.unit.adapters.providers.openai_cases import CALL, CASES, PNG, asking

WIRE = ResponsesWire()
MODEL = "gpt-5.2-pro"
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA=="}
REPLAY = {
    "vendor": "responses",
    "model": MODEL,
    "items": [
        THOUGHT,
        {"type": "message", "text": "書きます"},
        {"type": "function_call", "call_id": "call_1"},
    ],
}


def _body(request: ChatRequest, *, stream: bool = False, **info: Any) -> Any:
    known = ModelInfo(**{"name": f"openai:{MODEL}", "vision": True, "temperature": False, **info})
    named = ChatRequest(**{**vars(request), "model": MODEL})
    return json.loads(json.dumps(WIRE.to_wire(named, known, stream=stream)))


@pytest.mark.parametrize("request_", CASES)
def test_every_kind_of_request_fits_the_published_schema(
    request_: ChatRequest, responses_schema: jsonschema.Draft202012Validator
) -> None:
    responses_schema.validate(_body(request_))
    responses_schema.validate(_body(request_, stream=True, temperature=True))
    responses_schema.validate(_body(request_, functions=False, vision=False))


def test_the_schema_would_notice_a_field_that_does_not_exist(
    responses_schema: jsonschema.Draft202012Validator,
) -> None:
    assert not responses_schema.is_valid({**_body(asking()), "max_token": 1})


def test_all_our_actions_fit_the_published_schema(
    our_actions: tuple[ActionSchema, ...], responses_schema: jsonschema.Draft202012Validator
) -> None:
    responses_schema.validate(_body(asking(actions=our_actions)))


@pytest.mark.parametrize("request_", CASES)
def test_nothing_is_stored_and_no_tool_of_openais_own_is_offered(request_: ChatRequest) -> None:
    body = _body(request_)
    assert body["store"] is False
    assert {tool["type"] for tool in body.get("tools", ())} <= {"function"}
    assert "previous_response_id" not in body


def test_a_reasoning_model_is_asked_for_its_thoughts_and_given_no_temperature() -> None:
    body = _body(asking(temperature=0.4, stop=("終",)))
    assert body["include"] == ["reasoning.encrypted_content"]
    assert not {"temperature", "stop"} & body.keys()
    other = _body(asking(temperature=0.4), temperature=True)
    assert (other["temperature"], "include" in other) == (0.4, False)


def test_a_conversation_becomes_items() -> None:
    body = _body(
        asking(
            ChatMessage("user", "見て", images=(PNG,)),
            ChatMessage("assistant", "書きます", calls=(CALL,)),
            CallReturn(CALL.id, CALL.name, '{"ok":true}'),
            ChatMessage("assistant", "書きました"),
            require_action=True,
        )
    )
    assert body["instructions"] == "あなたは蟹です。You are a crab."
    assert body["tool_choice"] == "required"
    picture, said, called, returned, last = body["input"]
    assert [part["type"] for part in picture["content"]] == ["input_text", "input_image"]
    assert said == {"role": "assistant", "content": "書きます"}
    assert (called["type"], called["name"]) == ("function_call", CALL.name)
    assert json.loads(called["arguments"]) == CALL.arguments
    assert returned == {
        "type": "function_call_output",
        "call_id": called["call_id"],
        "output": '{"ok":true}',
    }
    assert last == {"role": "assistant", "content": "書きました"}


def _turns(replay: Any, *calls: ActionCall) -> tuple[ChatMessage | CallReturn, ...]:
    answer = ChatMessage("assistant", "書きます", calls=calls, replay=replay)
    results = (CallReturn(call.id, call.name, "済") for call in calls)
    return (ChatMessage("user", "書いて"), answer, *results)


def test_thoughts_go_back_in_their_places(
    responses_schema: jsonschema.Draft202012Validator,
) -> None:
    body = _body(asking(*_turns(REPLAY, CALL)))
    responses_schema.validate(body)
    _, thought, said, called, returned = body["input"]
    assert thought == THOUGHT
    assert said == {"role": "assistant", "content": "書きます"}
    assert (called["call_id"], returned["call_id"]) == ("call_1", "call_1")


@pytest.mark.parametrize(
    "replay",
    [
        None,
        {**REPLAY, "model": "gpt-5.3-pro"},
        {**REPLAY, "vendor": "anthropic"},
        {**REPLAY, "items": [THOUGHT]},
        {**REPLAY, "items": "x"},
    ],
)
def test_thoughts_of_another_model_or_other_calls_do_not(replay: Any) -> None:
    body = _body(asking(*_turns(replay, CALL)))
    assert "reasoning" not in json.dumps(body["input"])
    assert [item.get("type") for item in body["input"]][2:] == [
        "function_call",
        "function_call_output",
    ]
