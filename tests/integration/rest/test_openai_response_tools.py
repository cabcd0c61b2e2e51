"""A client's own tools over OpenAI's Responses, judged by OpenAI's specification."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer
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
    answer = ask(house, RESPONSES, {"model": "Mika", "stream": True, **body}).text
    found = [json.loads(row[6:]) for row in answer.split("\n") if row.startswith("data: ")]
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
