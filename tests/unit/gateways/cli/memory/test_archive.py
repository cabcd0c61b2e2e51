"""Archives at the terminal: a zip is written where none is, and sent as it is."""

import json
import os
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view

PLACE = "/agents/a1/memory"


STORED = (
    '{"id":"m1","category":"lesson","content":"蟹は横に歩く。",'
    '"created_at":"2026-02-17T09:00:00Z","updated_at":"2026-02-17T09:00:00Z"}\n'
)
MEMORY = f'{{"kind":"memory","value":{STORED.strip()}}}\n'


def part(text: str = "", place: str = "") -> httpx.Response:
    """An answer with some rows of an export."""
    headers = {"Content-Type": "application/x-ndjson"}
    return httpx.Response(
        200, text=text, headers=headers | ({"X-OpenCrab-Next-Cursor": place} if place else {})
    )


def export(request: httpx.Request) -> httpx.Response:
    """Two parts: one memory, and the end."""
    assert request.headers["Accept"] == "application/x-ndjson"
    return part() if request.url.params.get("after") == "x" else part(MEMORY, place="x")


@pytest.fixture(autouse=True)
def ada(server: Server) -> None:
    """There is one agent, with a past."""
    server.on("GET /agents", page(agent_view("Ada", id="a1")))
    server.on(f"GET {PLACE}/export", export)
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
    with zipfile.ZipFile(target) as archive:
        assert archive.read("memory.jsonl").decode() == STORED
        assert "蟹は横に歩く。" in archive.read("memories.md").decode()
        assert json.loads(archive.read("manifest.json"))["rows"]["memory"] == 1
        assert "sessions.jsonl" not in archive.namelist()
    query = dict(server.requests[-1].url.params)
    assert query["sessions"] == "false"
    assert query["since"].startswith("2026-02-17")
    asked = len(server.requests)
    again = program.run("memory", "export", str(target))
    assert not [each for each in server.requests[asked:] if "export" in str(each.url)]
    assert again.code != 0
    assert "--force" in again.err
    assert program.run("memory", "export", str(target), "--force").code == 0


def test_an_export_that_breaks_off_leaves_no_file(
    program: Program, server: Server, tmp_path: Path
) -> None:
    target = tmp_path / "記憶.zip"
    server.on(f"GET {PLACE}/export", part(MEMORY, place="x"), problem(503, "the disk is full"))
    shown = program.run("memory", "export", str(target))
    assert shown.code != 0
    assert "the disk is full" in shown.err
    assert list(tmp_path.glob("*記憶*")) == []
    assert list(tmp_path.glob(".*")) == []


def test_a_server_without_parts_is_to_be_started_again(
    program: Program, server: Server, tmp_path: Path
) -> None:
    archive = httpx.Response(200, content=b"PK", headers={"Content-Type": "application/zip"})
    server.on(f"GET {PLACE}/export", archive)
    target = tmp_path / "記憶.zip"
    shown = program.run("memory", "export", str(target))
    assert "is of an earlier version" in shown.err
    assert "opencrab up" in shown.err
    shown = program.run("memory", "export", str(target), LANG="ja_JP.UTF-8")
    assert "以前のバージョン" in shown.err
    assert not target.exists()


def test_an_export_leaves_alone_what_was_written_meanwhile(
    program: Program, server: Server, tmp_path: Path
) -> None:
    target = tmp_path / "out" / "記憶.zip"
    target.parent.mkdir()

    def write_meanwhile(request: httpx.Request) -> httpx.Response:
        target.write_bytes(b"of somebody else")
        return export(request)

    server.on(f"GET {PLACE}/export", write_meanwhile)
    shown = program.run("memory", "export", str(target))
    assert shown.code != 0
    assert "--force" in shown.err
    assert target.read_bytes() == b"of somebody else"
    assert list(target.parent.iterdir()) == [target]


def test_two_exports_to_one_file_do_not_mix(
    program: Program, server: Server, tmp_path: Path
) -> None:
    target, names = tmp_path / "out" / "記憶.zip", list[set[str]]()
    target.parent.mkdir()

    def export_at_the_same_time(request: httpx.Request) -> httpx.Response:
        names.append({each.name for each in target.parent.iterdir()})
        if len(names) == 1:
            assert program.run("memory", "export", str(target)).code == 0
        return export(request)

    server.on(f"GET {PLACE}/export", export_at_the_same_time)
    assert program.run("memory", "export", str(target), "--force").code == 0
    assert len(names[1]) == 2
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
    assert list(target.parent.iterdir()) == [target]


def test_a_link_is_written_through_and_a_device_is_refused(
    program: Program, tmp_path: Path
) -> None:
    kept, link, pipe = tmp_path / "kept.zip", tmp_path / "newest.zip", tmp_path / "pipe"
    kept.write_bytes(b"")
    link.symlink_to(kept)
    assert program.run("memory", "export", str(link), "--force").code == 0
    assert link.is_symlink()
    assert zipfile.is_zipfile(kept)
    os.mkfifo(pipe)
    refused = program.run("memory", "export", str(pipe), "--force")
    assert refused.code != 0
    assert str(pipe) in refused.err.replace("\n", "")
    assert pipe.is_fifo()


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


@pytest.mark.parametrize(("language", "words"), [("en", "proxy"), ("ja", "プロキシ")])
def test_an_export_without_the_cursor_ends_with_the_reason(
    program: Program, server: Server, tmp_path: Path, language: str, words: str
) -> None:
    server.on(f"GET {PLACE}/export", lambda _: part(MEMORY))
    target = tmp_path / "記憶.zip"
    refused = program.run("--language", language, "memory", "export", str(target))
    assert refused.code != 0
    assert "X-OpenCrab-Next-Cursor" in refused.err
    assert words in refused.err
    asked = [one for one in server.requests if one.url.path.endswith("/export")]
    assert len(asked) == 1
