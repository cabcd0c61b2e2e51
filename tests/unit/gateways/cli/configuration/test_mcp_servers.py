"""MCP servers are added to the settings and removed from them without a file being edited."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.gateways.cli.configuration.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, before=("mcp",))


def written(home: Home) -> dict[str, Any]:
    """The servers of the settings file."""
    found: dict[str, Any] = tomllib.loads(home.file.read_text("utf-8")).get("mcp", {})
    return dict(found.get("servers", {}))


@pytest.mark.parametrize(("language", "said"), [("en", "files is in"), ("ja", "files を")])
def test_a_command_is_added_with_its_arguments(home: Home, language: str, said: str) -> None:
    args = ("--env", "ROOT=/home/海", "--agent", "蟹", "--", "npx", "-y", "server", "海 の")
    added = home.run("add", "files", *args, language=language)
    assert added.code == 0, added.err
    assert said in added.out
    assert written(home) == {
        "files": {
            "command": "npx",
            "args": ["-y", "server", "海 の"],
            "env": {"ROOT": "/home/海"},
            "agents": ["蟹"],
        }
    }
    assert home.run("add", "files", "--", "npx").code == 6


def test_an_address_is_added_with_a_secret_that_no_command_shows(home: Home) -> None:
    url = "https://mcp.example.org/mcp"
    header = "Authorization=Bearer ${KANI}"
    added = home.run("add", "web", "--url", url, "--header", header)
    assert added.code == 0, added.err
    assert written(home)["web"] == {"url": url, "headers": {"Authorization": "Bearer ${KANI}"}}
    home.before = ("config",)
    shown = home.run("get", "mcp.servers.web.headers.Authorization", KANI="sk-KANARI")
    assert "KANARI" not in shown.out + shown.err


def test_an_api_is_added_by_its_description(home: Home) -> None:
    openapi = "https://api.example.org/openapi.json"
    added = home.run("add", "tides", "--openapi", openapi)
    assert added.code == 0, added.err
    assert written(home)["tides"] == {"openapi": openapi}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("add", "files"), "give a command or --url"),
        (("add", "files", "--url", "https://x.test", "--", "npx"), "give a command or --url"),
        (("add", "Files", "--", "npx"), "cannot be the name of an MCP server"),
        (("add", "files", "--env", "=x", "--", "npx"), "is not NAME=VALUE"),
        (("add", "web", "--url", "http://mcp.example.org"), "must use https"),
        (("add", "web", "--url", "https://x.test", "--header", "A=sk-KANARI"), "headers"),
    ],
)
def test_what_cannot_be_a_server_is_refused_and_nothing_is_written(
    home: Home, args: tuple[str, ...], told: str
) -> None:
    assert home.run(*args).code != 0
    assert told in home.err
    assert "KANARI" not in home.err
    assert not home.file.exists() or written(home) == {}


def test_a_server_is_removed(home: Home) -> None:
    home.run("add", "files", "--env", "A=b", "--", "npx")
    removed = home.run("remove", "files")
    assert removed.code == 0, removed.err
    assert "removed files" in removed.out
    assert written(home) == {}
    assert home.run("remove", "files").code == 5


def test_wrong_settings_are_told_as_others_are(home: Home) -> None:
    home.write(
        '[mcp.servers.files]\ncommand = 5\nurll = "x"\n[mcp.servers.web]\nheaders = {A = "x"}\n'
    )
    home.before = ("config",)
    said = home.run("check")
    assert said.code != 0
    for place in ("command", "urll", "headers.A"):
        assert f"mcp.servers.{'web' if place == 'headers.A' else 'files'}.{place}" in (
            said.out + said.err
        )


@pytest.mark.parametrize(
    ("language", "said"), [("en", "not trusted"), ("ja", "信頼されていません")]
)
def test_an_agent_elsewhere_is_added_by_its_card(home: Home, language: str, said: str) -> None:
    home.before = ("peers",)
    url = "https://tides.example.org"
    header = "Authorization=Bearer ${TIDES}"
    # The short way does as `mcp add-agent`.
    added = home.run(
        "add", "tides", "--a2a", url, "--header", header, "--agent", "蟹", language=language
    )
    assert added.code == 0, added.err
    assert said in added.out
    assert written(home)["tides"] == {
        "a2a": url,
        "agents": ["蟹"],
        "headers": {"Authorization": "Bearer ${TIDES}"},
    }
    home.before = ("mcp",)
    assert home.run("add-agent", "tides", "--a2a", url).code == 6
    assert home.run("add-agent", "other", "--a2a", "http://tides.example.org").code != 0
    assert "must use https" in home.err
