"""Agents from presets, and their heartbeats, from the terminal."""

import json

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page, problem

HEARTBEAT = {
    "enabled": True,
    "interval_seconds": 61,
    "initiative": True,
    "instructions": "",
    "active_hours": None,
    "channel": None,
    "cooldown_seconds": 300,
    "subscriptions": [],
}


def test_the_eight_founders_are_made_once_in_whatever_language(
    program: Program, server: Server
) -> None:
    server.on("POST /agents", ok({"name": "鍛", "id": "a1"}, 201), problem(409, "exists already"))
    told = program.run("seed", "population", LANG="ja_JP.UTF-8")
    assert told.code == 0
    assert told.out.startswith("鍛  a1\n")
    assert told.out.count("は作成済みです") == 7
    keys = [request.headers["Idempotency-Key"] for request in server.requests]
    assert len(set(keys)) == 8
    program.run("seed", "population")
    assert [request.headers["Idempotency-Key"] for request in server.requests[8:]] == keys
    bodies = [json.loads(request.content) for request in server.requests]
    assert {body["language"] for body in bodies} == {"ja", "en"}
    assert all(body["heartbeat"]["instructions"] for body in bodies)


def test_one_agent_is_made_of_a_preset_by_another_name(program: Program, server: Server) -> None:
    server.on("POST /agents", ok({"name": "Nami", "id": "a2"}, 201))
    assert program.run("seed", "agent", "companion", "--name", "Nami").out == "Nami  a2\n"
    assert json.loads(server.requests[0].content)["name"] == "Nami"
    unknown = program.run("seed", "agent", "pirate")
    assert unknown.code != 0
    assert "companion" in unknown.err
    assert "facilitator" in program.run("seed", "presets").out


def test_a_heartbeat_is_shown_and_changed_in_part(program: Program, server: Server) -> None:
    server.on("GET /agents", page({"id": "crab", "name": "Crab", "status": "active"}))
    server.on("GET /agents/crab/heartbeat", ok(HEARTBEAT))
    server.on("GET /agents/crab/status", ok({"status": "active"}))
    server.on("PUT /agents/crab/heartbeat", ok(HEARTBEAT | {"instructions": "海を見る"}))
    assert "61" in program.run("heartbeats", "show", "Crab").out
    changed = program.run(
        "heartbeats", "set", "Crab", "--instructions", "海を見る", "--hours", "09:00-18:00"
    )
    assert "海を見る" in changed.out
    sent = json.loads(server.requests[-1].content)
    assert sent["active_hours"] == {"start": "09:00", "end": "18:00"}
    assert (sent["interval_seconds"], sent["cooldown_seconds"]) == (61, 300)


@pytest.mark.parametrize(
    ("language", "told"), [("en_US", "beats so far"), ("ja_JP", "ハートビート")]
)
def test_the_log_tells_reasons_and_totals(
    program: Program, server: Server, language: str, told: str
) -> None:
    server.on("GET /agents", page({"id": "crab", "name": "Crab", "status": "active"}))
    beat = {"at": "2026-01-05T09:01:01Z", "reasons": ["unread"], "turn_id": "t1"}
    totals = {"beats": 70, "idle": 69, "turns": 1}
    log = {"items": [beat], "next_cursor": None, "totals": totals}
    server.on("GET /agents/crab/heartbeats", ok(log))
    shown = program.run("heartbeats", "list", "Crab", LANG=f"{language}.UTF-8").out
    assert "unread" in shown
    assert told in shown


@pytest.mark.parametrize(("language", "told"), [("en_US", "dormant"), ("ja_JP", "は休眠中です")])
def test_an_agent_that_is_asleep_says_so_and_is_woken(
    program: Program, server: Server, language: str, told: str
) -> None:
    server.on("GET /agents", page({"id": "crab", "name": "Crab", "status": "dormant"}))
    server.on("GET /agents/crab/heartbeat", ok(HEARTBEAT))
    server.on("GET /agents/crab/status", ok({"status": "dormant"}))
    server.on("PUT /agents/crab/status", ok({"status": "active"}))
    assert told in program.run("heartbeats", "show", "Crab", LANG=f"{language}.UTF-8").out
    woken = program.run("heartbeats", "wake", "Crab", LANG=f"{language}.UTF-8")
    assert (woken.code, "Crab" in woken.out) == (0, True)
    assert json.loads(server.requests[-1].content) == {"status": "active"}
