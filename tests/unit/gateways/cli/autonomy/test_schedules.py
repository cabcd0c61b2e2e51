"""Schedules at the terminal: listed, shown, added, changed, paused, run and deleted."""

from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import NOW, agent_view

PLACE = "/agents/a1/schedules"
DRAFT = {
    "name": "朝",
    "when": "0 9 * * 1-5",
    "zone": "Asia/Tokyo",
    "instructions": "挨拶する\x1b[2J",
    "enabled": True,
    "session_id": None,
    "channel": {"kind": "discord", "address": "123"},
}


def schedule_view(**changes: Any) -> dict[str, Any]:
    """A schedule as the server shows it."""
    times = dict.fromkeys(("next_at", "last_at", "created_at", "updated_at"), NOW.isoformat())
    known = {"id": "s1", "why_off": None, "last_turn_id": "t1", "fired": 7, "version": 3}
    return {**DRAFT, **times, **known, **changes}


@pytest.fixture(autouse=True)
def ada(server: Server) -> None:
    """There is one agent with one schedule, which every change answers."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))
    server.on(f"GET {PLACE}", page(schedule_view()))
    server.on(f"PUT {PLACE}/s1", ok(schedule_view()))


@pytest.mark.parametrize(
    ("language", "heads", "status"),
    [
        ("en", ["schedule", "name", "when"], "left it"),
        ("ja", ["スケジュール", "名前", "時刻"], "抜けました"),
    ],
)
def test_schedules_are_listed(
    program: Program, server: Server, language: str, heads: list[str], status: str
) -> None:
    off = schedule_view(id="s2", name="off", enabled=False, why_off="session_over", next_at=None)
    server.on(f"GET {PLACE}", page(schedule_view(), next_cursor="c"), page(off))
    listed = program.run("--language", language, "schedules", "list", "Ada").out
    assert all(head in listed for head in heads)
    assert "Asia/Tokyo" in listed
    assert status in listed
    server.on(f"GET {PLACE}", page())
    assert program.run("schedules", "list", "Ada").out == "Ada has no schedules\n"
    assert program.run("schedules", "list", "Ada", "--json").json == []


@pytest.mark.parametrize(
    ("language", "words"), [("en", ["sent to", "on"]), ("ja", ["送り先", "有効"])]
)
def test_a_schedule_is_shown_by_id_or_name_with_its_instructions(
    program: Program, language: str, words: list[str]
) -> None:
    shown = program.run("--language", language, "schedules", "show", "Ada", "朝").out
    for word in [*words, "discord:123", "0 9 * * 1-5", "挨拶する\\u001b[2J", "t1"]:
        assert word in shown
    assert program.run("schedules", "show", "Ada", "s1", "--json").json == schedule_view()


@pytest.mark.parametrize(("language", "said"), [("en", "next at"), ("ja", "次回は")])
def test_a_schedule_is_added_by_options_or_through_a_pipe(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on(f"POST {PLACE}", ok(schedule_view(), 201))
    args = ("--language", language, "schedules", "add", "Ada", "朝", "--when", "@every 2h")
    assert said in program.run(*args, "--text", "歌う").out
    more = ("--zone", "Asia/Tokyo", "--session", "s9", "--channel", "discord:1:2")
    assert program.run(*args, *more, typed="踊る\n").code == 0
    base = {"name": "朝", "when": "@every 2h"}
    place = {"zone": "Asia/Tokyo", "session_id": "s9"}
    assert server.sent("POST") == [
        {**base, "instructions": "歌う"},
        {
            **base,
            **place,
            "instructions": "踊る\n",
            "channel": {"kind": "discord", "address": "1:2"},
        },
    ]
    assert program.run(*args, typed=" ").code == 2
    assert program.run(*args, "--text", "x", "--channel", "discord").code == 2


def test_a_schedule_is_changed_as_the_version_that_was_seen(
    program: Program, server: Server
) -> None:
    edit = ("schedules", "edit", "Ada", "s1")
    program.run(*edit, "--when", "@every 1d", "--channel", "none", "--session", "own")
    server.on(f"PUT {PLACE}/s1", ok(schedule_view(enabled=False)))
    assert program.run("schedules", "pause", "Ada", "朝").out == "朝: paused\n"
    assert program.run("schedules", "resume", "Ada", "朝", "--json").json["version"] == 3
    assert server.sent("PUT") == [
        {**DRAFT, "when": "@every 1d", "channel": None},
        {**DRAFT, "enabled": False},
        DRAFT,
    ]
    changes = [request for request in server.requests if request.method == "PUT"]
    assert {request.headers["If-Match"] for request in changes} == {'"3"'}
    assert program.run(*edit).code == 2
    edited = program.sit(*edit, EDITOR="sed -i s/1-5/6/")
    assert (edited.code, server.sent("PUT")[-1]["when"]) == (0, "0 9 * * 6")


@pytest.mark.parametrize(("language", "begun"), [("en", "started: turn t9"), ("ja", "ターン t9")])
def test_a_schedule_is_run_and_deleted_by_who_confirms_it(
    program: Program, server: Server, language: str, begun: str
) -> None:
    server.on(f"POST {PLACE}/s1/run", ok({"turn_ids": ["t9"]}, 202))
    server.on(f"DELETE {PLACE}/s1", ok(schedule_view()))
    assert begun in program.run("--language", language, "schedules", "run", "Ada", "s1").out
    assert program.run("schedules", "run", "Ada", "s1", "--json").json == {"turn_ids": ["t9"]}
    delete = ("schedules", "delete", "Ada", "s1")
    assert program.run(*delete).code == 2
    assert program.sit(*delete, typed=["n"]).code == 0
    assert server.sent("DELETE") == []
    assert "deleted 朝" in program.sit(*delete, typed=["y"]).out
    assert program.run(*delete, "--yes", "--json").json == schedule_view()


def test_a_name_of_two_schedules_or_of_none_is_said(program: Program, server: Server) -> None:
    server.on(f"GET {PLACE}", page(schedule_view(), schedule_view(id="s2")))
    twice = program.run("schedules", "show", "Ada", "朝")
    assert (twice.code, "s1, s2" in twice.err) == (6, True)
    missing = program.run("--language", "ja", "schedules", "run", "Ada", "昼")
    assert (missing.code, "というスケジュールはありません" in missing.err) == (5, True)
