"""Heartbeats at the terminal: plans of instructions, zones of hours, and events that wake."""

import json
from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view

PLACE = "/agents/a1/heartbeat"
PLAN = "/agents/a1/instruction-plan"
QUIET = {"start": "08:00", "end": "22:00", "zone": "Asia/Tokyo"}


def heartbeat(**changes: Any) -> dict[str, Any]:
    known = {"enabled": True, "interval_seconds": 61, "initiative": True, "active_hours": None}
    return {**known, "instructions": "Greet daily at 8", "subscriptions": [], **changes}


def goal(**changes: Any) -> dict[str, Any]:
    known = {"words": "", "done_when": "", "once": False, "times": "", "event": "", "flaw": None}
    return {"name": "Greet", **known, "schedule_id": None, "done": False, **changes}


def plan(state: str, *goals: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"state": state, "goals": list(goals), "note": "", "why": "", **changes}


@pytest.fixture(autouse=True)
def ada(server: Server) -> None:
    """There is one agent with instructions."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))
    server.on(f"GET {PLACE}", ok(heartbeat()))
    server.on("GET /agents/a1/status", ok({"status": "active"}))


@pytest.mark.parametrize(
    ("shown", "english", "japanese"),
    [
        (goal(times="0 8 * * *"), "- Greet (0 8 * * *)", "- Greet (0 8 * * *)"),
        (goal(), "- Greet (again and again)", "- Greet (くり返し)"),
        (goal(once=True), "- Greet (once)", "- Greet (1回だけ)"),
        (goal(once=True, done=True), "- Greet (once; done)", "- Greet (1回だけ、済み)"),
        (goal(event="world.*"), "(when world.* comes)", "(world.* が来たとき)"),
        (goal(flaw="owner_has_it"), "your own schedule does it", "オーナーのスケジュール"),
        (goal(flaw="too_often"), "more often than every 5 minutes", "5分より短い間隔"),
        (goal(flaw="no_condition", once=True), "- Greet (once)", "- Greet (1回だけ)"),
    ],
)
def test_what_the_instructions_came_to_is_shown(
    program: Program, server: Server, shown: dict[str, Any], english: str, japanese: str
) -> None:
    server.on(f"GET {PLAN}", ok(plan("planned", shown, note="No mail")))
    told = program.run("heartbeats", "show", "Ada").out
    assert english in told
    assert "note: No mail" in told
    assert japanese in program.run("--language", "ja", "heartbeats", "show", "Ada").out


@pytest.mark.parametrize(
    ("state", "english", "japanese"),
    [
        ("none", "is being made", "計画を作っています"),
        ("waiting", "is being made", "計画を作っています"),
        ("failed", "no plan yet: too long", "計画はまだありません: too long"),
    ],
)
def test_a_plan_that_is_not_there_yet_is_told(
    program: Program, server: Server, state: str, english: str, japanese: str
) -> None:
    server.on(f"GET {PLAN}", ok(plan(state, why="too long" if state == "failed" else "")))
    assert english in program.run("heartbeats", "show", "Ada").out
    assert japanese in program.run("--language", "ja", "heartbeats", "show", "Ada").out


@pytest.mark.parametrize(
    ("before", "hours", "sent"),
    [
        (QUIET, "-", {"start": "00:00", "end": "00:00", "zone": "Asia/Tokyo"}),
        (QUIET, "09:00-17:00", {**QUIET, "start": "09:00", "end": "17:00"}),
        (None, "-", None),
        (None, "08:00-22:00", {"start": "08:00", "end": "22:00"}),
    ],
)
def test_hours_that_change_keep_their_time_zone(
    program: Program, server: Server, before: Any, hours: str, sent: Any
) -> None:
    server.on(f"GET {PLACE}", ok(heartbeat(active_hours=before)))
    server.on(f"PUT {PLACE}", ok(heartbeat()))
    assert program.run("heartbeats", "set", "Ada", "--hours", hours).code == 0
    assert server.sent("PUT")[0]["active_hours"] == sent


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "events that wake it: world.*, goal.completed"), ("ja", "起こす出来事: world.*")],
)
def test_types_of_events_are_chosen_and_the_rest_stays(
    program: Program, server: Server, language: str, said: str
) -> None:
    chosen = [{"type": "world.*"}, {"type": "goal.completed"}]
    before = heartbeat(instructions="市場を見る")
    server.on(f"GET {PLACE}", ok(before))
    server.on(f"PUT {PLACE}", ok({**before, "subscriptions": chosen}))
    words = ("--language", language, "heartbeats", "subscribe", "Ada", "world.*", "goal.completed")
    assert said in program.run(*words).out
    assert json.loads(server.requests[-1].content) == {**before, "subscriptions": chosen}
    program.run("heartbeats", "subscribe", "Ada", "-")
    assert json.loads(server.requests[-1].content) == before


def test_received_events_are_listed_on_a_line_each(program: Program, server: Server) -> None:
    at = "2026-02-17T18:00:00Z"
    event = {"type": "world.tide", "source": "harbour", "text": "満潮\nebb\x1b[2J", "at": at}
    server.on("GET /agents/a1/received-events", page(event))
    told = program.run("heartbeats", "events", "Ada").out
    assert "world.tide [harbour] 満潮 ebb" in told
    assert len(told.splitlines()) == 1
    assert program.run("heartbeats", "events", "Ada", "--json").json["items"] == [event]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("→ learned, completed (learn_from_experience)", "→ no result yet")),
        ("ja", ("→ 学習, 完了 (learn_from_experience)", "→ 結果はまだありません")),
    ],
)
def test_heartbeats_are_listed_with_what_came_of_them(
    program: Program, server: Server, language: str, words: tuple[str, str]
) -> None:
    beat = {"at": "2026-02-17T18:00:00Z", "reasons": ["unread"], "turn_id": "t1"}
    learned = {"decision": "learn", "status": "completed", "actions": ["learn_from_experience"]}
    running: dict[str, Any] = {"decision": None, "status": None, "actions": []}
    items = [{**beat, **learned}, {**beat, **running}]
    totals = {"beats": 9, "idle": 7, "turns": 2}
    server.on("GET /agents/a1/heartbeats", ok({"items": items, "totals": totals}))
    told = program.run("--language", language, "heartbeats", "list", "Ada").out
    assert all(word in told for word in words)


@pytest.mark.parametrize(("language", "words"), [("en", "received no event"), ("ja", "ありません")])
def test_an_agent_that_received_no_event_is_said(
    program: Program, server: Server, language: str, words: str
) -> None:
    server.on("GET /agents/a1/received-events", page())
    assert words in program.run("--language", language, "heartbeats", "events", "Ada").out
