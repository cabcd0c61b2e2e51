"""Turns that wait while others come to hear their answer: what they have read stays unsaid."""

from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.access.authority import Scope
from opencrab.engine.access.api_keys import principal_of_api_key
from tests.integration.rest.house import House
from tests.integration.rest.test_openai import CHAT, ask, chat, said, user
from tests.integration.rest.test_openai_tools import result, tool

SECRET = "金庫の番号は417417です。"
WRITE = ScriptedAnswer(calls=(ScriptedCall("ws_write", {"path": "x.md", "content": "y"}),))
READ = ScriptedAnswer(calls=(ScriptedCall("ws_read", {"path": "notes/plan.md"}),))


class Recorded(Scripted):
    """A model whose prompts are kept."""

    def __init__(self, *answers: ScriptedAnswer) -> None:
        super().__init__(answers)
        self.prompts: list[str] = []

    def chat(self, request: Any, body: bytes, *more: Any) -> Any:
        """`ChatModel.chat`."""
        self.prompts.append(body.decode())
        return super().chat(request, body, *more)


def asks(house: House, session: str, *answers: ScriptedAnswer, key: str | None = None) -> Recorded:
    """Let a turn wait for approval of WRITE, after it read the file."""
    model = Recorded(READ, WRITE, *answers, ScriptedAnswer(text="できました。"))
    house.thinking.model = model
    house.say(session, "やって", key=key)
    house.work()
    assert len(model.prompts) == 2
    return model


def approve(house: House) -> None:
    (approval,) = house.got("/approvals")["items"]
    assert house.call("POST", f"/approvals/{approval['id']}/decide", {"approved": True}).is_success
    house.work()


def agent_with_a_secret(house: House) -> str:
    agent = house.agent(policy=["read"])
    path = f"/agents/{agent}/workspace/notes/plan.md"
    assert house.call("PUT", path, content=SECRET.encode()).is_success
    return agent


def statuses(house: House, session: str) -> list[str]:
    turns = {line["turn_id"] for line in house.got(f"/sessions/{session}/messages")["items"]}
    return [house.got(f"/turns/{turn}")["status"] for turn in turns if turn]


def principal(house: House, key: str) -> str:
    return principal_of_api_key(house.runtime.home.keys, key).id


def test_an_approved_call_runs_and_then_the_turn_ends_if_somebody_was_invited(
    house: House,
) -> None:
    agent = agent_with_a_secret(house)
    session = str(house.made("/sessions", {"participants": [agent]})["id"])
    model = asks(house, session)
    assert "417417" in model.prompts[1]
    friend, _ = house.key(Scope.CHAT)
    house.invite(session, friend)
    approve(house)
    assert len(model.prompts) == 2, "the model is not asked again"
    assert statuses(house, session) == ["stopped"]
    assert house.call("GET", f"/agents/{agent}/workspace/x.md").content == b"y"
    assert any("読む人が途中で変わり" in text or "Others read" in text for text in
               house.lines(session, key=friend))  # fmt: skip
    # What the narrowed turn wrote has the readers of what it read.
    model = Recorded(
        ScriptedAnswer(calls=(ScriptedCall("ws_read", {"path": "x.md"}),)),
        ScriptedAnswer(text="ありません。"),
    )
    house.thinking.model = model
    house.say(session, "それを見せて", key=friend)
    house.work()
    assert "there is no file" in model.prompts[1]


def test_a_turn_goes_on_if_fewer_hear_it(house: House) -> None:
    agent = agent_with_a_secret(house)
    friend, other = house.key(Scope.CHAT)[0], house.key(Scope.CHAT)[0]
    session = str(house.made("/sessions", {"participants": [agent]})["id"])
    for each in (friend, other):
        house.invite(session, each)
    model = asks(house, session)
    assert "417417" not in model.prompts[1]
    house.call("DELETE", f"/sessions/{session}/members/{principal(house, other)}")
    approve(house)
    assert len(model.prompts) == 3
    assert statuses(house, session) == ["completed"]


@pytest.mark.parametrize("invited", [True, False])
def test_what_one_person_may_know_is_not_told_two(house: House, *, invited: bool) -> None:
    agent = agent_with_a_secret(house)
    person, friend = house.key(Scope.CHAT)[0], house.key(Scope.CHAT)[0]
    session = str(house.made("/sessions", {"participants": [agent]}, key=person)["id"])
    model = asks(house, session, key=person)
    if invited:
        house.invite(session, friend)
    approve(house)
    assert len(model.prompts) == (2 if invited else 3)
    assert statuses(house, session) == ["stopped" if invited else "completed"]


def test_a_turn_that_waited_for_its_client_asks_and_tells_nothing_more(house: House) -> None:
    """Its client brings the results, but whoever came to listen may not know what it has read."""
    agent = agent_with_a_secret(house)
    calls = ScriptedAnswer(calls=(ScriptedCall("client__clock", {}),))
    model = Recorded(READ, calls, calls, ScriptedAnswer(text=SECRET))
    house.thinking.model = model
    tools = [tool("clock", {})]
    with house.worker():
        first = chat(house, agent, user("何時?"), tools=tools)
        session = first.headers["X-OpenCrab-Session"]
        house.invite(session, house.chat)
        (call,) = said(first)["tool_calls"]
        told = [user("何時?"), said(first), result(call, "六時")]
        ended = ask(house, CHAT, {"model": agent, "messages": told, "tools": tools})
    assert ended.status_code == 409, ended.text
    assert len(model.prompts) == 2
    assert statuses(house, session) == ["stopped"]
    assert SECRET not in "".join(house.lines(session, key=house.chat))
