"""Slack's doctor at the terminal."""

from tests.unit.gateways.cli.server import Program, Server, ok

CHECKS = [{"name": "scopes", "state": "problem", "what": "lacks scopes", "cure": "add them"}]


def test_the_doctor_shows_each_check_with_its_cure(program: Program, server: Server) -> None:
    server.on("GET /chats/slack", ok({"checks": CHECKS}))
    said = program.run("admin", "slack", "doctor")
    assert (said.code, said.out) == (1, "✗ scopes: lacks scopes\n  → add them\n")
    said = program.run("admin", "slack", "doctor", LANG="ja_JP.UTF-8")
    assert said.out.startswith("✗ スコープ")
