"""The program as a whole: exit codes, errors without tracebacks, and what `up` loads."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from opencrab import __version__
from opencrab.gateways.cli.terminal.options import UpOptions
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view, key_view, session_view, story_view

EVERY_COMMAND = (
    ("agents", "list"),
    ("agents", "create", "--name", "new"),
    ("agents", "show", "x"),
    ("agents", "edit", "x", "--name", "y"),
    ("agents", "retire", "x", "--yes"),
    ("sessions", "list"),
    ("sessions", "show", "s1"),
    ("sessions", "end", "s1"),
    ("turns", "show", "t1"),
    ("turns", "cancel", "t1"),
    ("turns", "decide", "t1", "--reject"),
    ("keys", "create", "--name", "x"),
    ("keys", "list"),
    ("keys", "revoke", "k1"),
    ("mentor", "s1", "x"),
    ("models",),
    ("providers",),
    ("costs",),
    ("budgets",),
    ("freeze",),
    ("unfreeze", "x"),
    ("chat", "x", "--say", "hi"),
    ("experiments", "x"),
    ("meta", "run", "x"),
    ("whatif", "x", "--alias", "smart=openai:x"),
)

LOADED = """
import json, sys
from opencrab.gateways.cli.app import build_cli_app

def launch(options):
    print(json.dumps(sorted(sys.modules)))
    return 0

build_cli_app(launch)(["up", "--port", "1"])
"""


@pytest.fixture
def everything(server: Server) -> Server:
    """A server that has an answer to every command."""
    agent = agent_view("x")
    server.on("GET /agents", page(agent))
    server.on("GET /agents/x-id", ok(agent))
    for route in ("PATCH /agents/x-id", "PUT /agents/x-id/soul", "PUT /agents/x-id/identity"):
        server.on(route, ok({}))
    for route in ("POST /agents", "DELETE /agents/x-id"):
        server.on(route, ok(agent))
    for route in ("POST /sessions", "GET /sessions/s1", "POST /sessions/s1/end"):
        server.on(route, ok(session_view("x-id")))
    server.on("GET /sessions", page())
    server.on("GET /sessions/s1/messages", page())
    for route in ("GET /turns/t1", "POST /turns/t1/cancel", "POST /turns/t1/decide"):
        server.on(route, ok(story_view()))
    for route in ("POST /keys", "DELETE /keys/k1"):
        server.on(route, ok({**key_view("x"), "secret": "s"}))
    server.on("GET /keys", page())
    for route in ("GET /llm/models", "GET /llm/providers"):
        server.on(route, page())
    server.on("GET /agents/x-id/llm/metrics/summary", ok({"total": {}}))
    server.on("GET /budgets", ok({"limits": {}}))
    server.on("PUT /system/state", ok({"state": "running", "frozen_agents": []}))
    server.on("GET /agents/x-id/experiments", ok({"items": []}))
    for route in ("POST /agents/x-id/meta/runs", "POST /agents/x-id/whatif"):
        server.on(route, ok({}))
    server.on("POST /sessions/s1/mentor", ok({"id": "i", "line": 1}))
    server.on("POST /sessions/s1/messages", ok({"turn_ids": ["t1"], "replies": [], "pending": []}))
    return server


@pytest.mark.parametrize("args", EVERY_COMMAND, ids=" ".join)
def test_json_is_one_line_on_standard_output_and_nothing_else(
    program: Program, everything: Server, args: tuple[str, ...]
) -> None:
    before, after = program.run("--json", *args), program.run(*args, "--json")
    assert before.json == after.json
    assert (before.err, after.err) == ("", "")
    assert (before.code, after.code) == (0, 0)
    assert program.run(*args, "--json", LANG="ja_JP.UTF-8").json == after.json


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("args", EVERY_COMMAND, ids=" ".join)
def test_without_a_server_every_command_says_how_to_start_one(
    program: Program, server: Server, args: tuple[str, ...], language: str
) -> None:
    class Down(dict[str, object]):
        def get(self, *_: object) -> object:
            return [httpx.ConnectError("refused")]

    server.answers = Down()  # type: ignore[assignment]
    refused = program.run("--language", language, *args)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err.startswith("opencrab: ")
    assert "`make up`" in refused.err
    assert "Traceback" not in refused.err


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--version",), 0),
        (("--help",), 0),
        (("agents", "-h"), 0),
        (("nonsense",), 2),
        (("agents", "nonsense"), 2),
        (("agents", "show"), 2),
        (("turns", "show", "t1", "--loud"), 2),
        (("--language", "fr", "agents", "list"), 2),
        (("--url", "nonsense", "agents", "list"), 2),
        (("--key", "鍵", "agents", "list"), 2),
        (("turns", "show", "nobody"), 5),
    ],
)
def test_exit_codes_tell_a_wrong_command_from_a_failed_one(
    program: Program, args: tuple[str, ...], code: int
) -> None:
    ended = program.run(*args)
    assert ended.code == code
    assert "Traceback" not in ended.out + ended.err
    assert bool(ended.err) is (code != 0)


def test_the_version_is_the_packages(program: Program) -> None:
    assert program.run("--version").out == f"opencrab {__version__}\n"


def test_a_command_speaks_to_the_server_and_with_the_key_that_it_is_told(
    program: Program, server: Server
) -> None:
    server.on("GET /keys", page())
    program.run("keys", "list", OPENCRAB_URL="https://crab.example", OPENCRAB_KEY="one")
    program.run("--key", "two", "keys", "list", OPENCRAB_KEY="one")
    program.run("--key", "two", "keys", "list", "--key", "three")
    program.run("keys", "list", OPENCRAB_OWNER_KEY="four")
    program.run("keys", "list")
    keys = [request.headers["Authorization"] for request in server.requests]
    assert keys == [f"Bearer {key}" for key in ("one", "two", "three", "four", "oc_owner")]
    assert server.requests[0].url.host == "crab.example"


def test_a_data_folder_is_named_before_or_behind_the_command(
    program: Program, server: Server, tmp_path: Path
) -> None:
    other = tmp_path / "別"
    other.mkdir()
    (other / "endpoint").write_text("http://127.0.0.1:9999\n", encoding="utf-8")
    server.on("GET /keys", page())
    program.run("keys", "list", "--data", str(other))
    program.run("--data", str(other), "keys", "list")
    assert {request.url.port for request in server.requests} == {9999}


def test_words_of_a_server_cannot_speak_to_the_terminal(program: Program, server: Server) -> None:
    server.on("GET /keys", problem(500, "a\x1b[2Jb\u202e", cure="c\x1b]0;t\x07d", field="f\x9b"))
    refused = program.run("keys", "list")
    assert refused.err == "opencrab: ab (f)\n  → cd\n"


def test_up_launches_with_what_it_is_told(program: Program, tmp_path: Path) -> None:
    program.exit_code = 3
    args = ["up", "--port", "9", "--host", "::1", "--data", "d", "--provider", "scripted"]
    assert program.run(*args).code == 3
    assert program.run("--data", "e", "up").code == 3
    usual, config = (tmp_path / name / "opencrab" for name in ("share", "config"))
    places = UpOptions(usual_data=usual, config=config / "config.toml")
    assert program.launched == [
        replace(places, port=9, host="::1", data=Path("d"), provider="scripted"),
        replace(places, data=Path("e")),
    ]


def test_up_takes_the_settings_file_that_is_named(program: Program, tmp_path: Path) -> None:
    program.run("up", "--config", "mine.toml")
    program.run("--config", "other.toml", "up")
    program.run("up", OPENCRAB_CONFIG="third.toml")
    assert [(each.config, each.config_named) for each in program.launched] == [
        (Path("mine.toml"), True),
        (Path("other.toml"), True),
        (Path("third.toml"), True),
    ]


@pytest.mark.parametrize(("language", "said"), [("en", "using the data"), ("ja", "のデータ")])
def test_data_of_an_older_version_in_this_folder_is_used_and_its_move_is_explained(
    program: Program, tmp_path: Path, language: str, said: str
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    program.patch.chdir(here)
    fixed = tmp_path / "share" / "opencrab"
    unset = {"OPENCRAB_DATA": ""}
    assert program.run("up", **unset).err == ""
    assert program.launched[-1].data == fixed
    (here / "data").mkdir()
    assert program.run("up", **unset).err == ""  # a folder of something else
    (here / "data" / "opencrab.db").touch()
    told = program.run("--language", language, "up", **unset).err
    assert said in told
    assert f"mv {here / 'data'} {fixed}" in told
    assert program.launched[-1].data == Path("data")
    fixed.mkdir(parents=True)
    (fixed / "opencrab.db").touch()
    both = program.run("--language", language, "up", **unset).err
    assert (f"--data {fixed}" in both, "mv " in both) == (True, False)
    assert program.run("up", "--data", "data", **unset).err == ""
    assert program.run("--data", str(fixed), "up").err == ""


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http"])
def test_up_takes_only_a_port_that_exists(program: Program, port: str) -> None:
    assert program.run("up", "--port", port).code == 2
    assert program.launched == []


def test_up_loads_neither_rich_nor_httpx_before_it_launches() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, timeout=30
    )
    loaded = set(json.loads(ended.stdout))
    assert "opencrab.gateways.cli.app" in loaded
    assert loaded & {"rich", "httpx", "fastapi", "uvicorn", "sqlite3"} == set()
