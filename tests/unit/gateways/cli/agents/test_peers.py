"""Who may reach whom, at the terminal: shown and set."""

import json
from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page

PLACE = "/agents/a1/peer-policy"


def policy(reach: str = "owner", *names: str, agents: tuple[str, ...] = ()) -> dict[str, Any]:
    shown = [{"id": name.lower(), "name": name} for name in names]
    return {"reach": reach, "agents": list(agents), "in_reach": shown}


@pytest.fixture(autouse=True)
def agents(server: Server) -> None:
    """Two agents that may reach each other."""
    listed = [{"id": "a1", "name": "Ada"}, {"id": "b1", "name": "Botan"}]
    server.on("GET /agents", page(*({**each, "status": "active"} for each in listed)))
    server.on(f"GET {PLACE}", ok(policy("owner", "Botan\x1b[2J")))


@pytest.mark.parametrize(("language", "words"), [("en", "of its owner"), ("ja", "同じオーナー")])
def test_those_in_reach_are_listed(program: Program, language: str, words: str) -> None:
    told = program.run("--language", language, "agents", "peers", "Ada").out
    assert words in told
    assert "- Botan" in told
    assert "\x1b" not in told


@pytest.mark.parametrize(("language", "words"), [("en", "reaches no other"), ("ja", "話しません")])
def test_an_agent_is_kept_to_itself(
    program: Program, server: Server, language: str, words: str
) -> None:
    server.on(f"PUT {PLACE}", ok(policy("nobody")))
    told = program.run("--language", language, "agents", "peers", "Ada", "--reach", "nobody")
    assert words in told.out
    assert json.loads(server.requests[-1].content) == {"reach": "nobody"}


def test_agents_are_named_by_name_and_nobody_in_reach_is_said(
    program: Program, server: Server
) -> None:
    server.on(f"PUT {PLACE}", ok(policy("listed", agents=("b1",))))
    told = program.run("agents", "peers", "Ada", "--only", "Botan, ").out
    assert json.loads(server.requests[-1].content) == {"reach": "listed", "agents": ["b1"]}
    assert "nobody" in told
    as_json = program.run("agents", "peers", "Ada", "--json").out
    assert json.loads(as_json)["reach"] == "owner"


def test_both_options_at_once_are_refused(program: Program) -> None:
    refused = program.run("agents", "peers", "Ada", "--reach", "owner", "--only", "Botan")
    assert refused.code == 2
    assert "not both" in refused.err


PROMISE = {
    "name": "Botan\x1b[2J",
    "what": "潮の報告を書く",
    "due": "2026-02-17T18:00:00Z",
    "status": "broken",
    "reason": "",
    "evidence": ["G1 active"],
}


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ["promised to Ada:", "broken"]), ("ja", ["Ada への約束:", "破られた"])],
)
def test_promises_are_listed_with_how_they_were_judged(
    program: Program, server: Server, language: str, words: list[str]
) -> None:
    server.on("GET /agents/a1/promises", ok({"made": [], "received": [PROMISE]}))
    told = program.run("--language", language, "agents", "promises", "Ada").out
    for each in (*words, "潮の報告を書く", "G1 active"):
        assert each in told
    assert "\x1b" not in told
    as_json = program.run("agents", "promises", "Ada", "--json").json
    assert as_json["received"][0]["status"] == "broken"


@pytest.mark.parametrize(("language", "head"), [("en", "to"), ("ja", "相手")])
def test_a_promise_that_an_agent_made_says_to_whom(
    program: Program, server: Server, language: str, head: str
) -> None:
    made = {**PROMISE, "name": "Ada", "to": ["b1", "gone"]}
    server.on("GET /agents/a1/promises", ok({"made": [made], "received": []}))
    told = program.run("--language", language, "agents", "promises", "Ada").out
    assert told.splitlines()[1].startswith(head)
    assert "Botan, gone" in told


@pytest.mark.parametrize(("language", "words"), [("en", "promised nothing"), ("ja", "ありません")])
def test_an_agent_without_promises_is_said(
    program: Program, server: Server, language: str, words: str
) -> None:
    server.on("GET /agents/a1/promises", ok({"made": [], "received": []}))
    assert words in program.run("--language", language, "agents", "promises", "Ada").out
