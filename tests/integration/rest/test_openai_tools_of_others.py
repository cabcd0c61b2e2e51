"""Tools of clients where others say the same, share a session, or have tools of like names."""

import json
from collections.abc import Iterator

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.domain.access.authority import Scope
from tests.integration.rest.house import House
from tests.integration.rest.test_openai import CHAT, ask, chat, error, said, user
from tests.integration.rest.test_openai_tools import (
    WEATHER,
    asking,
    calling,
    calls_of,
    result,
    script,
    tool,
)


@pytest.fixture
def working(house: House) -> Iterator[House]:
    with house.worker():
        yield house


def test_who_shares_the_session_learns_nothing_of_anothers_call(working: House) -> None:
    working.agent("蟹")
    script(working, calling(WEATHER), ScriptedAnswer(text="sunny"))
    first = asking(working)
    member = working.key(Scope.CHAT)[0]
    working.invite(first.headers["X-OpenCrab-Session"], member)
    told = [user("天気は?"), said(first), result(calls_of(first)[0], "21")]
    sent = {"Authorization": f"Bearer {member}"}
    answer = ask(working, CHAT, {"model": "蟹", "messages": told}, **sent)
    assert "waits for a result here" in error(answer, 404)["message"]
    answer = ask(working, CHAT, {"model": "蟹", "messages": [*told, user("なに?")]}, **sent)
    assert answer.status_code == 200
    assert answer.headers["X-OpenCrab-Session"] != first.headers["X-OpenCrab-Session"]


def test_a_tool_whose_name_is_that_of_another_ones_action_is_not_called_for_it(
    working: House,
) -> None:
    working.agent("蟹")
    script(working, calling(("client__tide", {"place": "潮岬"})))
    other = {"type": "object", "properties": {"moon": {"type": "string"}}, "required": ["moon"]}
    (call,) = calls_of(asking(working, tool("tide"), tool("client__tide", other)))
    assert call["function"]["name"] == "tide"
    assert json.loads(call["function"]["arguments"]) == {"place": "潮岬"}


def test_a_request_with_other_tools_gets_no_call_of_those_that_wait(working: House) -> None:
    """Two programs with one key may say the same; each gets calls of its own tools only."""
    working.agent("蟹")
    script(working, calling(WEATHER))
    first = asking(working)
    script(working, calling(("client__tide", {"place": "潮岬"})))
    again = asking(working, tool("get_weather", description="今は6時"))
    assert calls_of(again) == calls_of(first)
    other = asking(working, tool("tide"))
    (call,) = calls_of(other)
    assert call["function"]["name"] == "tide"
    assert other.headers["X-OpenCrab-Session"] != first.headers["X-OpenCrab-Session"]
    script(working, ScriptedAnswer(text="波"))
    assert said(chat(working, "蟹", user("天気は?")))["content"] == "波"
