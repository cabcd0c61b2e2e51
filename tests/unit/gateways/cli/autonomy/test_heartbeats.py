"""Events that wake an agent, chosen from the command line."""

import json
from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view

PLACE = "/agents/ada-id/heartbeat"
HEARTBEAT: dict[str, Any] = {
    "enabled": True,
    "interval_seconds": 61,
    "initiative": True,
    "instructions": "市場を見る",
    "subscriptions": [],
}


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "events that wake it: world.*, goal.completed"), ("ja", "起こす出来事: world.*")],
)
def test_types_of_events_are_chosen_and_the_rest_stays(
    program: Program, server: Server, language: str, said: str
) -> None:
    chosen = [{"type": "world.*"}, {"type": "goal.completed"}]
    server.on("GET /agents", page(agent_view("Ada")))
    server.on(f"GET {PLACE}", ok(HEARTBEAT))
    server.on(f"PUT {PLACE}", ok({**HEARTBEAT, "subscriptions": chosen}))
    words = ("--language", language, "heartbeats", "subscribe", "Ada", "world.*", "goal.completed")
    assert said in program.run(*words).out
    assert json.loads(server.requests[-1].content) == {**HEARTBEAT, "subscriptions": chosen}
    program.run("heartbeats", "subscribe", "Ada", "-")
    assert json.loads(server.requests[-1].content) == HEARTBEAT
