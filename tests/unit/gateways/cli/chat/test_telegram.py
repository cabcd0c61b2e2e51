"""Telegram's doctor at the terminal, and where messages are posted."""

from tests.unit.gateways.cli.server import Program, Server, ok

CHECKS = [{"name": "webhook", "state": "problem", "what": "in vain", "cure": "check it"}]
URL = "https://crab.example.org/channels/telegram"


def test_the_doctor_shows_each_check_with_its_cure(program: Program, server: Server) -> None:
    server.on("GET /chats/telegram", ok({"checks": CHECKS}))
    said = program.run("admin", "telegram", "doctor")
    assert (said.code, said.out) == (1, "✗ webhook: in vain\n  → check it\n")


def test_a_webhook_is_set_and_removed_and_never_by_chance(program: Program, server: Server) -> None:
    server.on("POST /chats/telegram/webhook", ok({"url": URL}), ok({"url": ""}))
    command = ("admin", "telegram", "webhook")
    assert URL in program.run(*command, "--url", "https://crab.example.org").out
    assert "polling" in program.run(*command, "--remove").out
    assert server.sent("POST") == [{"url": "https://crab.example.org"}, {"url": ""}]
    for given in ((), ("--url", URL, "--remove")):
        refused = program.run("--language", "ja", *command, *given)
        assert refused.code == 2
        assert "--remove" in refused.err
