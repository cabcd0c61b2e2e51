"""Freezing at the terminal: everything or one agent, by id or by name."""

from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view


def state(*agents: str, everything: bool = False) -> Any:
    """How the switches stand."""
    return ok({"state": "frozen" if everything else "running", "frozen_agents": list(agents)})


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "froze all agents"),
        ("ja", "すべてのエージェントを凍結しました"),
    ],
)
def test_everything_is_frozen(program: Program, server: Server, language: str, said: str) -> None:
    server.on("PUT /system/state", state(everything=True))
    assert said in program.run("--language", language, "freeze").out
    assert server.sent("PUT") == [{"state": "frozen"}]


@pytest.mark.parametrize("name", ["さくら", "sakura"])
def test_one_agent_is_frozen_and_thawed(program: Program, server: Server, name: str) -> None:
    agent = agent_view("さくら", id="sakura")
    server.on("GET /agents", page(agent))
    server.on("PUT /system/state", state(agent["id"]), state())
    assert (
        program.run("freeze", name).out == "froze さくら: its turns stop before their next step\n"
    )
    assert program.run("unfreeze", name).out == "unfroze さくら\n"
    assert server.sent("PUT") == [
        {"state": "frozen", "agent_id": agent["id"]},
        {"state": "running", "agent_id": agent["id"]},
    ]


def test_who_still_stands_is_told(program: Program, server: Server) -> None:
    server.on("GET /agents", page(agent_view("Ada")))
    server.on("PUT /system/state", state(everything=True))
    assert (
        "all agents are still frozen: `opencrab unfreeze` unfreezes them"
        in program.run("unfreeze", "Ada").out
    )


@pytest.mark.parametrize(("language", "said"), [("en", "still frozen: "), ("ja", "凍結中のまま: ")])
def test_whoever_is_still_frozen_is_named_with_the_command(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on(
        "GET /agents",
        page(
            agent_view("さくら", id="a1"),
            agent_view("Mary Ann", id="a2"),
            agent_view("Ada", id="a3"),
            agent_view("Ada", id="a4"),
        ),
    )
    server.on("PUT /system/state", state("a1", "a2", "a3", "a9"))
    told = program.run("--language", language, "unfreeze").out.splitlines()
    assert told[1:] == [
        f"{said}さくら → opencrab unfreeze さくら",
        f"{said}Mary Ann → opencrab unfreeze a2",
        f"{said}Ada → opencrab unfreeze a3",
        f"{said}a9 → opencrab unfreeze a9",
    ]


def test_an_unknown_agent_freezes_nothing(program: Program, server: Server) -> None:
    server.on("GET /agents", page(agent_view("Ada")))
    refused = program.run("freeze", "Adah")
    assert (refused.code, server.sent("PUT")) == (5, [])
    assert "did you mean Ada?" in refused.err


def test_a_script_gets_the_switches(program: Program, server: Server) -> None:
    server.on("PUT /system/state", state("a1"))
    found = program.run("unfreeze", "--json")
    assert (found.json, found.err) == ({"state": "running", "frozen_agents": ["a1"]}, "")


@pytest.mark.parametrize("everybody", ["all", "ALL", "すべて"])
def test_all_means_everything(program: Program, server: Server, everybody: str) -> None:
    server.on("GET /agents", page(agent_view("Ada")))
    server.on("PUT /system/state", state(everything=True))
    said = program.run("freeze", everybody)
    assert (said.code, server.sent("PUT")) == (0, [{"state": "frozen"}])
    assert "froze all agents" in said.out
    server.on("PUT /system/state", state())
    assert program.run("unfreeze", everybody).out == "unfroze all agents\n"


def test_an_agent_that_is_named_all_is_meant_alone(program: Program, server: Server) -> None:
    server.on("GET /agents", page(agent_view("All", id="a1")))
    server.on("PUT /system/state", state("a1"))
    assert program.run("freeze", "all").out == "froze All: its turns stop before their next step\n"
    assert server.sent("PUT") == [{"state": "frozen", "agent_id": "a1"}]


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "An agent's id or name; default: all agents."), ("ja", "省略時はすべて")],
)
def test_help_says_how_everything_is_frozen(program: Program, language: str, said: str) -> None:
    assert said in program.run("--language", language, "freeze", "--help").out
