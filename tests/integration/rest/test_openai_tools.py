"""Tools that a client of OpenAI's API runs itself: the turn waits for their results."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.access.authority import Scope
from opencrab.domain.client_tools import CLIENT_CALLS
from opencrab.domain.turn.due_item import CLIENT_WAIT_ITEM
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.autonomy.due_items import admit_or_drop_due_item
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, CallReturn, ChatRequest
from tests.integration.rest.house import House
from tests.integration.rest.test_openai import CHAT, ask, chat, error, said, user

SCHEMA = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "unit": {"enum": ["C", "F"]}},
    "required": ["place"],
}


def tool(name: str, parameters: Any = SCHEMA, **more: Any) -> dict[str, Any]:
    told = {"name": name, "description": f"{name}の説明", "parameters": parameters, **more}
    return {"type": "function", "function": told}


def result(call: dict[str, Any], content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call["id"], "content": content}


class Hearing(Scripted):
    """A scripted model that keeps what it was asked."""

    def __init__(self, *script: ScriptedAnswer) -> None:
        super().__init__(script)
        self.requests: list[ChatRequest] = []

    def chat(self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED) -> Any:
        self.requests.append(request)
        return super().chat(request, body, watch)


def calling(*calls: tuple[str, dict[str, Any]]) -> ScriptedAnswer:
    return ScriptedAnswer(calls=tuple(ScriptedCall(name, given) for name, given in calls))


WEATHER = ("client__get_weather", {"place": "潮岬🌊"})


@pytest.fixture
def working(house: House) -> Iterator[House]:
    with house.worker():
        yield house


def script(house: House, *answers: ScriptedAnswer) -> Hearing:
    model = Hearing(*answers)
    house.thinking.model = model
    return model


def asking(house: House, *tools: dict[str, Any], **more: Any) -> Any:
    offered = list(tools) or [tool("get_weather")]
    return chat(house, "蟹", user("天気は?"), tools=offered, **more)


def calls_of(answer: httpx.Response) -> list[dict[str, Any]]:
    choice = answer.json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls", choice
    found: list[dict[str, Any]] = choice["message"]["tool_calls"]
    return found


def test_the_client_runs_a_call_and_the_same_turn_goes_on(working: House) -> None:
    working.agent("蟹", language="ja")
    model = script(working, calling(WEATHER), ScriptedAnswer(text="晴れです"))
    first = asking(working)
    (call,) = calls_of(first)
    assert said(first)["content"] is None
    assert call["type"] == "function"
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"place": "潮岬🌊"}
    names = [action.name for action in model.requests[0].actions]
    assert names[-1] == "client__get_weather"
    # Nobody is asked twice: the same request again has the same call.
    assert calls_of(asking(working)) == [call]
    told = [user("天気は?"), said(first), result(call, "晴れ、21度")]
    second = chat(working, "蟹", *told, tools=[tool("get_weather")])
    assert said(second) == {"role": "assistant", "content": "晴れです", "refusal": None}
    assert second.json()["choices"][0]["finish_reason"] == "stop"
    for header in ("X-OpenCrab-Session", "X-OpenCrab-Turn"):
        assert first.headers[header] == second.headers[header]
    assert second.json()["id"] != first.json()["id"]
    assert "晴れ、21度" in model.requests[1].turns[-2].content  # type: ignore[union-attr]
    tokens = [each.json()["usage"]["total_tokens"] for each in (first, second)]
    turn = working.runtime.home.journal.header(first.headers["X-OpenCrab-Turn"])
    rows = working.runtime.home.usage.rows(turn.agent_id, limit=9)
    assert sum(tokens) == sum(row.usage.input_tokens + row.usage.output_tokens for row in rows)
    # What came back are words from outside.
    assert turn.taint
    assert turn.status is TurnStatus.COMPLETED
    # The conversation goes on in its session, with what the client keeps of the calls.
    script(working, ScriptedAnswer(text="はい"))
    third = chat(working, "蟹", *told, said(second), user("ありがとう"))
    assert third.headers["X-OpenCrab-Session"] == first.headers["X-OpenCrab-Session"]
    assert working.runtime.home.due.list_due(working.runtime.clock.now() + timedelta(9), 9) == ()


def test_it_survives_the_process(house: House) -> None:
    """All that waits lies in the store: another application takes the results."""
    house.agent("蟹")
    script(house, calling(WEATHER), ScriptedAnswer(text="sunny"))
    with house.worker():
        first = asking(house)
    house.furnish()
    (call,) = calls_of(first)
    with house.worker():
        second = chat(house, "蟹", user("天気は?"), said(first), result(call, "21"))
    assert said(second)["content"] == "sunny"


def test_several_calls_are_asked_together_and_answered_together(working: House) -> None:
    working.agent("蟹")
    other: tuple[str, dict[str, Any]] = ("client__clock", {})
    model = script(working, calling(WEATHER, other), ScriptedAnswer(text="done"))
    first = asking(working, tool("get_weather"), tool("clock", {}))
    calls = calls_of(first)
    assert [call["function"]["name"] for call in calls] == ["get_weather", "clock"]
    told = [user("天気は?"), said(first)]
    one = ask(working, CHAT, {"model": "蟹", "messages": [*told, result(calls[0], "21")]})
    assert "1 results came for 2 calls" in error(one, 422)["message"]
    results = [result(calls[1], "noon"), result(calls[0], "21")]
    assert said(chat(working, "蟹", *told, *results))["content"] == "done"
    shown = [each.content for each in model.requests[1].turns if isinstance(each, CallReturn)]
    assert ["21" in shown[-2], "noon" in shown[-1]] == [True, True]


def test_one_call_at_a_time_if_the_client_wants_that(working: House) -> None:
    working.agent("蟹")
    script(working, calling(WEATHER, ("client__clock", {})), ScriptedAnswer(text="done"))
    tools = [tool("get_weather"), tool("clock")]
    first = asking(working, *tools, parallel_tool_calls=False)
    (call,) = calls_of(first)
    told = [user("天気は?"), said(first), result(call, "21")]
    # The model's second call has no place, so that it never reaches the client.
    assert said(chat(working, "蟹", *told))["content"] == "done"
    script(working, calling(WEATHER, WEATHER), ScriptedAnswer(text="done"))
    first = asking(working, *tools, parallel_tool_calls=False)
    told = [user("天気は?"), said(first), result(calls_of(first)[0], "21")]
    second = chat(working, "蟹", *told)
    (call,) = calls_of(second)
    told += [said(second), result(call, "22")]
    assert said(chat(working, "蟹", *told))["content"] == "done"


def test_results_that_come_twice_are_taken_once_and_others_are_refused(working: House) -> None:
    working.agent("蟹")
    model = script(working, calling(WEATHER), ScriptedAnswer(text="sunny"))
    first = asking(working)
    (call,) = calls_of(first)
    told = [user("天気は?"), said(first)]
    answers = [chat(working, "蟹", *told, result(call, "21")) for _ in "ab"]
    assert [said(answer)["content"] for answer in answers] == ["sunny", "sunny"]
    assert len(model.requests) == 2
    other = ask(working, CHAT, {"model": "蟹", "messages": [*told, result(call, "99")]})
    assert "other results already" in error(other, 409)["message"]


@pytest.mark.parametrize(
    ("change", "status", "word"),
    [
        ({"tool_call_id": "call_abc"}, 404, "waits for a result here"),
        ({"tool_call_id": "call_x_1_0"}, 404, "waits for a result here"),
        ({"tool_call_id": None}, 422, "no tool_call_id"),
        ({"content": "x" * 200_001}, 422, "shorten them to 200000"),
        (
            {"content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]},
            422,
            "pictures",
        ),
    ],
)
def test_results_that_cannot_be_taken_leave_the_turn_waiting(
    working: House, change: dict[str, Any], status: int, word: str
) -> None:
    working.agent("蟹")
    script(working, calling(WEATHER), ScriptedAnswer(text="sunny"))
    first = asking(working)
    (call,) = calls_of(first)
    told = [user("天気は?"), said(first), {**result(call, "21"), **change}]
    answer = ask(working, CHAT, {"model": "蟹", "messages": told})
    assert word in error(answer, status if status != 422 else answer.status_code)["message"]
    assert 400 <= answer.status_code < 500
    told[-1] = result(call, "\x00 hostile \u202e 🦀 ")
    assert said(chat(working, "蟹", *told))["content"] == "sunny"


def test_nobody_else_brings_results_and_no_other_agent_gets_them(working: House) -> None:
    working.agent("蟹")
    working.agent("Ken")
    script(working, calling(WEATHER), ScriptedAnswer(text="sunny"))
    first = asking(working)
    (call,) = calls_of(first)
    told = [user("天気は?"), said(first), result(call, "21")]
    foreign = working.key(Scope.CHAT)[0]
    body = {"model": "蟹", "messages": told}
    answer = ask(working, CHAT, body, Authorization=f"Bearer {foreign}")
    # The same error as for a call that there never was.
    assert "waits for a result here" in error(answer, 404)["message"]
    answer = ask(working, CHAT, {**body, "model": "Ken"})
    assert "waits for a result here" in error(answer, 404)["message"]
    assert said(chat(working, "蟹", *told))["content"] == "sunny"


@pytest.mark.parametrize(("language", "word"), [("ja", "時間内に届かなかった"), ("en", "in time")])
def test_without_results_the_turn_ends_and_says_why(house: House, language: str, word: str) -> None:
    house.agent("蟹", language=language)
    script(house, calling(WEATHER), ScriptedAnswer(text="sunny"))
    with house.worker():
        first = asking(house)
    due = house.runtime.home.due
    hour = house.runtime.clock.now() + timedelta(minutes=59)
    assert due.list_due(hour, 9) == ()
    (item,) = due.list_due(hour + timedelta(minutes=2), 9)
    assert item.id.startswith(CLIENT_WAIT_ITEM)
    admit_or_drop_due_item(house.runtime, item)
    house.work()
    turn = house.runtime.home.journal.header(first.headers["X-OpenCrab-Turn"])
    assert turn.status is TurnStatus.STOPPED
    assert word in house.lines(turn.session_id)[-1]
    assert due.list_due(hour + timedelta(days=1), 9) == ()
    told = [user("天気は?"), said(first), result(calls_of(first)[0], "21")]
    late = ask(house, CHAT, {"model": "蟹", "messages": told})
    assert "does not wait" in error(late, 409)["message"]
    # Who says something else behind them is heard, whatever became of the results.
    script(house, ScriptedAnswer(text="again"))
    with house.worker():
        assert said(chat(house, "蟹", *told, user("もう一度")))["content"] == "again"


def test_a_stop_ends_the_wait_and_an_approval_is_no_result(working: House) -> None:
    working.agent("蟹")
    script(working, calling(WEATHER), ScriptedAnswer(text="sunny"))
    first = asking(working)
    turn = first.headers["X-OpenCrab-Turn"]
    refused = working.call("POST", f"/turns/{turn}/decide", {"approved": True})
    assert "waits for its client" in refused.text
    assert working.got("/approvals")["items"] == []
    assert working.call("POST", f"/turns/{turn}/cancel", {}).status_code == 200
    told = [user("天気は?"), said(first), result(calls_of(first)[0], "21")]
    late = ask(working, CHAT, {"model": "蟹", "messages": told})
    assert "does not wait" in error(late, 409)["message"]


def test_own_actions_still_ask_and_keep_their_names(working: House) -> None:
    """A client's `ws_read` is another one than the agent's, and results taint what follows."""
    working.agent("蟹")
    model = script(
        working,
        calling(("ws_list", {})),
        calling(("client__ws_list", {})),
        ScriptedAnswer(text="done"),
    )
    first = asking(working, tool("ws_list", {"type": "object", "properties": {}}))
    (call,) = calls_of(first)
    assert call["function"]["name"] == "ws_list"
    assert len(model.requests) == 2
    names = [action.name for action in model.requests[0].actions]
    assert {"client__ws_list"} <= set(names)
    told = [user("天気は?"), said(first), result(call, "x")]
    assert said(chat(working, "蟹", *told))["content"] == "done"


def test_arguments_that_do_not_fit_go_back_to_the_model(working: House) -> None:
    working.agent("蟹")
    model = script(
        working,
        calling(("client__get_weather", {"unit": "K", "place": "x"})),
        calling(("get_weather", {"place": "x"})),
        ScriptedAnswer(text="done"),
    )
    # The model's second try says the client's own name, which is no action of ours.
    (call,) = calls_of(asking(working))
    assert json.loads(call["function"]["arguments"]) == {"place": "x"}
    assert "unit must match" in str(model.requests[1].turns)


def test_enormous_results_go_to_a_file_and_their_ends_are_shown(working: House) -> None:
    working.agent("蟹")
    model = script(working, calling(WEATHER), ScriptedAnswer(text="done"))
    first = asking(working)
    told = [user("天気は?"), said(first), result(calls_of(first)[0], "波" * 50_000)]
    assert said(chat(working, "蟹", *told))["content"] == "done"
    shown = str(model.requests[1].turns)
    assert "data/results/" in shown
    assert len(shown) < 20_000


def test_streams_end_with_the_calls(working: House) -> None:
    working.agent("蟹")
    script(working, calling(WEATHER), ScriptedAnswer(text="晴れ🦀"))
    body = {"model": "蟹", "messages": [user("天気は?")], "tools": [tool("get_weather")]}
    streamed = ask(working, CHAT, {**body, "stream": True}).text
    rows = [row.removeprefix("data: ") for row in streamed.split("\n") if row.startswith("data: ")]
    assert rows.pop() == "[DONE]"
    chunks = [json.loads(row)["choices"][0] for row in rows]
    (told,) = [each["delta"]["tool_calls"] for each in chunks if "tool_calls" in each["delta"]]
    assert [call["index"] for call in told] == [0]
    assert chunks[-1]["finish_reason"] == "tool_calls"
    assistant = {"role": "assistant", "content": None, "tool_calls": told}
    more = {**body, "messages": [user("天気は?"), assistant, result(told[0], "21")]}
    streamed = ask(working, CHAT, {**more, "stream": True}).text
    words = [
        json.loads(row[6:])["choices"][0]["delta"].get("content", "")
        for row in streamed.split("\n")
        if row.startswith("data: {")
    ]
    assert "".join(words) == "晴れ🦀"


@pytest.mark.parametrize(
    ("body", "field", "word"),
    [
        ({"tool_choice": "required"}, "tool_choice", "auto or none"),
        ({"tool_choice": {"type": "function", "function": {"name": "a"}}}, "tool_choice", "auto"),
        ({"tools": [tool("a"), tool("a")]}, "tools", "two tools"),
        ({"tools": [tool("空")]}, "tools", "tool 0 has no name"),
        ({"tools": [tool("a" * 65)]}, "tools", "tool 0 has no name"),
        ({"tools": [{"type": "web_search"}]}, "tools", "no function"),
        ({"tools": ["x"]}, "tools", "no function"),
        ({"tools": [tool("a", {"type": "array"})]}, "tools", "describes no object"),
        ({"tools": [tool("a", "x")]}, "tools", "describes no object"),
        ({"tools": [tool("a", {"properties": {"\u202e": {}}})]}, "tools", "invisible"),
        (
            {
                "tools": [
                    tool("a", {"properties": {f"p{n}": {"type": "string"} for n in range(990)}})
                ]
            },
            "tools",
            "16384",
        ),
        ({"tools": [tool(f"a{n}") for n in range(65)]}, "tools", "too many"),
        (
            {"tools": [tool(f"a{n}", {"description": "x" * 999}) for n in range(30)]},
            "tools",
            "shorten them to 32768",
        ),
    ],
)
def test_tools_that_cannot_be_offered_are_refused(
    house: House, body: dict[str, Any], field: str, word: str
) -> None:
    house.agent("蟹")
    answer = ask(house, CHAT, {"model": "蟹", "messages": [user("x")], **body})
    told = error(answer, 422)
    assert told["param"] == field
    assert word in told["message"]


def test_names_of_equal_beginnings_are_different_actions(working: House) -> None:
    working.agent("蟹")
    names = ["a" * 63 + "b", "a" * 63 + "c"]
    model = script(working, ScriptedAnswer(text="x"))
    asking(working, *map(tool, names))
    offered = [each.name for each in model.requests[0].actions if "__aaa" in each.name]
    assert len(set(offered)) == 2
    assert max(map(len, offered)) <= 64
    script(working, calling((offered[1], {"place": "x"})))
    wanted = sorted(names)[sorted(offered).index(offered[1])]
    (call,) = calls_of(asking(working, *map(tool, names)))
    assert call["function"]["name"] in names
    assert wanted in names


def test_no_choice_no_tools_and_turns_without_them_read_nothing_more(working: House) -> None:
    agent = working.agent("蟹")
    model = script(working, ScriptedAnswer(text="x"))
    asking(working, tool_choice="none")
    assert not any(each.name.startswith("client__") for each in model.requests[0].actions)
    kinds = (CLIENT_CALLS, "client_tools")
    assert [working.runtime.home.facts.page(agent, kind, limit=9) for kind in kinds] == [(), ()]
