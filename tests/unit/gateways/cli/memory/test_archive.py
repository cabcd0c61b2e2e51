"""Archives at the terminal: a zip is written where none is, and sent as it is."""

from pathlib import Path

import httpx
import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page
from tests.unit.gateways.cli.views import agent_view

PLACE = "/agents/a1/memory"


@pytest.fixture(autouse=True)
def ada(server: Server) -> None:
    """There is one agent, with a past."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))
    archive = httpx.Response(200, content=b"PK zip", headers={"ETag": '"h"'})
    server.on(f"GET {PLACE}/export", archive)
    report = {
        "taken": {"memory": 2, "node": 1},
        "known": {"memory": 4},
        "other": {},
        "forgotten": {"memory": 5},
    }
    server.on(f"POST {PLACE}/import", ok(report))


def test_an_export_is_written_to_a_file_that_is_not_there_yet(
    program: Program, server: Server, tmp_path: Path
) -> None:
    target = tmp_path / "記憶.zip"
    shown = program.run("memory", "export", str(target), "--kept", "--since", "2026-02-17")
    assert shown.code == 0, shown.err
    assert target.read_bytes() == b"PK zip"
    query = dict(server.requests[-1].url.params)
    assert query["sessions"] == "false"
    assert query["since"].startswith("2026-02-17")
    again = program.run("memory", "export", str(target))
    assert again.code != 0
    assert "--force" in again.err
    assert program.run("memory", "export", str(target), "--force").code == 0


def test_an_import_is_sent_whole_and_told_in_numbers(
    program: Program, server: Server, tmp_path: Path
) -> None:
    source = tmp_path / "ada.zip"
    source.write_bytes(b"PK zip")
    shown = program.run("memory", "import", str(source))
    assert server.requests[-1].content == b"PK zip"
    assert "trust" not in server.requests[-1].url.params
    assert "imported: 3 · already known: 4 · skipped" in shown.out
    assert "deleted here: 5" in shown.out
    assert "--trust" in shown.out
    trusted = program.run("memory", "import", str(source), "--trust", LANG="ja_JP.UTF-8")
    assert server.requests[-1].url.params["trust"] == "true"
    assert trusted.out.startswith("取り込み 3 件")
    assert "忘れた内容のため除外 5 件" in trusted.out


def test_a_file_that_is_not_there_is_told_and_nothing_is_sent(
    program: Program, server: Server, tmp_path: Path
) -> None:
    shown = program.run("memory", "import", str(tmp_path / "none.zip"))
    assert shown.code != 0
    assert "none.zip" in shown.err
    assert all(request.method == "GET" for request in server.requests)
