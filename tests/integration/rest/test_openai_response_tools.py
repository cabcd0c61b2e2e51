"""A client's own tools over OpenAI's Responses, judged by OpenAI's specification."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from opencrab.adapters.answer_hub import AnswerHub
from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.domain.access.authority import Scope
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Language
from opencrab.gateways.rest.http.polling import PollingWatch
from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.gateways.rest.openai.response_object import ResponseObject
from opencrab.gateways.rest.openai.response_stream import ResponseStream
from opencrab.ports.conversation.answers import AnswerPart
from tests.integration.rest.house import House
from tests.integration.rest.test_openai import ask, error
from tests.integration.rest.test_openai_responses import RESPONSES, respond, schema, text
from tests.integration.rest.test_openai_tools import SCHEMA, WEATHER, calling, script

__all__ = ["schema"]

TOOLS = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": None}]


@pytest.fixture
def working(house: House) -> Iterator[House]:
    house.agent("Mika")
    with house.worker():
        yield house


def output(call: dict[str, Any], said: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call["call_id"], "output": said}


def streamed(house: House, schema: Any, **body: Any) -> list[dict[str, Any]]:
    """The events of a streamed response, each of which fits the specification."""
    return told_events(
        ask(house, RESPONSES, {"model": "Mika", "stream": True, **body}).text, schema
    )


def told_events(streamed: str, schema: Any) -> list[dict[str, Any]]:
    """The events in a text, each of which fits the specification."""
    found = [json.loads(row[6:]) for row in streamed.split("\n") if row.startswith("data: ")]
    for event in found:
        schema(event, "ResponseStreamEvent")
    return found


@pytest.mark.parametrize("parts", [False, True], ids=["text", "parts"])
def test_a_response_waits_for_its_client(working: House, schema: Any, parts: bool) -> None:  # noqa: FBT001
    model = script(working, calling(WEATHER, WEATHER), ScriptedAnswer(text="晴れ🦀"))
    first = respond(working, "天気は?", tools=TOOLS).json()
    schema(first)
    calls = first["output"]
    assert [(call["type"], call["name"]) for call in calls] == [
        ("function_call", "get_weather")
    ] * 2
    assert json.loads(calls[0]["arguments"]) == WEATHER[1]
    said = [{"type": "input_text", "text": "21度"}] if parts else "21度"
    results = [output(call, said) for call in calls]
    second = respond(working, results, previous_response_id=first["id"], tools=TOOLS).json()
    schema(second)
    assert text(second) == "晴れ🦀"
    assert second["id"] != first["id"]
    assert "21度" in str(model.requests[1].turns)
    assert first["usage"]["total_tokens"] > 0 < second["usage"]["total_tokens"]
    for told in (first, second):
        read = ask(working, f"{RESPONSES}/{told['id']}").json()
        assert read["id"] == told["id"]
    assert text(ask(working, f"{RESPONSES}/{second['id']}").json()) == "晴れ🦀"
    script(working, ScriptedAnswer(text="はい"))
    third = respond(working, "次は?", previous_response_id=second["id"])
    assert text(third.json()) == "はい"
    turn = working.runtime.home.journal.header(third.headers["X-OpenCrab-Turn"])
    assert turn.session_id == third.headers["X-OpenCrab-Session"]
    # A client that keeps the conversation itself sends all of it.
    script(working, calling(WEATHER), ScriptedAnswer(text="whole"))
    told = [{"role": "user", "content": "もう一度"}]
    (call,) = respond(working, told, tools=TOOLS).json()["output"]
    whole = respond(working, [*told, call, output(call, "21")], tools=TOOLS).json()
    assert text(whole) == "whole"


def test_a_stream_tells_calls_as_items(working: House, schema: Any) -> None:
    script(working, calling(WEATHER), ScriptedAnswer(text="sunny"))
    events = streamed(working, schema, input="weather?", tools=TOOLS)
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds == [
        "created",
        "in_progress",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    (call,) = events[-1]["response"]["output"]
    more = streamed(working, schema, input=[output(call, "21")])
    assert "".join(each["delta"] for each in more if each["type"].endswith("text.delta")) == "sunny"


def test_words_before_a_call_stay_an_item_of_their_own(working: House, schema: Any) -> None:
    """Models say something before they call a tool; it is shown, though no line is kept of it."""
    working.furnish(answers=AnswerHub())
    script(working, calling(WEATHER))
    first = respond(working, "天気は?", tools=TOOLS)
    home = working.runtime.home
    turn = home.journal.header(first.headers["X-OpenCrab-Turn"])
    answer = CompletionAnswer.of(working.runtime, turn, Language.EN)
    asked = ResponseObject(id="resp_x", created_at=1, status="queued", model="Mika")
    stream = ResponseStream(answer, asked)
    words = AnswerPart(turn.session_id, turn.agent_id, turn.id, 1, "潮を見ます🦀")
    working.runtime.answers.publish(words)

    async def read() -> str:
        events = stream.events(PollingWatch(0.02), 9, content_hash(working.owner.encode()))
        return "".join([event async for event in events])

    found = told_events(asyncio.run(read()), schema)
    added = [e for e in found if e["type"] == "response.output_item.added"]
    done = [e for e in found if e["type"] == "response.output_item.done"]
    for events in (added, done):
        places = [(e["output_index"], e["item"]["type"]) for e in events]
        assert places == [(0, "message"), (1, "function_call")]
    message, called = found[-1]["response"]["output"]
    assert message["content"][0]["text"] == "潮を見ます🦀"
    assert called["name"] == "get_weather"


def test_each_call_may_have_its_result_behind_it(working: House) -> None:
    model = script(working, calling(WEATHER, WEATHER), ScriptedAnswer(text="晴れ"))
    calls = respond(working, "天気は?", tools=TOOLS).json()["output"]
    told: list[dict[str, Any]] = [{"role": "user", "content": "天気は?"}]
    for place, call in enumerate(calls):
        told += [call, output(call, f"{place}番🌊")]
    assert text(respond(working, told, tools=TOOLS).json()) == "晴れ"
    shown = str(model.requests[1].turns)
    assert "0番🌊" in shown
    assert "1番🌊" in shown


def test_only_the_client_and_owners_read_what_a_tool_is_called_with(working: House) -> None:
    script(working, calling(WEATHER), ScriptedAnswer(text="晴れ"))
    (secret, _), (member, _), (reader, _) = map(working.key, (Scope.CHAT, Scope.CHAT, Scope.READ))
    asked = {"model": "Mika", "input": "天気は?", "tools": TOOLS}
    first = ask(working, RESPONSES, asked, Authorization=f"Bearer {secret}")
    working.invite(first.headers["X-OpenCrab-Session"], member)
    path = f"{RESPONSES}/{first.json()['id']}"

    def read(key: str) -> list[str]:
        found = ask(working, path, Authorization=f"Bearer {key}")
        assert found.status_code == 200
        return [item["type"] for item in found.json()["output"]]

    assert [read(key) for key in (secret, working.owner)] == [["function_call"]] * 2
    assert [read(key) for key in (member, reader)] == [[], []]


@pytest.mark.parametrize(
    ("item", "word"),
    [
        ({"type": "function_call_output", "call_id": "call_x_1_0", "output": "x"}, "waits"),
        ({"type": "function_call_output", "output": "x"}, "no call_id"),
        ({"type": "function_call_output", "call_id": "call_x_1_0"}, "no output"),
        (
            {
                "type": "function_call_output",
                "call_id": "call_x_1_0",
                "output": [{"type": "input_image", "image_url": "x"}],
            },
            "parts of the type",
        ),
    ],
)
def test_results_of_unknown_calls_are_refused(
    working: House, item: dict[str, Any], word: str
) -> None:
    answer = ask(working, RESPONSES, {"model": "Mika", "input": [item]})
    told = error(answer, answer.status_code)
    assert answer.status_code in {404, 422}
    assert word in told["message"]
    assert told["param"] == "input"
