"""Watching a session: whole lines for people, events for scripts, and none lost on the way."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.conversation.live_events import (
    Event,
    TurnMoved,
    events_of_session_line,
    live_session_events_of_turn,
    session_event_for_gap,
    session_event_for_progress,
)
from opencrab.ports.conversation.answers import AnswerPart, CallProgress
from tests.contract.example import NOW, turn
from tests.unit.gateways.cli.insight.test_live_panes import PANES
from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view, line_view, session_view

PLACE = "GET /sessions/s1/events"


def line(text: str, sequence: int, **changes: Any) -> Line:
    fields: dict[str, Any] = {
        "session_id": "s1",
        "group": "m",
        "kind": LineKind.SPEECH,
        "audience": Audience.ALL,
        "speaker_id": "ada",
        "speaker_name": "Ada",
        "from_agent": True,
        "authority": Authority.OWNER,
        "at": NOW,
    } | changes
    return Line(text=text, sequence=sequence, **fields)


def stream(*told: tuple[Event, ...]) -> httpx.Response:
    """Events as the server sends them, and the end of its answer."""
    blocks = ["retry: 1000\n\n", ": still here\n\n"]
    for events in told:
        for event in events:
            sequence = event.get("metadata", {}).get("sequence")
            name = f"id: {sequence}\n" if sequence else ""
            blocks.append(f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n")
    headers = {"Content-Type": "text/event-stream"}
    return httpx.Response(200, headers=headers, content="".join(blocks).encode())


def progress(done: float, total: float | None, text: str) -> Event:
    """How far a call has come."""
    said = CallProgress("mcp__crab__dig", done, total, text)
    return session_event_for_progress(AnswerPart("s1", "ada", "t1", 0, progress=said), NOW)


class Leaving:
    """Waits so often, then presses Ctrl-C."""

    def __init__(self, waits: int) -> None:
        self._waits = waits

    def append(self, _seconds: float) -> None:
        self._waits -= 1
        if self._waits <= 0:
            raise KeyboardInterrupt


@pytest.fixture
def server() -> Server:
    server = Server()
    server.on("GET /sessions/s1", ok(session_view("ada-id", name="海の会")))
    server.on("GET /sessions/s1/messages", page(line_view(7, "Taro", "前")))
    return server


def leaving(program: Program, waits: int) -> None:
    program.pauses = Leaving(waits)  # type: ignore[assignment]


def lasts(server: Server) -> list[str | None]:
    asked = [each for each in server.requests if each.url.path.endswith("/events")]
    return [request.headers.get("Last-Event-ID") for request in asked]


@pytest.mark.parametrize("text", ["海へ行きましょう🦀", "To the sea"])
def test_a_person_reads_who_says_what(program: Program, server: Server, text: str) -> None:
    server.on(PLACE, stream(events_of_session_line(line(text, 8))))
    leaving(program, 1)
    shown = program.sit("watch", "--session", "s1")
    assert shown.code == 0
    for word in ("海の会", "Ada", text):
        assert word in shown.out


def test_a_script_gets_every_event_as_a_line_of_json(program: Program, server: Server) -> None:
    moved = TurnMoved(turn=turn(), status=TurnStatus.RUNNING, at=NOW)
    events = (*live_session_events_of_turn(moved), *events_of_session_line(line("はい", 8)))
    server.on(PLACE, stream(events))
    leaving(program, 1)
    shown = program.run("watch", "--session", "s1")
    assert [json.loads(row) for row in shown.out.splitlines()] == list(events)


def test_a_lost_connection_is_taken_up_after_the_last_line(
    program: Program, server: Server
) -> None:
    lost = httpx.ReadError("gone")
    server.on(
        PLACE,
        stream(events_of_session_line(line("一", 8))),
        lost,
        stream(events_of_session_line(line("二", 9))),
    )
    leaving(program, 3)
    shown = program.run("watch", "--session", "s1")
    assert [json.loads(row)["delta"] for row in shown.out.splitlines()] == ["一", "二"]
    assert lasts(server) == ["7", "8", "8"]
    assert server.requests[-1].url.params["format"] == "agui"


def test_a_place_to_begin_at_may_be_named(program: Program, server: Server) -> None:
    server.on(PLACE, stream())
    leaving(program, 1)
    program.run("watch", "--session", "s1", "--after", "3", "--thoughts")
    assert lasts(server) == ["3"]
    assert "inner_voice" in server.requests[-1].url.params["kinds"]
    assert program.run("watch", "--session", "s1", "--after", "-1").code == 2


def test_a_server_that_stays_away_ends_it(program: Program, server: Server) -> None:
    server.on(PLACE, httpx.ConnectError("refused"))
    shown = program.run("watch", "--session", "s1")
    assert shown.code == 3
    assert len(lasts(server)) > 1


def test_a_long_line_is_shown_when_all_of_it_has_come(program: Program, server: Server) -> None:
    text = "海" * 4_000 + "の終わり"
    server.on(PLACE, stream(events_of_session_line(line(text, 8))))
    leaving(program, 1)
    shown = program.sit("watch", "--session", "s1")
    assert "".join(shown.out.split()).endswith("の終わり")


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (
            lambda: events_of_session_line(line("考え中", 8, kind=LineKind.INNER_VOICE)),
            ("(Ada: 考え中)",),
        ),
        (
            lambda: events_of_session_line(
                line(
                    "ws_write completed",
                    8,
                    kind=LineKind.ACTION,
                    data={
                        "name": "ws_write",
                        "arguments": '{"path":"海.md"}',
                        "result": "ok",
                        "state": "completed",
                    },
                )
            ),
            ("✓ ws_write", "海.md", "ok"),
        ),
        (
            lambda: events_of_session_line(
                line("送信してよいですか", 8, kind=LineKind.APPROVAL, data={})
            ),
            ("送信してよいですか",),
        ),
        (
            lambda: events_of_session_line(
                line("短く", 8, kind=LineKind.SYSTEM, audience=Audience.AGENTS)
            ),
            ("短く",),
        ),
        (
            lambda: live_session_events_of_turn(
                TurnMoved(turn=turn(note="予算切れ"), status=TurnStatus.EXHAUSTED, at=NOW)
            ),
            ("予算切れ",),
        ),
        (lambda: (session_event_for_gap("s1", 3, 90, NOW),), ("between 3 and 90",)),
        (lambda: (progress(2, 4, "掘る🦀"),), ("progress of mcp__crab__dig: 2/4 掘る🦀",)),
        (lambda: (progress(2.5, None, ""),), ("progress of mcp__crab__dig: 2.5",)),
        (lambda: (progress(12345678, 5e9, "バイト"),), ("dig: 12345678/5000000000 バイト",)),
        (lambda: (progress(100 / 3, 100, ""),), ("dig: 33.33/100",)),
    ],
)
def test_everything_that_happens_has_its_look(
    program: Program,
    server: Server,
    events: Callable[[], tuple[Event, ...]],
    words: tuple[str, ...],
) -> None:
    server.on(PLACE, stream(events()))
    leaving(program, 1)
    shown = program.sit("watch", "--session", "s1", "--thoughts")
    for word in words:
        assert word in shown.out


def test_nobodys_words_can_speak_to_the_terminal(program: Program, server: Server) -> None:
    hostile = line("\x1b]0;x\x07\x1b[2J見て", 8, speaker_name="A\x1b[31mda")
    server.on(PLACE, stream(events_of_session_line(hostile)))
    leaving(program, 1)
    shown = program.sit("watch", "--session", "s1")
    assert "見て" in shown.out
    assert "\x1b]0" not in shown.out
    assert "\x1b[2J" not in shown.out


def test_panes_are_drawn_anew_with_each_event(program: Program, server: Server) -> None:
    server.on("GET /agents", page(agent_view("Ada")))
    server.on("GET /agents/ada-id/panes", ok({"items": PANES}))
    server.on(
        PLACE, stream(events_of_session_line(line("一", 8)), events_of_session_line(line("二", 9)))
    )
    leaving(program, 1)
    shown = program.sit("watch", "Ada", "--session", "s1", COLUMNS="100", LINES="60")
    assert shown.code == 0
    looks = [request for request in server.requests if request.url.path.endswith("/panes")]
    assert len(looks) == 3
