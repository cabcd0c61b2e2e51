"""A deployed installation over its WebSocket API: who may come, and what is told live."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.deployed.stack import ANSWER_SECONDS, KEY, ORIGIN, Stack

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]


@contextmanager
def connected(stack: Stack, query: str = "", **headers: str) -> Iterator[ClientConnection]:
    """A client; header names have underscores."""
    url = f"wss://127.0.0.1:{stack.emulator.port}{stack.socket_root}{query}"
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    with connect(
        url,
        ssl=stack.emulator.trust,
        additional_headers=sent,
        open_timeout=ANSWER_SECONDS,
        proxy=None,
    ) as client:
        yield client


def told(client: ClientConnection, kind: str) -> Any:
    """The next event of a kind; others before it are passed over."""
    while True:
        event = json.loads(client.recv(ANSWER_SECONDS))
        if event["type"] == kind:
            return event


def asked(client: ClientConnection, **wish: Any) -> Any:
    """A wish and its answer."""
    client.send(json.dumps({"id": "w", **wish}))
    return told(client, "answer")


def test_nobody_comes_in_without_a_key_or_from_a_foreign_page(stack: Stack) -> None:
    key = {"authorization": f"Bearer {KEY}"}
    for headers in ({}, {"authorization": f"Bearer {KEY}x"}, {**key, "origin": "https://foreign"}):
        with pytest.raises(InvalidStatus), connected(stack, **headers):
            pass


def test_a_session_is_watched_while_it_is_spoken_in(stack: Stack) -> None:
    agent = stack.agent("Rin", "ja")
    session, other = stack.session(agent), stack.session(agent)
    ticket = stack.told("POST", "/tickets")["ticket"]
    with ExitStack() as open_:
        owner = open_.enter_context(connected(stack, authorization=f"Bearer {KEY}"))
        page = open_.enter_context(connected(stack, f"?ticket={ticket}", origin=ORIGIN))
        for client in (owner, page):
            assert asked(client, type="subscribe", session_id=session)["subscribed"]
        stack.say(other, "「これは別の話」と言って", prefer="")
        stack.say(session, "「潮が満ちました」と言って", prefer="")
        for client in (owner, page):
            texts = ""
            while "潮が満ちました" not in texts.partition("言って")[2]:
                texts += str(client.recv(ANSWER_SECONDS))
            assert "別の話" not in texts
    with pytest.raises(InvalidStatus), connected(stack, f"?ticket={ticket}", origin=ORIGIN):
        pass


def test_a_message_over_the_socket_becomes_a_turn(stack: Stack) -> None:
    session = stack.session(stack.agent("Rin"))
    with connected(stack, authorization=f"Bearer {KEY}") as client:
        said = asked(client, type="message", session_id=session, text="say hello")
        (turn_id,) = said["turn_ids"]
        assert stack.ended(turn_id, ANSWER_SECONDS)["status"] == "completed"
        client.send("no JSON")
        assert told(client, "error")["code"]
