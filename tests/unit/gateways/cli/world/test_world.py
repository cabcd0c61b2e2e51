"""An agent's world from the command line: shown, bound, trusted, in both languages."""

import json
from typing import Any

import pytest

from opencrab.domain.agents.agent import Identity
from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view

PLACE = "/agents/ada-id/world"
KEY = "a" * 64
VIEW: dict[str, Any] = {
    "world_id": "kingdom",
    "agent_id": "ada-id",
    "key_id": KEY,
    "genome": {"role": "LIBRARIAN"},
    "balance": 112,
    "reputation": 0.52,
    "units": 4,
    "cycle": 7,
    "prices": {"MSG_POST": 1},
    "account": {"entry": 9, "balance": 112, "missing": 0},
    "doubt": None,
    "trust": {"daily_limit": 200, "day": "2026-01-05", "spent": 12},
    "heard_at": "2026-01-05T09:00:00Z",
}


@pytest.fixture
def server() -> Server:
    """Ada, who lives in the kingdom."""
    made = Server()
    identity = Identity(name="Ada", metadata={"world_role": "ARCHITECT"})
    made.on("GET /agents", page(agent_view("Ada", identity=identity)))
    made.on(f"GET {PLACE}", ok(VIEW))
    made.on(f"PUT {PLACE}", ok(VIEW))
    made.on(f"PUT {PLACE}/policy", ok(VIEW))
    return made


def body(server: Server) -> Any:
    return json.loads(server.requests[-1].content)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("cycle (units left)", "trusted up to 200 a day; 12 spent")),
        ("ja", ("サイクル(予算の残り)", "1日 200 まで信頼")),
    ],
)
def test_an_agents_place_is_shown(program: Program, language: str, words: tuple[str, ...]) -> None:
    out = program.run("--language", language, "world", "show", "Ada").out
    for word in (*words, "kingdom", "LIBRARIAN", KEY, "7 (4)", "112", "0.52", "MSG_POST 1"):
        assert word in out, word
    assert program.run("world", "show", "Ada", "--json").json == VIEW


@pytest.mark.parametrize(
    ("language", "kind", "said"),
    [
        ("en", "account", "reported a balance of 99, 55 was expected"),
        ("ja", "account", "残高は 55 のはずですが、ワールドは 99"),
        ("en", "prices", "change its prices within a cycle"),
        ("ja", "prices", "サイクルの途中で値段"),
    ],
)
def test_a_contradiction_is_told(
    program: Program, server: Server, language: str, kind: str, said: str
) -> None:
    doubt = {"kind": kind, "told": 99, "expected": 55, "at": "2026-01-05T09:00:00Z"}
    empty: dict[str, Any] = {
        "trust": None,
        "account": None,
        "heard_at": None,
        "prices": {},
        "units": None,
    }
    server.on(f"GET {PLACE}", ok({**VIEW, **empty, "doubt": doubt}))
    assert said in program.run("--language", language, "world", "show", "Ada").out


def test_an_agent_is_bound_with_the_role_of_its_preset_or_a_given_one(
    program: Program, server: Server
) -> None:
    said = program.run("world", "bind", "Ada", "kingdom", "--world-key", KEY)
    assert body(server) == {"world_id": "kingdom", "keys": [KEY], "role": "ARCHITECT"}
    assert said.out == f"bound Ada; its name in the world is {KEY}\n"
    program.run("world", "bind", "Ada", "kingdom", "--world-key", KEY, "--role", "explorer")
    assert body(server)["role"] == "EXPLORER"


def test_a_world_is_trusted_up_to_a_limit_or_asks_again(program: Program, server: Server) -> None:
    said = program.run("world", "trust", "Ada", "--limit", "200")
    assert body(server) == {"trusted": True, "daily_limit": 200}
    assert said.out == "Ada sends without asking, up to 200 a day\n"
    program.run("world", "trust", "Ada", "--ask")
    assert body(server) == {"trusted": False, "daily_limit": 0}
    for wrong in ((), ("--ask", "--limit", "1")):
        assert program.run("world", "trust", "Ada", *wrong).code == 2


def test_without_the_demo_world_the_command_says_so(program: Program) -> None:
    said = program.run("world", "demo")
    assert (said.code, "not installed" in said.err) == (3, True)
