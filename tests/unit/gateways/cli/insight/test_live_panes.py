"""Watching an agent: five panes at a terminal until Ctrl-C, once as JSON Lines in a pipe."""

import json
from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view

ADA = agent_view("Ada")
MACHINE = {
    "cpu_percent": 12.5,
    "memory_used_bytes": 3 << 20,
    "memory_total_bytes": 9 << 20,
    "process_memory_bytes": 1,
    "received_bytes": 5 << 20,
    "sent_bytes": 0,
}
VITALS: dict[str, Any] = {
    "queue_age_seconds": 3.5,
    "last_beat": None,
    "idle_streak": 2,
    "budget_left_micro_usd": 990_000,
    "error_rate": 0.25,
    "open_approvals": 1,
    "open_goals": 1,
    "goal_slots": 20,
    "machine": MACHINE,
}
TASKS = [
    {"id": "G1-T1", "name": "集める", "status": "done"},
    {"id": "G1-T2", "name": "write \x1b[2Jit", "status": "active"},
]
GOAL = {"id": "G1", "name": "整理 / organise", "status": "active", "tasks": TASKS}
PANES = [
    {"pane": "chat", "data": "太郎: こんにちは\nAda: hello \x1b]0;x\x07there"},
    {"pane": "cli", "data": ""},
    {"pane": "plan", "data": {"purpose": "to count", "goals": [GOAL]}},
    {
        "pane": "inspector",
        "data": {
            "thought": {"judgment": "a note is missing", "intent": "write it"},
            "action": {"phase": "approving", "summary": "Write notes/1.md (ws_write)"},
            "result": {"status": None, "summary": None},
        },
    },
    {"pane": "vitals", "data": VITALS},
]


class Impatient:
    """Looks a few times, then presses Ctrl-C."""

    def __init__(self, looks: int) -> None:
        self._looks = looks

    def append(self, _seconds: float) -> None:
        self._looks -= 1
        if not self._looks:
            raise KeyboardInterrupt


@pytest.fixture
def server() -> Server:
    """One agent with panes."""
    server = Server()
    server.on("GET /agents", page(ADA))
    server.on("GET /agents/ada-id/panes", ok({"items": PANES}))
    return server


@pytest.mark.parametrize("more", [(), ("Ada", "--json")])
def test_a_pipe_gets_one_snapshot_as_json_lines(program: Program, more: tuple[str, ...]) -> None:
    shown = program.run("watch", *more)
    assert shown.code == 0
    assert [json.loads(line) for line in shown.out.splitlines()] == PANES


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("· Ctrl-C exits", "chat", "inspector", "waiting for approval", "error", "$0.99")),
        ("ja", ("Ctrl-C で終了", "会話", "思考と行動", "承認待ち", "エラー率", "12.5 %")),
    ],
)
def test_a_terminal_shows_the_panes_until_ctrl_c(
    program: Program, server: Server, language: str, words: tuple[str, ...]
) -> None:
    program.pauses = Impatient(3)  # type: ignore[assignment]
    shown = program.sit("--language", language, "watch", COLUMNS="100", LINES="60")
    assert shown.code == 0
    for word in (*words, "こんにちは", "▸ G1 整理 / organise 1/2"):
        assert word in shown.out
    assert "集める" not in shown.out, "a goal is folded"
    assert "\x1b]0;" not in shown.out
    looks = [request for request in server.requests if request.url.path.endswith("/panes")]
    assert len(looks) == 3


def test_tasks_are_unfolded_when_asked(program: Program) -> None:
    program.pauses = Impatient(1)  # type: ignore[assignment]
    shown = program.sit("watch", "--tasks", COLUMNS="100", LINES="60")
    assert "▾ G1" in shown.out
    assert "✓ G1-T1 集める" in shown.out
    assert "▶ G1-T2 write it" in shown.out


@pytest.mark.parametrize(("language", "said"), [("en", "several agents"), ("ja", "複数います")])
def test_of_several_agents_one_has_to_be_named(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on("GET /agents", page(ADA, agent_view("さくら", id="sakura-id")))
    shown = program.run("--language", language, "watch")
    assert shown.code == 5
    assert said in shown.err
    server.on("GET /agents", page())
    assert program.run("watch").code == 5
