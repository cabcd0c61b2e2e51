"""Webhooks at the terminal: address and secret are shown once, as lines of their own."""

import json
from typing import Any

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, problem

AGENT = {"id": "01mika", "name": "Mika", "status": "active"}


def view(**changes: Any) -> dict[str, Any]:
    return {
        "name": "ci",
        "path": "/webhooks/ci",
        "agent_id": "01mika",
        "scheme": "standard",
        "session": "",
        "template": "",
        "authority": "public",
        "reply_to": "",
        "reply_problem": "",
        "previous_until": 0,
        "created_at": "2026-01-01T00:00:00Z",
        **changes,
    }


@pytest.mark.parametrize(
    ("language", "scheme", "told"),
    [
        ("en", "standard", "signs as Standard Webhooks says"),
        ("ja", "github", "X-Hub-Signature-256 で署名します"),
        ("ja", "bearer", "Authorization: Bearer SECRET"),
    ],
)
def test_address_and_secret_are_the_result_and_the_rest_is_a_note(
    program: Program, server: Server, language: str, scheme: str, told: str
) -> None:
    server.on("GET /agents", ok({"items": [AGENT], "next_cursor": None}))
    server.on("POST /webhooks", ok(view(secret="whsec_x", scheme=scheme)))
    given = ("--agent", "Mika", "--scheme", scheme, "--template", "{{ 部屋 }}")
    said = program.run("--language", language, "webhooks", "add", "ci", *given)
    address, secret = said.out.splitlines()
    assert address.endswith("/webhooks/ci")
    assert secret == "whsec_x"
    assert told in said.err
    (sent,) = server.sent("POST")
    assert (sent["agent_id"], sent["template"], sent["authority"]) == (
        "01mika",
        "{{ 部屋 }}",
        "public",
    )


def test_the_secret_of_answers_is_shown_with_where_they_go(
    program: Program, server: Server
) -> None:
    place = "https://hooks.example.org/crab"
    server.on("GET /agents", ok({"items": [AGENT], "next_cursor": None}))
    made = view(secret="whsec_x", reply_secret="whsec_r", reply_to=place)
    server.on("POST /webhooks", ok(made))
    said = program.run("webhooks", "add", "ci", "--agent", "Mika", "--reply-to", place)
    assert said.out.splitlines()[1:] == ["whsec_x", "whsec_r"]
    assert place in said.err
    failed = view(reply_to=place, reply_problem="status 500")
    server.on("GET /webhooks", ok({"items": [failed]}))
    assert "status 500" in " ".join(program.run("webhooks", "list").out.split())


def test_scripts_get_it_as_json(program: Program, server: Server) -> None:
    server.on("POST /webhooks/ci/rotate", ok(view(secret="whsec_y")))
    found = json.loads(program.run("webhooks", "rotate", "ci", "--hours", "0", "--json").out)
    assert found["url"].endswith("/webhooks/ci")
    assert found["secret"] == "whsec_y"
    assert server.sent("POST") == [{"hours": 0}]


def test_webhooks_are_listed(program: Program, server: Server) -> None:
    listed = view(session="{{ room }}", reply_to="discord:42")
    server.on("GET /agents", ok({"items": [AGENT], "next_cursor": None}))
    server.on("GET /webhooks", ok({"items": [listed]}), ok({"items": []}))
    said = program.run("webhooks", "list").out
    for word in ("ci", "Mika", "standard", "{{ room }}", "discord:42"):
        assert word in said
    assert "webhook はありません" in program.run("--language", "ja", "webhooks", "list").out


def test_a_test_shows_what_the_agent_is_told(program: Program, server: Server) -> None:
    told = {"session_id": "s1", "turn_id": "t1", "text": "蟹: 失敗"}
    server.on("POST /webhooks/ci/test", ok(told))
    said = program.run("webhooks", "test", "ci", "--body", '{"a": 1}')
    assert "蟹: 失敗" in said.out
    assert "s1" in said.out
    assert "t1" in said.err
    assert server.sent("POST") == [{"body": {"a": 1}}]
    broken = program.run("webhooks", "test", "ci", "--body", "{")
    assert broken.code == 2
    assert "--body is not JSON" in broken.err


def test_nothing_is_removed_unasked(program: Program, server: Server) -> None:
    server.on("DELETE /webhooks/ci", ok({}))
    refused = program.run("webhooks", "remove", "ci")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert "removed webhook ci" in program.run("webhooks", "remove", "ci", "--yes").out
    server.on("DELETE /webhooks/ci", problem(404, "there is no webhook 'ci'"))
    gone = program.run("webhooks", "remove", "ci", "--yes")
    assert gone.code == 5
    assert "no webhook" in gone.err
