"""Providers of one's own are added, changed, removed and tested without a file being edited."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.unit.gateways.cli.configuration.home import Home

ADD = ("add", "gate", "--base-url", "https://gate.test/v1", "--model", "llama")
SECTION = "llm.providers.gate"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, before=("models", "providers"))


def value(home: Home, name: str) -> object:
    home.before, before = ("config",), home.before
    found = home.run("get", name, "--json").json["value"]
    home.before = before
    return found


def secrets(home: Home) -> dict[str, str]:
    text = (home.folder / "data" / "secrets.json").read_text()
    assert not any(word in text for word in ("gsk-KANARI", "sk-2"))
    return {name: str(home.secrets.get(name)) for name in json.loads(text)}


@pytest.mark.parametrize(("language", "said"), [("en", "gate is in"), ("ja", "gate を")])
def test_a_provider_is_added_with_its_key_which_is_in_no_settings_file(
    home: Home, language: str, said: str
) -> None:
    added = home.run(*ADD, "--key", typed="gsk-KANARI\n", language=language)
    assert added.code == 0, added.err
    assert said in added.out
    assert "KANARI" not in added.out + added.err + home.file.read_text()
    assert secrets(home) == {"GATE_API_KEY": "gsk-KANARI"}
    assert value(home, f"{SECTION}.base_url") == "https://gate.test/v1"
    assert value(home, f"{SECTION}.kind") == "openai"


def test_a_provider_that_exists_is_changed_and_not_added_again(home: Home) -> None:
    assert home.run("add", "openai", "--base-url", "https://x.test").code == 6
    assert "providers set openai" in home.err
    assert home.run("set", "openai", "--base-url", "https://gateway.test/v1").code == 0
    assert value(home, "llm.providers.openai.base_url") == "https://gateway.test/v1"
    assert "OPENAI_API_KEY" in home.run("set", "openai", "--key", typed="sk-2\n").out
    assert "config.toml" not in home.out
    assert secrets(home) == {"OPENAI_API_KEY": "sk-2"}
    assert home.run("set", "nobody", "--model", "x").code == 5
    assert home.run("set", "openai").code == 2


@pytest.mark.parametrize(
    "args",
    [
        ("add", "a.b", "--base-url", "https://x.test"),
        ("add", "gate"),
        ("add", "gate", "--base-url", "gate.test"),
        ("add", "gate", "--base-url", "http://gate.test/v1"),
        ("add", "gate", "--base-url", "https://gate.test", "--kind", "openia"),
    ],
)
def test_what_cannot_be_a_provider_is_refused_and_nothing_is_written(
    home: Home, args: tuple[str, ...]
) -> None:
    assert home.run(*args).code == 2
    assert not home.file.exists()


def test_one_of_ones_own_is_removed_and_one_that_ships_disabled(home: Home) -> None:
    home.run(*ADD)
    assert home.run("remove", "gate", "--json").json == {"name": "gate", "removed": True}
    assert "gate" not in home.file.read_text()
    assert home.run("remove", "openai", "--json").json == {"name": "openai", "removed": False}
    assert value(home, "llm.providers.openai.enabled") is False
    home.run("set", "openai", "--enable")
    assert value(home, "llm.providers.openai.enabled") is True


def test_a_provider_that_an_alias_names_is_not_removed(home: Home) -> None:
    home.run(*ADD)
    home.before = ("models", "aliases")
    assert home.run("set", "quick", "gate:llama").code == 0
    before = home.file.read_text()
    home.before = ("models", "providers")
    assert home.run("remove", "gate").code == 2
    assert "quick" in home.err
    assert home.file.read_text() == before


class Listing(BaseHTTPRequestHandler):
    """A server with one model."""

    def do_GET(self) -> None:
        content = b'{"object": "list", "data": [{"id": "llama"}]}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name is given
        """Say nothing."""


@pytest.mark.parametrize(("language", "said"), [("en", "answers"), ("ja", "応答して")])
def test_a_provider_is_asked_for_its_models(home: Home, language: str, said: str) -> None:
    server = HTTPServer(("127.0.0.1", 0), Listing)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    home.run("add", "mine", "--base-url", f"http://127.0.0.1:{server.server_address[1]}/v1")
    assert said in home.run("test", "mine", language=language).out
    assert home.run("test", "mine", "--json").json["models"] == ["llama"]
    server.shutdown()
    server.server_close()
    assert home.run("test", "mine", language=language).code == 3
    assert "base_url" in home.err
    assert home.run("test", "openai").code == 3
    assert home.run("test", "nobody").code == 5
