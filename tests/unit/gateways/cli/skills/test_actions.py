"""Actions at the terminal: those of the owner with where they come from, or all."""

import json
from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok

OWN = {"name": "open_ticket", "impact": "external", "effect": "keyed", "origin": "/a/tickets.py:9"}
BUILT_IN = {"name": "ws_read", "impact": "read", "effect": "pure", "origin": ""}


@pytest.mark.parametrize(("language", "head"), [("en", "action"), ("ja", "アクション")])
def test_actions_of_the_owner_are_listed(
    program: Program, server: Server, language: str, head: str
) -> None:
    server.on("GET /actions", ok({"items": [OWN, BUILT_IN]}))
    said = program.run("--language", language, "skills", "actions")
    assert head in said.out
    assert "open_ticket" in said.out
    assert "/a/tickets.py:9" in said.out
    assert "ws_read" not in said.out


def test_all_actions_are_listed_on_request(program: Program, server: Server) -> None:
    server.on("GET /actions", ok({"items": [OWN, BUILT_IN]}))
    said = program.run("--json", "actions", "list", "--all")
    shown: list[dict[str, Any]] = json.loads(said.out)
    assert [each["name"] for each in shown] == ["open_ticket", "ws_read"]


def test_without_any_the_setting_is_named(program: Program, server: Server) -> None:
    server.on("GET /actions", ok({"items": [BUILT_IN]}))
    assert "actions.modules" in program.run("actions", "list").out
