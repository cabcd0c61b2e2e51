"""An agent's files from the command line: listed, read, written, fetched, uploaded, deleted."""

from pathlib import Path

import httpx
import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view

FILE = {"path": "メモ/今日.md", "size": 1234, "sha256": "0" * 64, "version": "v2"}
PLACE = "/agents/ada-id/workspace"
QUOTED = "%E3%83%A1%E3%83%A2/%E4%BB%8A%E6%97%A5.md"
KEPT = [
    {"version": "v2", "size": 1234, "at": "2026-02-17T09:00:00Z", "is_current": True},
    {"version": "v1", "size": 5, "at": "2026-02-16T09:00:00Z", "is_current": False},
]


def file(content: bytes) -> httpx.Response:
    """A file as OpenCrab sends it."""
    return httpx.Response(200, content=content, headers={"ETag": '"v2"'})


@pytest.fixture
def server() -> Server:
    """Ada with one file."""
    server = Server()
    server.on("GET /agents", page(agent_view("Ada")))
    server.on(f"GET {PLACE}", page(FILE))
    server.on(f"GET {PLACE}/{QUOTED}", file("海へ行った\n".encode()))
    server.on(f"PUT {PLACE}/{QUOTED}", ok(FILE))
    server.on(f"DELETE {PLACE}/{QUOTED}", httpx.Response(204))
    server.on(f"GET /agents/ada-id/workspace-versions/{QUOTED}", ok({"path": "", "items": KEPT}))
    return server


def last(server: Server) -> httpx.Request:
    """The request that the command was about."""
    return server.requests[-1]


def test_files_are_listed_with_their_sizes(program: Program, server: Server) -> None:
    rows = program.run("workspace", "list", "Ada").out.splitlines()
    assert rows[0].split() == ["path", "bytes"]
    folders = ["data/", "drafts/", "notes/", "skills/", "summaries/", "vault/"]
    assert [row.split() for row in rows[1:-1]] == [[folder] for folder in folders]
    assert rows[-1].split() == ["メモ/今日.md", "1,234"]
    assert program.run("workspace", "list", "Ada", "メモ/", "--json").json == [FILE]
    assert last(server).url.params["prefix"] == "メモ"


@pytest.mark.parametrize(
    ("language", "said"), [("en", "there are no files\n"), ("ja", "ファイルはありません\n")]
)
def test_an_empty_folder_says_so(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on(f"GET {PLACE}", page())
    assert program.run("--language", language, "workspace", "list", "Ada", "data").out == said


def test_a_file_is_read(program: Program, server: Server) -> None:
    read = ("workspace", "read", "Ada", "メモ/今日.md")
    assert program.run(*read).out == "海へ行った\n"
    assert program.run(*read, "--version", "v1", "--json").json == {
        "path": "メモ/今日.md",
        "version": "v2",
        "content": "海へ行った\n",
    }
    assert last(server).url.params["version"] == "v1"


@pytest.mark.parametrize(("language", "said"), [("en", "is not text"), ("ja", "ではありません")])
def test_what_is_no_text_is_to_be_fetched(
    program: Program, server: Server, language: str, said: str
) -> None:
    server.on(f"GET {PLACE}/{QUOTED}", file(b"\x89PNG\xff"))
    failed = program.run("--language", language, "workspace", "read", "Ada", "メモ/今日.md")
    assert (failed.code, failed.out) == (2, "")
    assert said in failed.err
    assert "opencrab workspace get" in failed.err


def test_a_file_cannot_speak_to_the_terminal(program: Program, server: Server) -> None:
    server.on(f"GET {PLACE}/{QUOTED}", file("\x1b[2Jhidden\u202e".encode()))
    assert program.run("workspace", "read", "Ada", "メモ/今日.md").out == "hidden\n"


@pytest.mark.parametrize("text", ["山へ行く", "to the hills"])
def test_a_text_is_written_from_an_argument_or_a_pipe(
    program: Program, server: Server, text: str
) -> None:
    write = ("workspace", "write", "Ada", "メモ/今日.md")
    assert program.run(*write, text).out == "wrote メモ/今日.md (1234 bytes)\n"
    assert last(server).content == text.encode()
    assert last(server).headers["Content-Type"] == "application/octet-stream"
    assert program.run(*write, "--json", typed=f"{text}\n").json == FILE
    assert last(server).content == f"{text}\n".encode()


def test_a_file_is_fetched_as_it_is_and_replaces_none_unasked(
    program: Program, server: Server, tmp_path: Path
) -> None:
    content, target = bytes(range(256)), tmp_path / "写真.png"
    server.on(f"GET {PLACE}/{QUOTED}", file(content))
    get = ("workspace", "get", "Ada", "メモ/今日.md", str(target))
    assert "(256 bytes)" in program.run(*get).out
    assert target.read_bytes() == content
    target.write_bytes(b"mine")
    failed = program.run(*get)
    assert (failed.code, target.read_bytes()) == (6, b"mine")
    assert "--force" in failed.err
    assert program.run(*get, "--force", "--json").json["file"] == str(target)
    assert target.read_bytes() == content


def test_a_file_is_uploaded_under_its_own_name_or_another(
    program: Program, server: Server, tmp_path: Path
) -> None:
    source = tmp_path / "今日.md"
    source.write_bytes(b"\x00\xff")
    put = ("workspace", "put", "Ada", str(source))
    assert program.run(*put, "メモ/今日.md").code == 0
    assert last(server).content == b"\x00\xff"
    program.run(*put)
    assert last(server).url.path == f"/api{PLACE}/今日.md"


@pytest.mark.parametrize("command", ["get", "put"])
def test_a_place_that_cannot_be_used_is_named(
    program: Program, tmp_path: Path, command: str
) -> None:
    place, path = str(tmp_path / "nowhere" / "a"), "メモ/今日.md"
    both = (path, place) if command == "get" else (place, path)
    failed = program.run("workspace", command, "Ada", *both)
    assert failed.code == 2
    assert f"cannot use {place}" in failed.err


def test_a_deletion_is_asked_for(program: Program, server: Server) -> None:
    delete = ("workspace", "delete", "Ada", "メモ/今日.md")
    assert program.run(*delete).code == 2
    assert "nothing was changed" in program.sit(*delete, typed=["n"]).out
    assert "DELETE" not in {request.method for request in server.requests}
    assert "deleted" in program.sit(*delete, typed=["y"]).out
    assert program.run(*delete, "--yes", "--json").json == {"path": "メモ/今日.md"}


def test_versions_are_listed_the_newest_first(program: Program) -> None:
    versions = ("workspace", "versions", "Ada", "メモ/今日.md")
    rows = [row.split() for row in program.run(*versions).out.splitlines()]
    assert rows[0] == ["version", "changed", "bytes", "status"]
    assert (rows[1][0], rows[1][-1], rows[2][0], rows[2][-1]) == ("v2", "current", "v1", "5")
    assert "現在の内容" in program.run("--language", "ja", *versions).out
    assert program.run(*versions, "--json").json == KEPT


@pytest.mark.parametrize("path", ["../../owner.key", "a//b", "/etc/passwd", ""])
@pytest.mark.parametrize("command", ["read", "write", "get", "delete", "versions"])
def test_a_path_that_is_none_is_never_sent(
    program: Program, server: Server, command: str, path: str
) -> None:
    failed = program.run("workspace", command, "Ada", path, *(["--yes"] * (command == "delete")))
    assert failed.code == 2
    assert "path" in failed.err
    assert server.requests == []


def test_an_error_of_the_server_is_a_sentence(program: Program, server: Server) -> None:
    gone = problem(404, "there is no file 'メモ/今日.md'", cure="list the workspace")
    server.on(f"GET {PLACE}/{QUOTED}", gone)
    failed = program.run("workspace", "read", "Ada", "メモ/今日.md")
    assert (failed.code, failed.out) == (5, "")
    assert "there is no file" in failed.err
    assert "list the workspace" in failed.err


def test_what_is_not_opencrab_sends_no_files(program: Program, server: Server) -> None:
    server.on(f"GET {PLACE}/{QUOTED}", httpx.Response(200, content=b"<html>"))
    failed = program.run("workspace", "read", "Ada", "メモ/今日.md")
    assert failed.code == 3
    assert "is not OpenCrab" in failed.err


@pytest.mark.parametrize(("language", "said"), [("en", "--yes to delete"), ("ja", "削除するには")])
def test_without_a_person_a_deletion_is_confirmed_in_its_own_words(
    program: Program, language: str, said: str
) -> None:
    told = program.run("--language", language, "workspace", "delete", "Ada", "メモ/今日.md")
    assert (told.code, said in told.err, "retir" in told.err) == (2, True, False)


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "deleted 1 older version(s) of"), ("ja", "以前の版を 1 件削除しました")],
)
def test_versions_are_deleted_when_that_is_confirmed(
    program: Program, server: Server, language: str, said: str
) -> None:
    where = f"DELETE /agents/ada-id/workspace-versions/{QUOTED}"
    server.on(where, ok({"path": "メモ/今日.md", "deleted": 1}))
    delete = ("--language", language, "workspace", "delete-versions", "Ada", "メモ/今日.md")
    refused = program.run(*delete)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert last(server).method == "GET"
    assert said in program.run(*delete, "--version", "v1", "--yes").out
    assert last(server).url.params["version"] == "v1"
    program.run(*delete, "--yes")
    assert "version" not in last(server).url.params
