"""The outcome of a discussion from the command line."""

from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, problem

TASK = {
    "number": 1,
    "agent_id": "nami-id",
    "name": "Nami",
    "what": "リリースノートを書く",
    "due": "2026-02-17T18:00:00Z",
    "done_when": "",
    "answer": "taken_over",
    "reason": "",
    "promise": "kept",
    "goal_id": "G1",
    "evidence": ["ws_write notes.md"],
}
FOUND: dict[str, Any] = {
    "session_id": "s1",
    "state": "written",
    "ended_by": "done",
    "writer_id": "nami-id",
    "decisions": ["金曜に出す"],
    "open_points": ["誰が告知する?"],
    "tasks": [
        TASK,
        {**TASK, "number": 2, "promise": "open"},
        {**TASK, "number": 3, "answer": "declined", "promise": None, "reason": "忙しい"},
        {**TASK, "number": 4, "answer": "open", "promise": None},
    ],
    "why": "",
    "at": "2026-02-17T09:00:00Z",
}


@pytest.mark.parametrize(
    ("language", "heads", "states"),
    [
        ("en", ["decisions:", "open points:"], ["kept", "taken over", "declined", "asked"]),
        ("ja", ["決まったこと:", "残った論点:"], ["守られた", "引き受け", "辞退", "確認中"]),
    ],
)
def test_it_says_what_was_decided_and_who_does_what(
    program: Program, server: Server, language: str, heads: list[str], states: list[str]
) -> None:
    server.on("GET /sessions/s1/outcome", ok(FOUND))
    rows = program.run("--language", language, "sessions", "outcome", "s1").out.splitlines()
    assert rows[:4] == [heads[0], "- 金曜に出す", heads[1], "- 誰が告知する?"]
    for row, state in zip(rows[5:], states, strict=True):
        assert f" {state} " in row
    assert "忙しい" in rows[7]
    assert "ws_write notes.md" in rows[5]
    assert program.run("sessions", "outcome", "s1", "--json").json == FOUND


@pytest.mark.parametrize(
    ("language", "state", "said"),
    [
        ("en", "unknown", "outcome unknown: none was written\n"),
        ("ja", "unknown", "結果は不明です(書かれませんでした)\n"),
        ("en", "asked", "an agent was asked to write the outcome; try again in a minute\n"),
        ("ja", "asked", "エージェントが結果を書いています。1分後にもう一度試してください\n"),
    ],
)
def test_it_says_when_there_is_none(
    program: Program, server: Server, language: str, state: str, said: str
) -> None:
    server.on("GET /sessions/s1/outcome", ok({**FOUND, "state": state, "tasks": []}))
    assert program.run("--language", language, "sessions", "outcome", "s1").out == said


def test_a_session_without_one_is_an_error(program: Program, server: Server) -> None:
    server.on("GET /sessions/s1/outcome", problem(404, "session has no outcome"))
    assert program.run("sessions", "outcome", "s1").code != 0
