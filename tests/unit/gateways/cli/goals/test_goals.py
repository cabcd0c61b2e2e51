"""Goals from the terminal: listed, explained number by number, given and given up."""

from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page

TERMS = ("urgency", "expected_reward", "capability_match", "novelty", "social_value")
SCORE = {
    **dict.fromkeys(TERMS, 0.25),
    "priority": 1.25,
    "values": dict.fromkeys(TERMS, 0.5),
    "weights": dict.fromkeys(TERMS, 0.5),
}
TASK = {"id": "G2-T1", "name": "潮を見る", "status": "failed", "cause": "暗い"}
GOAL: dict[str, Any] = {
    "id": "G2",
    "name": "海を知る",
    "instruction": "深いところまで",
    "source": "curiosity",
    "horizon": "objective",
    "status": "pending",
    "completion": 50,
    "deadline": "2026-03-01T00:00:00Z",
    "waits": "教えてください",
    "revision": 3,
    "satisfaction": {"reward_expected": 0.5, "reward_actual": 1.0},
    "score": SCORE,
    "tasks": [TASK],
}
PATH = "/agents/crab/goals"


@pytest.fixture
def told(server: Server) -> Server:
    """A server that knows one agent with two goals."""
    server.on("GET /agents", page({"id": "crab", "name": "Crab", "status": "active"}))
    ended = {**GOAL, "id": "G1", "status": "completed", "score": None, "deadline": None}
    server.on(f"GET {PATH}", page(GOAL, ended))
    server.on(f"GET {PATH}/G2", ok(GOAL))
    server.on(f"POST {PATH}", ok(GOAL, 201))
    server.on(f"POST {PATH}/G2/abandon", ok(GOAL))
    return server


@pytest.mark.parametrize(("tongue", "origin"), [("en", "curiosity"), ("ja", "好奇心")])
def test_goals_are_listed_shown_and_explained(
    told: Server, program: Program, tongue: str, origin: str
) -> None:
    listed = program.run("--language", tongue, "goals", "list", "crab").out
    assert listed.count(origin) == 2
    shown = program.run("--language", tongue, "goals", "show", "crab", "G2").out
    assert all(text in shown for text in (origin, "教えてください", "0.50 → 1.00", "暗い"))
    explained = program.run("--language", tongue, "goals", "explain", "crab").out
    assert "G1" not in explained
    assert explained.count("0.250 = 0.50 x 0.50") == 5
    assert dict(told.requests[-1].url.params)["explain"] == "1"


def test_a_goal_is_given_and_given_up(told: Server, program: Program) -> None:
    typed = (
        "goals",
        "add",
        "crab",
        "海を知る",
        "--reward",
        "0.9",
        "--deadline",
        "2026-03-01T00:00Z",
    )
    assert program.run(*typed).out == "added G2: 海を知る\n"
    given = told.sent("POST")[0]
    assert (given["name"], given["expected_reward"]) == ("海を知る", 0.9)
    assert given["deadline"].startswith("2026-03-01T")
    up = program.run("goals", "abandon", "crab", "G2", "--reason", "暗い")
    assert up.out == "abandoned G2: 海を知る\n"
    assert told.sent("POST")[-1] == {"reason": "暗い"}
    assert program.run("goals", "add", "crab", "志", "--aspiration", "--json").json["id"] == "G2"


def test_an_agent_without_goals_is_said_to_have_none(told: Server, program: Program) -> None:
    told.on(f"GET {PATH}", page())
    assert program.run("goals", "list", "crab").out == "Crab has no goals\n"
    assert program.run("goals", "explain", "crab").out == "Crab has no open goals\n"
    assert program.run("goals", "list", "crab", "--json").json == []
