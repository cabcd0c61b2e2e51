"""The doctor of e-mail at the terminal."""

from tests.unit.gateways.cli.server import Program, Server, ok

CHECKS = [{"name": "mailbox", "state": "problem", "what": "closed", "cure": "open it"}]


def test_the_doctor_shows_each_check_with_its_cure(program: Program, server: Server) -> None:
    server.on("GET /chats/email", ok({"checks": CHECKS}))
    said = program.run("admin", "email", "doctor")
    assert (said.code, said.out) == (1, "✗ mailbox: closed\n  → open it\n")
