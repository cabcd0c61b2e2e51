"""Memory at the terminal: searched, listed, shown, added, and forgotten only after a question."""

from typing import Any

import pytest

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.memory import Earlier, Memory, Provenance
from opencrab.gateways.rest.memory.curation import MemorySummary, MemoryView
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import NOW, agent_view

PLACE = "/agents/a1/memory"
JA = {"LANG": "ja_JP.UTF-8"}


def memory_view(content: str = "美香は紅茶を飲む。", **changes: Any) -> dict[str, Any]:
    """A memory as the server shows it."""
    facts = {"id": "m1", "category": "preference", "provenance": Provenance.OWNER, **changes}
    hearing = facts.pop("hearing", Hearing.PUBLIC)
    memory = Memory(content=content, hearing=hearing, created_at=NOW, updated_at=NOW, **facts)
    view = MemoryView(**dict(MemorySummary.of(memory)), earlier=memory.earlier)
    return view.model_dump(mode="json")


@pytest.fixture(autouse=True)
def ada(server: Server) -> None:
    """There is one agent."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))


@pytest.mark.parametrize(
    ("environment", "heads", "row"),
    [
        ({}, ["id", "category", "memory"], ["owner", "everybody"]),
        (JA, ["ID", "分類", "記憶"], ["オーナー", "全員"]),
    ],
)
def test_memories_are_listed(
    program: Program,
    server: Server,
    environment: dict[str, str],
    heads: list[str],
    row: list[str],
) -> None:
    server.on(f"GET {PLACE}/curated", page(memory_view(), next_cursor="c"), page(memory_view()))
    listed = program.run("memory", "list", "--category", "preference", "--last", "1", **environment)
    lines = [line.split() for line in listed.out.splitlines()]
    assert lines[0][:3] == heads
    assert lines[1][:3] == ["m1", "preference", "美香は紅茶を飲む。"]
    assert lines[1][3:5] == row
    assert len(lines) == 2
    assert "category=preference" in str(server.requests[-1].url)


def test_who_keeps_nothing_is_told_so(program: Program, server: Server) -> None:
    server.on(f"GET {PLACE}/curated", page())
    assert program.run("memory", "list").out == "Ada has no memories\n"
    assert program.run("memory", "list", "--json").json == []


def test_a_memory_is_shown_with_its_history(program: Program, server: Server) -> None:
    earlier = Earlier(content="美香は\u202eコーヒーを飲む。", reason="replaced", at=NOW)
    shown = memory_view(earlier=(earlier,), tainted=True, links=("m2",))
    server.on(f"GET {PLACE}/curated/m1", ok(shown))
    out = program.run("memory", "show", "m1").out
    for word in ("美香は紅茶を飲む。", "美香は\\u202eコーヒー", "untrusted", "m2", "everybody"):
        assert word in out
    assert program.run("memory", "show", "m1", "--json").json == shown


@pytest.mark.parametrize(
    ("outcome", "environment", "told"),
    [
        ("kept", {}, "saved memory m1\n"),
        ("merged", {}, "already known (memory m1)\n"),
        ("superseded", JA, "記憶 m1 を新しい内容にしました(以前の内容は履歴に残ります)\n"),
    ],
)
def test_a_memory_is_added_by_words_or_through_a_pipe(
    program: Program, server: Server, outcome: str, environment: dict[str, str], told: str
) -> None:
    server.on(f"POST {PLACE}/curated", ok({"outcome": outcome, "memory": memory_view()}, 201))
    args = ("--category", "preference", "--importance", "0.9", "--hearing", "private")
    assert program.run("memory", "add", "紅茶", *args, **environment).out == told
    assert program.run("memory", "add", typed="紅茶\n", **environment).out == told
    assert server.sent("POST") == [
        {"content": "紅茶", "category": "preference", "importance": 0.9, "hearing": "private"},
        {"content": "紅茶", "category": "fact", "hearing": "public"},
    ]
    assert program.run("memory", "add", typed=" \n").code == 2


def test_what_the_gate_turns_away_is_said_with_its_cure(program: Program, server: Server) -> None:
    why = problem(422, "content contains more than one claim", cure="save each", field="content")
    server.on(f"POST {PLACE}/curated", why)
    said = program.run("memory", "add", "x")
    assert (said.code, said.out) == (2, "")
    assert "more than one claim" in said.err
    assert "save each" in said.err


LINEAGE = {
    "lines": 2,
    "repeated": 1,
    "turns": 1,
    "kept": ["a1/memory:m1"],
    "files": ["a1:notes/\x1b[2Jx.md"],
    "skills": [],
    "schedules": [],
}
REPORT = {
    "done": True,
    "left": 0,
    "lines": 2,
    "turns": 1,
    "removed": ["a1/memory:m1"],
    "files": [],
    "skills": ["a1:tea"],
    "schedules": ["a1:walk"],
}


@pytest.mark.parametrize(
    ("args", "wish", "question"),
    [
        (("m1",), {"scope": "memory", "id": "m1"}, "美香は紅茶を飲む。"),
        (("--session", "s1"), {"scope": "session", "id": "s1"}, "conversation s1"),
        (("--person", "k1"), {"scope": "person", "id": "k1"}, "about k1"),
        (("--everything",), {"scope": "everything", "confirm": "a1"}, "Delete the whole memory of"),
    ],
)
def test_forgetting_is_asked_for_once_more(
    program: Program, server: Server, args: tuple[str, ...], wish: Any, question: str
) -> None:
    server.on(f"GET {PLACE}/curated/m1", ok(memory_view()))
    server.on(f"POST {PLACE}/forget/preview", ok(LINEAGE))
    server.on(f"POST {PLACE}/forget", ok(REPORT))
    unasked = program.run("memory", "forget", *args)
    assert (unasked.code, server.sent("POST")) == (2, [])
    kept = program.sit("memory", "forget", *args, typed=["n"])
    assert (kept.code, server.sent("POST")) == (0, [wish])
    assert "nothing was deleted" in kept.out
    assert "3 line(s), 1 turn(s) and 1 stored item(s)" in kept.out
    assert question in kept.out
    assert "a1:notes/\\u001b[2Jx.md" in kept.out
    gone = program.sit("memory", "forget", *args, typed=["y"])
    assert "deleted" in gone.out
    assert "skills learned from it are kept: a1:tea" in gone.out
    assert "schedules related to it are kept: a1:walk" in gone.out
    assert program.run("memory", "forget", *args, "--yes", "--json").json == REPORT
    assert server.sent("POST") == [wish] * 4


def test_a_period_is_forgotten_from_day_to_day(program: Program, server: Server) -> None:
    server.on(f"POST {PLACE}/forget", ok(REPORT))
    args = ("--since", "2026-01-05", "--until", "2026-01-06", "--yes")
    assert "忘れました" in program.run("memory", "forget", *args, **JA).out
    (wish,) = server.sent("POST")
    assert wish["scope"] == "period"
    assert wish["since"].startswith("2026-01-05T00:00:00")
    assert wish["until"].startswith("2026-01-07T00:00:00")


def test_what_one_request_cannot_finish_is_asked_for_again(
    program: Program, server: Server
) -> None:
    left = {**REPORT, "done": False, "left": 4}
    server.on(f"POST {PLACE}/forget", ok(left), ok(left), ok(REPORT))
    assert "deleted" in program.run("memory", "forget", "m1", "--yes").out
    assert len(server.sent("POST")) == 3
    server.on(f"POST {PLACE}/forget", ok(left))
    assert "4 step(s) are left" in program.run("memory", "forget", "m1", "--yes").out


@pytest.mark.parametrize("args", [(), ("m1", "--everything"), ("--session", "s", "--person", "p")])
def test_one_thing_at_a_time_is_forgotten(
    program: Program, server: Server, args: tuple[str, ...]
) -> None:
    assert program.run("memory", "forget", *args, "--yes").code == 2
    assert server.sent("POST") == []


def test_conversations_and_people_are_listed(program: Program, server: Server) -> None:
    log = {
        "id": "s1",
        "name": None,
        "theme": "引っ越し",
        "status": "active",
        "hearing": "guild",
        "guild_id": "g1",
        "lines": 1234,
        "created_at": NOW.isoformat(),
        "last_at": None,
    }
    server.on(f"GET {PLACE}/sessions", page(log))
    assert "引っ越し" in program.run("memory", "sessions").out
    assert "そのDiscordサーバー" in program.run("memory", "sessions", **JA).out
    seen = {
        "target_id": "k1",
        "target_name": "美香",
        "personality": "穏やか",
        "communication_style": "",
        "recent_behavior": "",
        "agreement": "中立",
        "notes": "",
        "tainted": False,
        "session_id": "s1",
        "turn_id": "t1",
        "created_at": NOW.isoformat(),
        "updated_at": NOW.isoformat(),
    }
    noted = {"session_id": "s0", "turn_id": "", "agreement": "賛成", "at": NOW.isoformat()}
    server.on(f"GET {PLACE}/impressions", page(seen))
    whole = {**seen, "history": [{**noted, "recent_behavior": "", "notes": "丁寧"}]}
    server.on(f"GET {PLACE}/impressions/k1", ok(whole))
    assert "穏やか" in program.run("memory", "impressions").out
    shown = program.run("memory", "impressions", "k1", **JA).out
    for word in ("人柄", "穏やか", "中立", "賛成", "丁寧", "s0"):
        assert word in shown


def test_how_a_memory_stands_is_told_with_what_failed(program: Program, server: Server) -> None:
    session = {"session_id": "s1", "indexed": 12, "summarised": 0, "failures": 3, "passed": 1}
    stands = {
        "index": {
            "backend": "sqlite",
            "rows": 10_000,
            "bytes": 2_500_000,
            "tokenizer": 1,
            "published_at": NOW.isoformat(),
            "published_rows": 9_990,
        },
        "memories": 12,
        "core": 2,
        "refusals": {"not_atomic": 4},
        "failing": 1,
        "all_sessions": 1,
        "sessions": [{**session, "error": "no answer", "failed_at": NOW.isoformat()}],
    }
    server.on(f"GET {PLACE}/status", ok(stands))
    out = program.run("memory", "status").out
    for word in ("sqlite", "10,000", "not atomic 4", "1 conversation(s)", "no answer"):
        assert word in out
    assert "要約できなかった会話が 1 件" in program.run("memory", "status", **JA).out
    assert program.run("memory", "status", "--json").json == stands


def test_whoever_is_not_known_is_not_said_to_be_forgotten(program: Program, server: Server) -> None:
    nothing: dict[str, list[str]] = {"removed": [], "files": [], "skills": [], "schedules": []}
    numbers = {"done": True, "left": 0, "lines": 0, "turns": 0}
    server.on(f"POST {PLACE}/forget", ok({**numbers, **nothing}))
    shown = program.run("memory", "forget", "--person", "nobody", "--yes")
    assert "\ndeleted" not in shown.out
    assert "speaker_id" in shown.out
    assert "speaker_id" in program.run("memory", "forget", "--person", "誰か", "--yes", **JA).out


def test_failed_summaries_are_asked_for_again(program: Program, server: Server) -> None:
    server.on(f"POST {PLACE}/summaries/retry", ok({}, 202))
    assert (
        "retrying; `opencrab memory status` shows the result"
        in program.run("memory", "retry", "s1").out
    )
    assert server.requests[-1].read() == b'{"session_id": "s1"}'
    assert program.run("memory", "retry", "s1", "--json").json == {"session_id": "s1"}
