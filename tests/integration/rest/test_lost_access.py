"""Whoever loses a key or a session while an answer is waited for hears nothing of it.

Over `/mcp` it is `test_mcp_lost_access`.
"""

import asyncio
import threading
from collections.abc import Callable

import httpx
import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.value import Language
from opencrab.gateways.rest.http.access import identify_http_caller
from opencrab.gateways.rest.http.polling import PollingWatch
from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.gateways.rest.openai.stream import CompletionStream
from tests.integration.rest.a2a_client import A2aClient, sending, serve_a2a
from tests.integration.rest.house import House
from tests.integration.rest.test_mcp_server import turns
from tests.integration.rest.test_openai import ask

WORDS = "say 満潮🦀"
LIMIT = 9

Asks = Callable[[House, str, str], httpx.Response]


def over_a2a(method: str) -> Asks:
    def asks(house: House, key: str, session: str) -> httpx.Response:
        params = sending(WORDS, contextId=session)
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return A2aClient(house, "蟹", key).post(asked)

    return asks


def with_a_wish_to_wait(house: House, key: str, session: str) -> httpx.Response:
    place, sent = f"/sessions/{session}/messages", {"Prefer": "wait=30"}
    return house.call("POST", place, {"text": WORDS}, key=key, headers=sent)


def over_responses(house: House, key: str, session: str) -> httpx.Response:
    """Go on after a turn of one's own in a session of somebody else's."""
    (before,) = house.say(session, "say 干潮", key=key)
    house.work()
    body = {"model": "蟹", "input": WORDS, "previous_response_id": f"resp_{before}"}
    return ask(house, "/v1/responses", body, Authorization=f"Bearer {key}")


WAYS: dict[str, Asks] = {
    "a2a": over_a2a("SendMessage"),
    "a2a-whole-stream": over_a2a("SendStreamingMessage"),
    "prefer-wait": with_a_wish_to_wait,
    "responses": over_responses,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lost", ["key", "session"])
def test_whoever_loses_key_or_session_while_it_waits_hears_no_answer(
    house: House, lost: str, way: str
) -> None:
    secret, kept = house.key(Scope.CHAT)
    agent = house.agent("蟹")
    serve_a2a(house, longest_seconds=LIMIT)
    session = house.made("/sessions", {"participants": [agent]})["id"]
    house.invite(session, secret)
    over, asked_before = threading.Event(), 1 if way == "responses" else 0

    def lose_and_work() -> None:
        while not over.is_set() and len(turns(house, session)) <= asked_before:
            over.wait(0.02)
        place = f"/sessions/{session}/members/{kept.principal.id}"
        gone = house.call("DELETE", f"/keys/{kept.id}" if lost == "key" else place)
        assert gone.status_code < 300, gone.text
        house.work()

    loser = threading.Thread(target=lose_and_work)
    loser.start()
    try:
        heard = WAYS[way](house, secret, session)
    finally:
        over.set()
        loser.join(30)
    assert "満潮" in house.lines(session)[-1]
    assert "満潮" not in heard.text
    assert ("unknown or revoked" if lost == "key" else "there is no") in heard.text
    if lost == "key":
        assert heard.status_code == 401


def test_a_stream_breaks_off_when_its_session_is_not_shared_any_more(house: House) -> None:
    secret, kept = house.key(Scope.CHAT)
    agent = house.agent("蟹")
    session = house.made("/sessions", {"participants": [agent]})["id"]
    house.invite(session, secret)
    (turn_id,) = house.say(session, WORDS, key=secret)
    house.work()
    home = house.runtime.home
    turn = home.journal.header(turn_id)
    caller = identify_http_caller(home.keys, (), secret)

    async def read() -> list[str]:
        answer = CompletionAnswer.of(house.runtime, turn, Language.EN)
        stream = CompletionStream(answer, "蟹", usage=False)
        stream.check_seconds = 0.0
        return [event async for event in stream.events(PollingWatch(0.02), 9, caller.key_hash)]

    assert "満潮" in "".join(asyncio.run(read()))
    place = f"/sessions/{session}/members/{kept.principal.id}"
    assert house.call("DELETE", place).status_code < 300
    assert asyncio.run(read()) == []
