"""A running server on this computer takes MCP servers that its settings files name from now on."""

import logging
from pathlib import Path
from typing import Any

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.bootstrap.configuration.local_settings import LocalSettings
from opencrab.bootstrap.mcp.following import FollowedMcpServers, FollowingMcpRegistry
from opencrab.domain.errors import Invalid
from opencrab.ports.installation.configuration import SettingsPaths

FILES = '[mcp.servers.files]\ncommand = "npx"\n'
WEB = '[mcp.servers.web]\nurl = "https://example.org/mcp"\nheaders.X = "${TOKEN}"\n'


class Secrets:
    """Secrets that are stored while the server runs."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self._known.get(name)

    def forget(self) -> None:
        self._known = dict(self.kept)


class Computer:
    """The settings file of an owner, and the servers of the one that runs."""

    def __init__(self, folder: Path, text: str = "") -> None:
        self.file = folder / "config.toml"
        self.write(text)
        places = SettingsPaths(user=self.file, data=folder)
        self.settings, self.secrets = LocalSettings(places), Secrets()
        given: Any = (self.settings.stamp, self.secrets, None)
        self.followed = FollowedMcpServers(self.settings.load({}), self.settings.load, *given)

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    def names(self) -> list[str]:
        return [server.name for server in self.followed.servers]


@pytest.fixture
def computer(tmp_path: Path) -> Computer:
    return Computer(tmp_path)


def test_a_server_that_is_added_or_removed_counts_at_once(computer: Computer) -> None:
    assert computer.names() == []
    computer.write(FILES)
    assert computer.names() == ["files"]
    computer.write(FILES + WEB)
    assert computer.names() == ["files", "web"]
    computer.write("")
    assert computer.names() == []


def test_a_secret_that_is_stored_later_is_taken_too(computer: Computer) -> None:
    computer.write(WEB)
    (web,) = computer.followed.servers
    assert web.problem == "the variable TOKEN is not set"
    computer.secrets.kept["TOKEN"] = "tide"
    computer.write(f"{WEB}\n")
    (web,) = computer.followed.servers
    assert (web.problem, web.headers) == ("", {"X": "tide"})


@pytest.mark.parametrize(
    "wrong", ["[mcp.servers.files", FILES.replace("files", "Fi-les"), f'{FILES}url = "https://x.y"']
)
def test_a_file_that_became_wrong_leaves_the_servers_as_they_were(
    computer: Computer, wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    computer.write(FILES)
    assert computer.names() == ["files"]
    with caplog.at_level(logging.WARNING):
        computer.write(wrong)
        assert computer.names() == ["files"]
        assert computer.names() == ["files"]
    assert len(caplog.records) == 1, "the same file is read once"


def test_servers_that_contradict_at_the_start_stop_it(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="needs a command or a url"):
        Computer(tmp_path, '[mcp.servers.files]\nurl = ""\n')


def test_what_spoke_with_a_server_that_is_gone_ends(computer: Computer) -> None:
    computer.write(FILES + WEB)
    files, _ = computer.followed.servers
    client = computer.followed.client
    place = client._place(files)
    computer.write(WEB)
    assert computer.names() == ["web"]
    assert computer.followed.client is client
    assert client._place(files) is not place


def test_actions_come_from_the_registry_with_tools_while_there_are_servers(
    computer: Computer,
) -> None:
    class Tools(Registry):
        def find(self, name: str) -> Any:
            return "a tool" if name == "mcp__files__read" else super().find(name)

    made = list[Registry]()

    def with_tools() -> Registry:
        made.append(Tools(GROUPS))
        return made[-1]

    registry = FollowingMcpRegistry(Registry(GROUPS), computer.followed, with_tools)
    assert registry.find("mcp__files__read") is None
    assert registry.find("ws_read") is not None
    assert not made
    computer.write(FILES)
    for _ in range(2):
        found: Any = registry.find("mcp__files__read")
        assert found == "a tool"
    assert len(made) == 1
    computer.write("")
    assert registry.find("mcp__files__read") is None
    assert len(registry.all()) == len(Registry(GROUPS).all())
