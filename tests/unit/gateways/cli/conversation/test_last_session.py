"""Chat goes on where this person stopped, and says where that was."""

import json
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from opencrab.domain.conversation.session import Hearing, SessionStatus
from opencrab.domain.turn.turn import TurnStatus
from tests.unit.gateways.cli.server import CTRL_C, Program, Server, ok, page
from tests.unit.gateways.cli.views import (
    NOW,
    agent_view,
    answered,
    line_view,
    reply_view,
    session_view,
    story_view,
)

ADA = agent_view("Ada")
SAY = "POST /sessions/s1/messages"


def last(**changes: Any) -> dict[str, Any]:
    """The conversation `s1` with Ada, which has a title."""
    return session_view("ada-id", **changes) | {"title": "来週の計画"}


OTHERS = [
    session_view("ada-id", id="s2", updated_at=NOW - timedelta(days=9)),
    session_view("ada-id", "ben-id", id="s3", updated_at=NOW + timedelta(days=1)),
    session_view("ada-id", id="s4", updated_at=NOW + timedelta(days=1), status=SessionStatus.ENDED),
    session_view("ada-id", id="s5", updated_at=NOW + timedelta(days=1), goal="G1"),
    session_view("ada-id", id="s6", updated_at=NOW + timedelta(days=1), guild_id="7"),
    session_view("ada-id", id="s7", updated_at=NOW + timedelta(days=1), hearing=Hearing.PRIVATE),
]
"""Older, with others, ended, of a task, in a server, and in a private place."""


@pytest.fixture
def server() -> Server:
    server = Server()
    server.on("GET /agents", page(ADA))
    server.on("GET /sessions", page(*OTHERS, last()))
    server.on("GET /sessions/s1", ok(last()))
    server.on("POST /sessions", ok(session_view("ada-id", id="s9"), 201))
    for name in ("s1", "s9"):
        server.on(f"GET /sessions/{name}/messages", page())
        server.on(f"POST /sessions/{name}/messages", ok(answered(reply_view("Ada", "hi"))))
    return server


@pytest.fixture
def program(program: Program) -> Program:
    program.now = lambda: NOW + timedelta(hours=3, minutes=20)
    return program


def places(server: Server) -> list[str]:
    posts = (each for each in server.requests if each.method == "POST")
    return [each.url.path.removeprefix("/api") for each in posts]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "continuing “来週の計画”, 3 hours ago; /new begins another"),
        ("ja", "「来週の計画」の続きです(3時間前)。/new で新しい会話を始めます"),
    ],
)
def test_the_last_conversation_goes_on(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("GET /sessions/s1/messages", page(line_view(1, "Kana", "月曜は?")))
    shown = program.sit("--language", language, "chat", "Ada", typed=["hi"])
    assert said in shown.out
    assert shown.out.index(said) < shown.out.index("月曜は?")
    assert places(server) == ["/sessions/s1/messages"]
    asked = next(each for each in server.requests if each.url.path == "/api/sessions")
    assert (asked.url.params["agent_id"], asked.url.params["mine"]) == ("ada-id", "true")


@pytest.mark.parametrize(
    ("seconds", "age"),
    [(-5, "just now"), (59, "just now"), (60, "a minute ago"), (7_200, "2 hours ago"),
     (90_000, "a day ago"), (864_000, "10 days ago")],
)  # fmt: skip
def test_the_age_is_in_the_largest_unit(program: Program, seconds: int, age: str) -> None:
    def now() -> datetime:
        return NOW + timedelta(seconds=seconds)

    program.now = now
    assert f", {age};" in program.sit("chat", "Ada").out


def test_a_new_one_begins_on_request_or_if_there_is_none(program: Program, server: Server) -> None:
    program.sit("chat", "Ada", "--new", typed=["hi"])
    server.on("GET /sessions", page(*OTHERS[1:]))
    assert "continuing" not in program.sit("chat", "Ada", typed=["hi"]).out
    assert places(server) == ["/sessions", "/sessions/s9/messages"] * 2


def test_a_script_continues_only_what_it_asks_to_continue(program: Program, server: Server) -> None:
    program.run("chat", "Ada", "--say", "hi")
    program.run("chat", "Ada", "-c", "--say", "hi")
    assert places(server) == ["/sessions", "/sessions/s9/messages", "/sessions/s1/messages"]


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "there is no conversation with Ada to continue"),
        ("ja", "Ada との続けられる会話はまだありません"),
    ],
)
def test_nothing_to_continue_is_said(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("GET /sessions", page())
    wrong = program.run("--language", language, "chat", "Ada", "-c", "--say", "hi")
    assert (wrong.code == 0, said in wrong.err) == (False, True)


def test_two_conversations_at_once_are_refused(program: Program) -> None:
    for extra in (("--new", "-c"), ("--session", "s1", "--new"), ("-c", "--session", "s1")):
        wrong = program.run("chat", "Ada", *extra, "--say", "hi")
        assert (wrong.code, "only one of" in wrong.err) == (2, True)


def test_an_answer_that_was_on_its_way_is_waited_for_again(
    program: Program, server: Server
) -> None:
    say = "POST /sessions/s1/messages"
    server.on(say, ok(answered(pending=("t1",))), httpx.ReadTimeout("the terminal closed"))
    server.on("GET /turns/t1", ok(story_view(status=TurnStatus.RUNNING)))
    program.sit("chat", "Ada", typed=["hi", CTRL_C, CTRL_C])
    done = ok(answered(reply_view("Ada", "ここです")))
    server.on(say, ok(answered(pending=("t1",))), done)
    shown = program.sit("chat", "Ada")
    assert "Ada is still answering your last message" in shown.out
    assert "ここです" in shown.out
    keys = {each.headers["Idempotency-Key"] for each in server.requests if each.method == "POST"}
    assert len(keys) == 1
    assert "still answering" not in program.sit("chat", "Ada").out


@pytest.mark.parametrize("age", [timedelta(days=2), None])
def test_an_old_exchange_and_a_broken_file_are_left_alone(
    program: Program, server: Server, age: timedelta | None
) -> None:
    file = program.data.parent / "state" / "opencrab" / "chat_left.json"
    file.parent.mkdir(parents=True)
    at = NOW - (age or timedelta())
    kept: dict[str, Any] = {
        "session_id": "s1",
        "text": "hi",
        "speaker": None,
        "key": "k",
        "parts": [],
    }
    file.write_text(json.dumps(kept | {"at": at.isoformat()}) if age else "{broken")
    program.sit("chat", "Ada")
    assert places(server) == []
