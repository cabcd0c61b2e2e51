"""`opencrab world demo`: who is bound to the demo world, and what is said about approvals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.agents.agent import Identity
from opencrab.domain.value import Language
from opencrab.engine.agents.presets import WORLD_ROLE, founder_presets
from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view

NAMES = [each.words[Language.EN].name for each in founder_presets()]
TRUSTED = {"daily_limit": 200, "day": "", "spent": 0}


class QuietWorld:
    """`ports.demo_world.DemoWorldProcess` that ends at once."""

    world_id, public_key = "demo", "b" * 64

    def run(self, url: str, tell: Callable[..., None], **_times: Any) -> None:
        assert url.endswith("/worlds")

    def accounts(self) -> list[dict[str, Any]]:
        return [{"treasury": 100_000, "bounties": 0}]


def founder(name: str) -> dict[str, Any]:
    identity = Identity(name=name, metadata={WORLD_ROLE: "GENERALIST"})
    return agent_view(name, identity=identity)


@pytest.fixture
def demo(program: Program) -> Program:
    """The program with a demo world."""
    program.demo_world = lambda _folder, _seed: QuietWorld()
    return program


def lives(server: Server, *agents: dict[str, Any], trust: Any = None) -> None:
    """These agents are there, and can be bound."""
    server.on("GET /agents", page(*agents))
    for each in agents:
        bound = ok({"key_id": "a" * 64, "trust": trust})
        server.on(f"PUT /agents/{each['id']}/world", bound)
        server.on(
            f"PUT /agents/{each['id']}/world/policy", ok({"key_id": "a" * 64, "trust": TRUSTED})
        )


@pytest.mark.parametrize(("language", "words"), [("en", "your own"), ("ja", "別のエージェント")])
def test_an_agent_that_only_has_a_founders_name_is_not_bound(
    demo: Program, server: Server, language: str, words: str
) -> None:
    mine = agent_view(NAMES[0], purpose="write my invoices")
    lives(server, mine, *map(founder, NAMES[1:]))
    said = demo.run("--language", language, "world", "demo", "--folder", str(Path("/none")))
    assert (said.code, words in said.err) == (0, True), said
    assert NAMES[0] in said.err
    assert len(server.sent("PUT")) == len(NAMES) - 1


def test_approvals_are_announced_only_where_they_are_needed(demo: Program, server: Server) -> None:
    hint = "waits for your approval"
    lives(server, *map(founder, NAMES))
    assert hint in demo.run("world", "demo").err
    assert hint not in demo.run("world", "demo", "--trust", "200").err
    lives(server, *map(founder, NAMES), trust=TRUSTED)
    assert hint not in demo.run("world", "demo").err
