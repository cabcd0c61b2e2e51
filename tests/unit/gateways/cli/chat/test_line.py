"""LINE's doctor at the terminal."""

import json

from tests.unit.gateways.cli.server import Program, Server, ok

CHECKS = [
    {"name": "token", "state": "ok", "what": "the bot is かに (@216ru)", "cure": ""},
    {"name": "webhook", "state": "problem", "what": "switched off", "cure": "switch on"},
]


def test_the_doctor_shows_each_check_with_its_cure(program: Program, server: Server) -> None:
    server.on("GET /chats/line", ok({"checks": CHECKS}))
    said = program.run("admin", "line", "doctor")
    assert said.out == "✓ token: the bot is かに (@216ru)\n✗ webhook: switched off\n  → switch on\n"
    assert said.code == 1
    assert json.loads(program.run("admin", "line", "doctor", "--json").out) == CHECKS
    server.on("GET /chats/line", ok({"checks": CHECKS[:1]}))
    assert program.run("admin", "line", "doctor", LANG="ja_JP.UTF-8").out.startswith("✓ トークン")
