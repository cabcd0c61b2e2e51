"""A server that answers as it is told, and the program beside it."""

from pathlib import Path

import pytest

from tests.unit.gateways.cli.server import INSTANCE, Program, Server


@pytest.fixture
def server() -> Server:
    """A server that knows nothing yet."""
    return Server()


@pytest.fixture
def program(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program in English, with the owner's key in its data folder, on which a server runs."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "instance").write_text(f"{INSTANCE}\n", encoding="utf-8")
    (data / "owner.key").write_text("oc_owner\n", encoding="utf-8")
    return Program(server, data, monkeypatch)
