"""AG-UI: pages run agents and follow them, by the rules of whoever holds the key."""

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.domain.access.authority import Scope
from opencrab.gateways.rest.app import create_rest_app, offer_ag_ui_to_rest_app
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.integration.rest.house import SETUP, House, problem
from tests.integration.rest.test_openai import PNG

WRITE = "write public/潮.txt: 満潮"


def serve(house: House, longest_seconds: int | None = None) -> House:
    """Let a house serve AG-UI; with a limit as a function does."""
    house.app = create_rest_app(
        house.runtime,
        watch=PollingWatch(0.02),
        setup=lambda _: SETUP,
        longest_seconds=longest_seconds,
    )
    offer_ag_ui_to_rest_app(house.app)
    return house


@pytest.fixture
def working(house: House) -> Iterator[House]:
    """A house that serves AG-UI and whose turns run by themselves."""
    with serve(house).worker():
        yield house


def post(
    house: House, body: Any, key: str = "", agent: str = "Mika", language: str = ""
) -> httpx.Response:
    """The answer to a body, as it is or as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {
        "Authorization": f"Bearer {key or house.owner}",
        "Content-Type": "application/json",
        "Accept-Language": language,
    }

    async def ask() -> httpx.Response:
        async with house.client() as client:
            return await client.post(f"/ag-ui/{agent}", content=content, headers=headers)

    return asyncio.run(ask())


def asked(text: Any = "say hello", number: str = "m1", **more: Any) -> dict[str, Any]:
    """The input of a run with one message."""
    message = {"id": number, "role": "user", "content": text}
    plain = {"threadId": "t", "runId": "r", "tools": [], "context": [], "messages": [message]}
    return {**plain, **more}


def resumed(interrupt: str, payload: Any = None, status: str = "resolved") -> dict[str, Any]:
    entry = {"interruptId": interrupt, "status": status}
    return asked(resume=[entry if payload is None else {**entry, "payload": payload}])


def run(house: House, body: Any, key: str = "", language: str = "") -> list[dict[str, Any]]:
    """The events of a run, which begins and ends as all do."""
    answer = post(house, body, key, language=language)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    rows = [row.removeprefix("data: ") for row in answer.text.splitlines() if row[:5] == "data:"]
    events = [json.loads(row) for row in rows]
    assert events[0]["type"] == "RUN_STARTED"
    assert events[-1]["type"] in {"RUN_FINISHED", "RUN_ERROR"}
    return events


def words(events: list[dict[str, Any]]) -> str:
    return "".join(each["delta"] for each in events if each["type"] == "TEXT_MESSAGE_CONTENT")


def types(events: list[dict[str, Any]]) -> list[str]:
    return [each["type"] for each in events]


def waiting(house: House, key: str = "") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The events of a run that waits for a decision, and its interrupt."""
    events = run(house, asked(WRITE), key)
    outcome = events[-1]["outcome"]
    assert outcome["type"] == "interrupt"
    (interrupt,) = outcome["interrupts"]
    return events, interrupt


def test_nothing_of_it_is_there_unless_it_is_on(house: House) -> None:
    house.agent("Mika")
    problem(post(house, asked()), 404)


@pytest.mark.parametrize(("said", "heard"), [("say hello", "hello"), ("say 満潮🦀", "満潮🦀")])
def test_a_thread_is_a_session_and_a_run_a_turn(working: House, said: str, heard: str) -> None:
    working.agent("Mika")
    first = run(working, asked(said, state={"tide": 1}))
    assert words(first) == heard
    assert first[-1] == {
        "type": "RUN_FINISHED",
        "threadId": "t",
        "runId": "r",
        "outcome": {"type": "success"},
    }
    snapshot = first[-2]["snapshot"]
    assert snapshot["tide"] == 1
    session = snapshot["opencrab"]["sessionId"]
    assert first[0]["metadata"]["opencrab"]["sessionId"] == session
    earlier = {"id": "a1", "role": "assistant", "content": heard}
    newest = {"id": "m2", "role": "user", "content": [{"type": "text", "text": "say more"}]}
    second = run(working, asked(messages=[asked(said)["messages"][0], earlier, newest]))
    assert second[0]["metadata"]["opencrab"]["sessionId"] == session
    assert working.lines(session) == [said, heard, "say more", "more"]
    # The same message again is the same turn, and another thread another session.
    assert words(run(working, asked(said, runId="again"))) == heard
    assert working.lines(session)[4:] == []
    other = run(working, asked(said, threadId="u"))
    assert other[0]["metadata"]["opencrab"]["sessionId"] != session
    assert run(working, asked("another", "m2"))[-1]["code"] == "conflict"


def test_threads_of_two_keys_with_one_name_are_two(working: House) -> None:
    working.agent("Mika")
    mine = run(working, asked("say mine"))
    theirs = run(working, asked("say theirs"), working.chat)
    assert words(theirs) == "theirs"
    places = {each[0]["metadata"]["opencrab"]["sessionId"] for each in (mine, theirs)}
    assert len(places) == 2


@pytest.mark.parametrize("approved", [True, False])
def test_an_interrupt_is_answered_and_the_run_goes_on(working: House, *, approved: bool) -> None:
    agent_id = working.agent("Mika", policy="strict")
    events, interrupt = waiting(working)
    start, arguments, end = events[1:4]
    assert types(events[1:4]) == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    assert start["toolCallName"] == "ws_write"
    assert json.loads(arguments["delta"]) == {"path": "public/潮.txt", "content": "満潮"}
    assert interrupt["toolCallId"] == start["toolCallId"] == end["toolCallId"]
    assert (interrupt["reason"], "ws_write" in interrupt["message"]) == ("tool_call", True)
    blocked = run(working, asked("more", "m2"))
    assert (blocked[-1]["type"], interrupt["id"] in blocked[-1]["message"]) == ("RUN_ERROR", True)
    stale = {"approved": approved, "argumentHash": "0" * 64}
    assert run(working, resumed(interrupt["id"], stale))[-1]["type"] == "RUN_ERROR"
    given = {
        "approved": approved,
        "argumentHash": interrupt["metadata"]["opencrab"]["argumentHash"],
    }
    after = run(working, resumed(interrupt["id"], given))
    assert "TOOL_CALL_START" not in types(after)
    (result,) = [each for each in after if each["type"] == "TOOL_CALL_RESULT"]
    assert result["toolCallId"] == interrupt["toolCallId"]
    assert json.loads(result["content"])["success"] is approved
    assert after[-1]["outcome"]["type"] == ("success" if approved else "cancelled")
    again = run(working, resumed(interrupt["id"], given))
    assert (words(again), again[-1]) == (words(after), after[-1])
    files = working.got(f"/agents/{agent_id}/workspace?prefix=public")["items"]
    assert len(files) == approved
    assert words(run(working, asked("say on", "m3"))) == "on"


def test_who_may_not_decide_sees_no_arguments_and_decides_nothing(working: House) -> None:
    working.agent("Mika", policy="strict")
    events, interrupt = waiting(working, working.chat)
    assert [each["delta"] for each in events if each["type"] == "TOOL_CALL_ARGS"] == ["{}"]
    assert "argumentHash" not in interrupt["metadata"]["opencrab"]
    refused = run(working, resumed(interrupt["id"], {"approved": True}), working.chat)
    assert refused[-1]["type"] == "RUN_ERROR"
    # An interrupt of another thread is none of this one.
    foreign = run(working, resumed(interrupt["id"], {"approved": True}))
    assert foreign[-1]["type"] == "RUN_ERROR"
    assert working.got("/approvals")["items"][0]["state"] == "pending"


def test_an_abandoned_interrupt_is_a_rejected_call(working: House) -> None:
    working.agent("Mika", policy="strict")
    _, interrupt = waiting(working)
    assert run(working, resumed(interrupt["id"], status="cancelled"))[-1]["outcome"] == {
        "type": "cancelled"
    }
    two = asked(resume=[{"interruptId": x, "status": "cancelled"} for x in (interrupt["id"], "x")])
    assert run(working, two)[-1]["type"] == "RUN_ERROR"


def test_pictures_and_what_the_page_says_reach_the_agent(working: House) -> None:
    agent_id = working.agent("Mika", language="ja")
    picture = {"type": "data", "value": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    content = [{"type": "text", "text": "say seen"}, {"type": "image", "source": picture}]
    context = [{"description": "潮位", "value": {"cm": 120}}]
    events = run(working, asked(content, context=context))
    assert events[-1]["outcome"]["type"] == "success"
    session = events[0]["metadata"]["opencrab"]["sessionId"]
    assert '潮位: {"cm": 120}' in working.lines(session)[0]
    stored = working.got(f"/agents/{agent_id}/workspace?prefix=uploads")["items"]
    assert [each["path"].rpartition("/")[2] for each in stored] == ["picture.png"]


def test_a_run_that_brings_nothing_says_why(working: House) -> None:
    working.agent("Mika")
    working.script(ScriptedAnswer(error="refused"))
    failed = run(working, asked("do something"))[-1]
    assert failed["type"] == "RUN_ERROR"
    assert failed["message"]


def test_a_function_answers_with_what_there_is_in_time(house: House) -> None:
    house.agent("Mika")
    serve(house, longest_seconds=1)
    assert run(house, asked("say late"))[-1]["code"] == "unavailable"
    house.work()
    events = run(house, asked("say late"))
    assert (words(events), events[-1]["outcome"]["type"]) == ("late", "success")


def test_a_key_that_is_revoked_while_a_function_waits_gets_no_answer(house: House) -> None:
    agent = house.agent("Mika")
    secret, kept = house.key(Scope.CHAT)
    serve(house, longest_seconds=20)
    with house.revoking(kept, agent):
        answer = post(house, asked("say 満潮🦀"), secret)
    assert "revoked" in problem(answer, 401)["detail"]
    assert "満潮" not in answer.text


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house in which nothing may happen."""
    house = serve(House(tmp_path_factory.mktemp("bad")))
    house.agent("Mika")
    yield house
    assert house.runtime.home.turns.receive(visibility_seconds=1, wait_seconds=0) is None
    house.close()


RESUME = {"interruptId": "x", "status": "resolved"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"{", "body"),
        ([], "body"),
        (asked(threadId=""), "threadId"),
        (asked(runId=7), "runId"),
        (asked(messages=[]), "messages"),
        (asked(messages={}), "messages"),
        (asked(messages=[{"id": "a", "role": "assistant", "content": "x"}]), "messages"),
        (asked(" "), "messages.0.content"),
        (asked(7), "messages.0.content"),
        (asked("x", ""), "messages.0.id"),
        (asked([{"type": "audio"}]), "messages.0.content.0"),
        (
            asked(
                [{"type": "image", "source": {"type": "url", "value": "http://169.254.169.254"}}]
            ),
            "messages.0.content.0",
        ),
        (
            asked([{"type": "image", "source": {"type": "data", "value": "*"}}]),
            "messages.0.content.0",
        ),
        (
            asked([{"type": "image", "source": {"type": "data", "value": "eA=="}}] * 5),
            "messages.0.content",
        ),
        (asked(context=[7]), "context.0"),
        (asked("x" * 70_000), "messages"),
        (asked(resume=[{**RESUME, "status": "yes"}]), "resume.0"),
        (asked(resume=[RESUME]), "resume.0.payload"),
        (asked(resume=[{**RESUME, "payload": {"approved": "yes"}}]), "resume.0.payload"),
        (
            asked(resume=[{**RESUME, "payload": {"approved": True, "editedArgs": {}}}]),
            "resume.0.payload",
        ),
        (asked(resume=[RESUME] * 17), "resume"),
        (asked(resume=[{"status": "cancelled"}]), "resume.0.interruptId"),
    ],
)
def test_input_that_cannot_be_taken_is_named(refusing: House, body: Any, field: str) -> None:
    problem(post(refusing, body), 422, field)


def test_keys_and_agents_are_checked(refusing: House) -> None:
    problem(post(refusing, asked(), "wrong"), 401)
    problem(post(refusing, asked(), refusing.read), 403)
    problem(post(refusing, asked(), agent="nobody"), 404, "agent")
    problem(post(refusing, b'{"a":"' + bytes(50 << 20)), 413)
