"""Responses of OpenAI's API: what its clients send, and what they get."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from opencrab.adapters.answer_hub import AnswerHub
from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from tests.integration.rest.house import House
from tests.integration.rest.test_openai import PNG, ask, error, limited
from tests.integration.rest.thinking import PRICE

RESPONSES = "/v1/responses"


@pytest.fixture
def working(house: House) -> Iterator[House]:
    """A house whose turns run by themselves."""
    with house.worker():
        yield house


@pytest.fixture(scope="session")
def schema(wire: Path) -> Any:
    """Judges responses, or events of them, by OpenAI's specification."""
    path = wire / "specs" / "openai" / "responses.min.json"
    components = json.loads(path.read_text(encoding="utf-8"))["components"]

    def judge(value: Any, name: str = "Response") -> None:
        made = {"$ref": f"#/components/schemas/{name}", "components": components}
        jsonschema.Draft202012Validator(made).validate(value)

    return judge


def respond(house: House, said: Any, model: str = "Mika", **more: Any) -> httpx.Response:
    """The answer to a request for a response."""
    answer = ask(house, RESPONSES, {"model": model, "input": said, **more})
    assert answer.status_code == 200, answer.text
    return answer


def text(response: dict[str, Any]) -> str:
    """What a response says."""
    (message,) = response["output"]
    (part,) = message["content"]
    return str(part["text"])


@pytest.mark.parametrize(("first", "second"), [("hello", "and now?"), ("こんにちは", "それから？")])
def test_it_goes_on_after_the_response_that_is_named(
    working: House, schema: Any, first: str, second: str
) -> None:
    house = working
    house.agent("Mika")
    opened = respond(house, first)
    schema(opened.json())
    assert opened.json()["status"] == "completed"
    assert opened.json()["usage"]["total_tokens"] > 0
    after = {"previous_response_id": opened.json()["id"]}
    again = respond(house, second, **after)
    session = opened.headers["X-OpenCrab-Session"]
    assert again.headers["X-OpenCrab-Session"] == session
    assert again.json()["previous_response_id"] == opened.json()["id"]
    assert [line for line in house.lines(session) if line in {first, second}] == [first, second]
    # Going on after an older one branches: the new session knows what came before.
    branch = respond(house, "別の道", **after)
    assert branch.headers["X-OpenCrab-Session"] != session
    quoted = house.lines(branch.headers["X-OpenCrab-Session"])[0]
    assert first in quoted
    assert text(opened.json()) in quoted
    assert second not in quoted
    assert quoted.endswith("別の道")


def test_a_client_may_send_the_whole_conversation_instead(working: House) -> None:
    house = working
    house.agent("Mika")
    opened = respond(house, [{"role": "user", "content": "hello"}]).json()
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    items = [{"role": "user", "content": "hello"}, reasoning, *opened["output"]]
    more = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}]
    again = respond(house, [*items, *more])
    lines = house.lines(again.headers["X-OpenCrab-Session"])
    assert [line for line in lines if line in {"hello", "go"}] == ["hello", "go"]


def test_instructions_are_told_once_and_again_when_they_change(working: House) -> None:
    house = working
    house.agent("Mika")
    first = respond(house, "hello", instructions="Answer in rhymes")
    told = {"instructions": "Answer in rhymes", "previous_response_id": first.json()["id"]}
    second = respond(house, "more", **told)
    third = respond(
        house,
        "third",
        instructions="No rhymes",
        previous_response_id=second.json()["id"],
    )
    session = first.headers["X-OpenCrab-Session"]
    assert third.headers["X-OpenCrab-Session"] == session
    mine = [line for line in house.lines(session) if line.endswith(("hello", "more", "third"))]
    assert mine == [
        "[Instructions of the client]\n\nAnswer in rhymes\n\n[Now]\n\nhello",
        "more",
        "[Instructions of the client]\n\nNo rhymes\n\n[Now]\n\nthird",
    ]


def test_a_response_in_the_background_is_read_by_its_id(house: House, schema: Any) -> None:
    house.agent("Mika")
    begun = respond(house, "slow", background=True).json()
    schema(begun)
    assert begun["status"] == "queued"
    place = f"{RESPONSES}/{begun['id']}"
    assert ask(house, place).json()["status"] == "queued"
    house.work()
    ended = ask(house, place).json()
    schema(ended)
    assert ended["status"] == "completed"
    assert text(ended)


def test_a_response_is_cancelled_before_it_begins(house: House, schema: Any) -> None:
    house.agent("Mika")
    begun = respond(house, "never mind", background=True).json()
    place = f"{RESPONSES}/{begun['id']}"
    ask(house, f"{place}/cancel", {})
    house.work()
    ended = ask(house, place).json()
    schema(ended)
    assert ended["status"] == "cancelled"
    assert ended["output"] == []


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    """The events of a streamed response."""
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = [
        (kind.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for kind, _, data in (
            block.partition("\n") for block in answer.text.split("\n\n") if "data: " in block
        )
    ]
    assert [kind for kind, _ in found] == [event["type"] for _, event in found]
    assert [event["sequence_number"] for _, event in found] == list(range(len(found)))
    return [event for _, event in found]


@pytest.mark.parametrize("is_limited", [False, True], ids=["here", "on Lambda"])
@pytest.mark.parametrize("said", ["The tide is in", "潮が満ちました"])
def test_a_streamed_response_is_the_same(
    house: House,
    schema: Any,
    said: str,
    is_limited: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    house.agent("Mika")
    house.furnish(answers=AnswerHub())
    if is_limited:
        limited(house)
    both = (ScriptedCall("send_speech", {"content": said, "more": True}),)
    house.script(ScriptedAnswer(calls=both), ScriptedAnswer(text="2"))
    with house.worker():
        found = events(respond(house, "say it", stream=True))
    for event in found:
        schema(event, "ResponseStreamEvent")
    words = "".join(each["delta"] for each in found if each["type"].endswith("text.delta"))
    assert words == f"{said}\n\n2"
    assert found[0]["type"] == "response.created"
    assert found[-1]["type"] == "response.completed"
    assert text(found[-1]["response"]) == words
    assert [e["text"] for e in found if e["type"] == "response.output_text.done"] == [words]


def test_a_turn_without_an_answer_says_why(working: House, schema: Any) -> None:
    house = working
    house.agent("Mika", day_limit_micro_usd=0)
    house.thinking.model = Scripted(price=PRICE)
    body = {"model": "Mika", "input": "hello"}
    spent = ask(house, RESPONSES, body)
    assert error(spent, 429)["type"] == "insufficient_quota"
    failed = events(ask(house, RESPONSES, {**body, "stream": True}))[-1]
    schema(failed, "ResponseStreamEvent")
    assert failed["type"] == "response.failed"
    assert failed["response"]["error"]["code"] == "rate_limit_exceeded"


def test_who_may_not_wait_is_told_to_ask_again_and_gets_the_answer(house: House) -> None:
    house.agent("Mika")
    with house.worker():
        opened = respond(house, "hello").json()
    limited(house)
    body = {"model": "Mika", "input": "more", "previous_response_id": opened["id"]}
    turns = [error(ask(house, RESPONSES, body), 503) for _ in range(2)]
    assert "send the same request again" in turns[0]["message"]
    house.work()
    with house.worker():
        late = respond(house, "more", previous_response_id=opened["id"])
    lines = house.lines(late.headers["X-OpenCrab-Session"])
    assert lines.count("more") == 1


def test_a_key_makes_a_request_repeatable_for_good(working: House) -> None:
    house = working
    house.agent("Mika")
    body = {"model": "Mika", "input": "hello"}
    first, again = (ask(house, RESPONSES, body, **{"Idempotency-Key": "r1"}) for _ in range(2))
    assert first.json()["id"] == again.json()["id"]


def test_a_picture_is_shown_to_the_agent(working: House) -> None:
    house = working
    house.agent("Mika")
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    parts = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": url}]
    opened = respond(house, [{"role": "user", "content": parts}])
    first = house.lines(opened.headers["X-OpenCrab-Session"])[0]
    assert first.startswith("look\n[image workspace:uploads/")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"text": {"format": {"type": "json_schema"}}}, "text"),
        ({"text": {"format": "json"}}, "text"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"input": " "}, "input"),
        ({"input": []}, "input"),
        ({"input": 7}, "input"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "input"),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "input"),
        ({"input": [{"role": "assistant", "content": "x"}]}, "input"),
        ({"input": "a" * 70_000}, "input"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"previous_response_id": "x" * 81}, "previous_response_id"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused(
    house: House, wrong: dict[str, Any], field: str
) -> None:
    house.agent("Mika")
    found = error(ask(house, RESPONSES, {"model": "Mika", "input": "hello", **wrong}), 422)
    assert found["type"] == "invalid_request_error"
    assert str(found["param"]).split(".")[0] == field, found


@pytest.mark.parametrize("wrong", ["resp_01m8mtqqcdbw87qzpfx0kdy6tx", "chatcmpl-1", "resp_", "蟹"])
def test_an_unknown_response_is_told(house: House, wrong: str) -> None:
    house.agent("Mika")
    body = {"model": "Mika", "input": "hello", "previous_response_id": wrong}
    assert error(ask(house, RESPONSES, body), 404)["param"] == "previous_response_id"
    assert error(ask(house, f"{RESPONSES}/{wrong}"), 404)["param"] == "response_id"
    assert error(ask(house, f"{RESPONSES}/{wrong}/cancel", {}), 404)["param"] == "response_id"


def test_only_who_may_see_a_response_goes_on_after_it(working: House) -> None:
    house = working
    house.agent("Mika")
    house.agent("Ken")
    mine = respond(house, "a secret").json()["id"]
    of_chat = {"Authorization": f"Bearer {house.chat}"}
    body = {"model": "Mika", "input": "what was it?", "previous_response_id": mine}
    assert error(ask(house, RESPONSES, body, **of_chat), 404)["param"] == "previous_response_id"
    assert error(ask(house, f"{RESPONSES}/{mine}", **of_chat), 404)["code"] == "not-found"
    other = {**body, "model": "Ken"}
    assert error(ask(house, RESPONSES, other), 422)["param"] == "previous_response_id"
    refused = ask(house, RESPONSES, body, Authorization=f"Bearer {house.read}")
    assert error(refused, 403)["type"] == "permission_error"
    # The owner sees what others said, and goes on apart from them.
    theirs = ask(house, RESPONSES, {"model": "Mika", "input": "hi"}, **of_chat)
    mixed = respond(house, "and?", previous_response_id=theirs.json()["id"])
    assert mixed.headers["X-OpenCrab-Session"] != theirs.headers["X-OpenCrab-Session"]
