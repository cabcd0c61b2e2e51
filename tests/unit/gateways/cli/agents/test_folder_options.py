"""Folders of this computer as vault or workspace, attached and detached by `agents edit`."""

from pathlib import Path

import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view

ADA = agent_view("Ada")


@pytest.fixture
def server() -> Server:
    server = Server()
    server.on("GET /agents", page(ADA))
    server.on("GET /agents/ada-id", ok(ADA))
    return server


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "its vault is now /real/ノート\n"), ("ja", "ボルトを /real/ノート にしました\n")],
)
def test_a_folder_is_sent_by_its_whole_path_and_told_by_its_real_one(
    language: str, said: str, program: Program, server: Server
) -> None:
    kept = {"items": [{"place": "vault", "folder": "/real/ノート"}]}
    server.on("PUT /agents/ada-id/folders/vault", ok(kept))
    shown = program.run("--language", language, "agents", "edit", "Ada", "--vault", "~/ノート")
    assert server.sent("PUT") == [{"folder": str(Path("~/ノート").expanduser())}]
    assert server.sent("PATCH") == []
    assert shown.out.startswith(said)
    program.run("agents", "edit", "Ada", "--vault", "ここ")
    assert server.sent("PUT")[1] == {"folder": str(Path("ここ").absolute())}


def test_default_gives_back_its_own(program: Program, server: Server) -> None:
    server.on("PUT /agents/ada-id/folders/workspace", ok({"items": []}))
    server.on("PATCH /agents/ada-id", ok({}))
    edit = ("agents", "edit", "Ada", "--workspace", "default", "--purpose", "数える")
    shown = program.run("--language", "ja", *edit)
    assert server.sent("PUT") == [{"folder": None}]
    assert server.sent("PATCH") == [{"purpose": "数える"}]
    assert "ワークスペースを元に戻しました" in shown.out
