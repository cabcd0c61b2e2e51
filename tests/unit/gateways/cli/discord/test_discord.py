"""Setting Discord up at the terminal: commands by their difference, links, doctor, presences."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from opencrab.domain.errors import Refused
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import Options, RelayWay
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view

NEW = {"added": ["/ask"], "changed": ["/task"], "removed": ["/old"], "same": ["/costs"]}
SAME = {"added": [], "changed": [], "removed": [], "same": ["/ask", "/task"]}
PRESENCE: dict[str, Any] = {
    "agent_id": "a1",
    "spots": [],
    "owner_ids": ["7"],
    "user_ids": [],
    "role_ids": [],
    "token_secret": None,
}
SPOT = {
    "channel_id": "5",
    "reads": True,
    "mentions_only": True,
    "writes": True,
    "hearing": "session",
}


@pytest.fixture(autouse=True)
def ada(server: Server) -> None:
    """There is one agent."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))
    server.on("GET /agents/a1/discord", ok(PRESENCE))


def test_registering_shows_the_difference_and_wants_a_yes(program: Program, server: Server) -> None:
    server.on("GET /discord/commands", ok(NEW))
    said = program.run("discord", "register")
    assert said.out == "+ /ask\n~ /task\n- /old\n1 commands are unchanged\n"
    assert (said.code, "--yes" in said.err) == (2, True)
    server.on("PUT /discord/commands", ok(NEW))
    said = program.run("discord", "register", "--guild", "42", "--yes")
    assert (said.code, said.out.splitlines()[-1]) == (
        0,
        "registered; Discord shows it within a minute",
    )
    assert json.loads(server.requests[-1].content) == {"guild_id": "42"}
    assert server.requests[-2].url.params["guild_id"] == "42"


def test_a_person_is_asked_first(program: Program, server: Server) -> None:
    server.on("GET /discord/commands", ok(NEW))
    server.on("PUT /discord/commands", ok(NEW))
    assert "nothing was changed" in program.sit("discord", "register", typed=["n"]).out
    assert server.sent("PUT") == []
    assert "registered;" in program.sit("discord", "register", typed=["y"]).out
    assert server.sent("PUT") == [{}]


def test_nothing_is_registered_where_nothing_changes(program: Program, server: Server) -> None:
    server.on("GET /discord/commands", ok(SAME))
    said = program.run("discord", "register", LANG="ja_JP.UTF-8")
    assert said.out == "2 個のコマンドはそのままです\nすべて登録済みです。変更はありません\n"
    assert [request.method for request in server.requests] == ["GET"]
    assert json.loads(program.run("discord", "register", "--json").out) == SAME


def test_the_links_are_shown(program: Program, server: Server) -> None:
    links = {"server": "https://discord.com/s", "user": "https://discord.com/u"}
    server.on("GET /discord/invite", ok(links | {"permissions": 1}))
    said = program.run("discord", "invite").out
    assert all(f"\n  {link}\n" in said for link in links.values())


def test_the_doctor_fails_only_for_problems(program: Program, server: Server) -> None:
    checks = [
        {"name": "token", "state": "ok", "what": "the bot is crab", "cure": ""},
        {"name": "guilds", "state": "warning", "what": "anybody", "cure": "open Bot"},
    ]
    server.on("GET /discord", ok({"checks": checks}))
    said = program.run("discord", "doctor")
    expected = "✓ token: the bot is crab\n· guilds: anybody\n  → open Bot\n"
    assert (said.code, said.out) == (0, expected)
    checks.append({"name": "endpoint", "state": "problem", "what": "none", "cure": "enter it"})
    server.on("GET /discord", ok({"checks": checks}))
    said = program.run("discord", "doctor", "--json")
    assert (said.code, json.loads(said.out)) == (1, checks)


def test_a_presence_is_shown(program: Program, server: Server) -> None:
    said = program.run("discord", "agent", "Ada")
    assert "answers commands everywhere" in said.out
    server.on("GET /agents/a1/discord", ok(PRESENCE | {"spots": [SPOT]}))
    assert "5 (hears mentions, writes)" in program.run("discord", "agent", "Ada").out
    shown = program.run("discord", "agent", "Ada", LANG="ja_JP.UTF-8").out
    assert "5 (メンションを聞く, 書き込む)" in shown
    assert [request.method for request in server.requests if "discord" in request.url.path] == [
        "GET"
    ] * 3


def test_what_is_given_replaces_what_was_there(program: Program, server: Server) -> None:
    server.on("PUT /agents/a1/discord", ok(PRESENCE))
    args = ("--channel", "5", "--channel", "6", "--everything", "--user", "8")
    assert program.run("discord", "agent", "Ada", *args).code == 0
    sent = json.loads(server.requests[-1].content)
    assert sent == {
        "spots": [
            {"channel_id": "5", "mentions_only": False},
            {"channel_id": "6", "mentions_only": False},
        ],
        "owner_ids": ["7"],
        "user_ids": ["8"],
        "role_ids": [],
        "token_secret": None,
    }


def test_off_forgets_it_and_goes_with_nothing_else(program: Program, server: Server) -> None:
    server.on("DELETE /agents/a1/discord", ok(PRESENCE | {"owner_ids": []}))
    assert program.run("discord", "agent", "Ada", "--off").code == 0
    assert server.requests[-1].method == "DELETE"
    assert program.run("discord", "agent", "Ada", "--off", "--user", "8").code == 2
    assert program.run("discord", "agent", "Ada", "--everything").code == 2


def test_an_error_of_the_server_is_a_sentence(program: Program, server: Server) -> None:
    server.on("GET /discord/invite", problem(404, "Discord is disabled", cure="set it"))
    said = program.run("discord", "invite")
    assert (said.code, said.err) == (5, "opencrab: Discord is disabled\n  → set it\n")


def relayed(server: Server, data: Path, relay: Callable[[RelayWay], None]) -> Any:
    """`opencrab admin discord relay` with a relay that does this."""
    transport = httpx.MockTransport(server.handle)
    app = build_cli_app(lambda _: 0, Options(transport=transport, relay=relay))
    environment = {"OPENCRAB_KEY": "oc_owner", "OPENCRAB_DATA": str(data), "LANG": "C"}
    environment["OPENCRAB_URL"] = "http://127.0.0.1:8080"
    return CliRunner().invoke(app, ["discord", "relay"], env=environment)


def test_the_relay_brings_things_and_says_how_it_fares(server: Server, tmp_path: Path) -> None:
    server.on("GET /discord/presences", ok({"items": [PRESENCE]}))
    server.on("POST /discord/messages", ok({"turn_ids": ["t1"], "reason": None}, 202))

    def relay(way: RelayWay) -> None:
        assert way.presences() == [PRESENCE]
        assert way.memory.parent == way.data == tmp_path
        assert way.bring("messages", {"id": "1"}, key="discord-1")["turn_ids"] == ["t1"]
        for what in ("ready", "waits", "refused"):
            way.tell(what, name="crab", why="down", seconds=5)

    said = relayed(server, tmp_path, relay)
    assert (said.exit_code, said.stdout.startswith("relaying from Discord to ")) == (0, True)
    assert server.requests[-1].headers["Idempotency-Key"] == "discord-1"
    assert said.stderr.splitlines() == [
        "connected to Discord as crab",
        "down; retrying in 5 s, no message is lost",
        "OpenCrab rejected this message: down",
    ]


def test_a_relay_that_cannot_go_on_says_why(server: Server, tmp_path: Path) -> None:
    server.on("GET /discord/presences", ok({"items": []}))

    def relay(_way: RelayWay) -> None:
        raise Refused("no token", cure="get one")

    said = relayed(server, tmp_path, relay)
    assert (said.exit_code, said.stderr) == (4, "opencrab: no token\n  → get one\n")


def test_without_a_relay_or_an_opencrab_that_answers_it_does_not_start(
    program: Program, server: Server, tmp_path: Path
) -> None:
    assert "no relay" in program.run("discord", "relay").err
    server.on("GET /discord/presences", problem(404, "old server"))
    said = relayed(server, tmp_path, lambda _: None)
    assert (said.exit_code, "old server" in said.stderr) == (5, True)
