"""Subscriptions to events at the terminal: the secret is the result, all else a note."""

import json
from typing import Any

from tests.unit.gateways.cli.server import Program, Server, ok, problem

AGENT = {"id": "01mika", "name": "Mika", "status": "active"}
URL = "https://hooks.example.org/crab"


def view(**changes: Any) -> dict[str, Any]:
    return {
        "name": "ops",
        "url": URL,
        "events": ["turn.failed", "goal.finished"],
        "agent_id": None,
        "problem": "",
        "failed": 0,
        "previous_until": 0,
        "created_at": "2026-01-01T00:00:00Z",
        **changes,
    }


def test_the_secret_is_shown_once(program: Program, server: Server) -> None:
    server.on("GET /agents", ok({"items": [AGENT], "next_cursor": None}))
    server.on("POST /webhook-events", ok(view(secret="whsec_x")))
    given = ("--url", URL, "--events", "turn.failed, goal.finished", "--agent", "Mika")
    said = program.run("webhooks", "events", "add", "ops", *given)
    assert said.out.splitlines() == ["whsec_x"]
    assert URL in said.err
    (sent,) = server.sent("POST")
    assert sent == {
        "name": "ops",
        "url": URL,
        "events": ["turn.failed", "goal.finished"],
        "agent_id": "01mika",
    }
    server.on("POST /webhook-events/ops/rotate", ok(view(secret="whsec_y")))
    again = program.run("--language", "ja", "webhooks", "events", "rotate", "ops")
    assert again.out.splitlines() == ["whsec_y"]
    assert "24時間" in again.err


def test_why_nothing_comes_is_listed(program: Program, server: Server) -> None:
    server.on("GET /agents", ok({"items": [AGENT], "next_cursor": None}))
    failing = view(agent_id="01mika", problem="status 500", failed=3)
    server.on("GET /webhook-events", ok({"items": [failing]}), ok({"items": []}))
    said = " ".join(program.run("webhooks", "events", "list").out.split())
    for word in ("ops", "Mika", "turn.failed", "status 500 (3)"):
        assert word in said
    none = program.run("--language", "ja", "webhooks", "events", "list").out
    assert "送り先はありません" in none


def test_a_trial_and_a_removal(program: Program, server: Server) -> None:
    server.on("POST /webhook-events/ops/test", ok({"name": "ops"}), problem(503, "status 503"))
    assert "confirmed" in program.run("webhooks", "events", "test", "ops").out
    assert "status 503" in program.run("webhooks", "events", "test", "ops").err
    server.on("DELETE /webhook-events/ops", ok({}))
    assert program.run("webhooks", "events", "remove", "ops").code == 2
    removed = program.run("webhooks", "events", "remove", "ops", "--yes", "--json").out
    assert json.loads(removed) == {"name": "ops", "removed": True}
