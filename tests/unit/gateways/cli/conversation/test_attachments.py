"""Files go with a message: named, dropped or given as an option, and refused with a reason."""

import shlex
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencrab.domain.conversation.attachment import PICTURE_BYTES
from opencrab.gateways.cli.conversation.attachments import files_dropped_into_chat
from tests.unit.gateways.cli.server import Program, Server, ok, page, problem
from tests.unit.gateways.cli.views import agent_view, answered, reply_view, session_view

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
UPLOAD = "POST /sessions/s1/uploads"


def stored(request: httpx.Request) -> httpx.Response:
    """What the server answers to an upload."""
    name = request.url.params["name"]
    kind = "image" if request.content.startswith(b"\x89PNG") else "file"
    return ok({"kind": kind, "reference": f"workspace:uploads/u/{name}", "name": name}, 201)


@pytest.fixture
def server() -> Server:
    server = Server()
    server.on("GET /agents", page(agent_view("Ada")))
    server.on("GET /sessions", page())
    server.on("POST /sessions", ok(session_view("ada-id"), 201))
    server.on("GET /sessions/s1/messages", page())
    server.on("POST /sessions/s1/messages", ok(answered(reply_view("Ada", "a crab"))))
    server.on(UPLOAD, stored)
    return server


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "写真 と メモ"
    folder.mkdir()
    (folder / "蟹 1.png").write_bytes(PNG)
    (folder / "note.md").write_text("蟹は横に歩く", encoding="utf-8")
    return folder


def messages(server: Server) -> list[Any]:
    posts = (each for each in server.requests if each.url.path.endswith("/messages"))
    return [httpx.Response(200, content=each.content).json() for each in posts if each.content]


def test_a_script_sends_files_with_its_message(
    program: Program, server: Server, files: Path
) -> None:
    paths = [str(files / "蟹 1.png"), str(files / "note.md")]
    given = [word for path in paths for word in ("--attach", path)]
    shown = program.run("chat", "Ada", "--say", "何?", *given)
    assert (shown.code, shown.out) == (0, "a crab\n")
    (message,) = messages(server)
    assert message["parts"] == [
        {"kind": "image", "reference": "workspace:uploads/u/蟹 1.png"},
        {"kind": "file", "reference": "workspace:uploads/u/note.md"},
    ]


def test_only_the_first_line_of_a_pipe_has_the_files(
    program: Program, server: Server, files: Path
) -> None:
    program.run("chat", "Ada", "--attach", str(files / "note.md"), typed="one\ntwo\n")
    assert ["parts" in message for message in messages(server)] == [True, False]
    lonely = program.run("chat", "Ada", "--attach", str(files / "note.md"), typed="")
    assert (lonely.code, "write a message" in lonely.err) == (2, True)


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "attached: 蟹 1.png; sent with your next message"), ("ja", "添付: 蟹 1.png(次の")],
)
@pytest.mark.parametrize("form", ["/attach {}", "{}", "'{}'", "escaped", "file"])
def test_a_file_is_attached_by_command_or_dropped(
    program: Program, files: Path, language: str, said: str, form: str
) -> None:
    path = files / "蟹 1.png"
    forms = {
        "escaped": shlex.quote(str(path)).strip("'").replace(" ", "\\ "),
        "file": path.as_uri(),
    }
    line = forms.get(form, form.format(path))
    shown = program.sit("--language", language, "chat", "Ada", typed=[line, "何?", "再び"])
    assert said in shown.out
    assert [len(message.get("parts", ())) for message in messages(program.server)] == [1, 0]


def test_a_line_about_a_file_is_said(program: Program, server: Server, files: Path) -> None:
    said = [f"これは? {files / 'note.md'}", "note.md", f"{files}"]
    shown = program.sit("chat", "Ada", typed=said)
    assert [message["text"] for message in messages(server)] == said[:2]
    assert "unknown command" in shown.out


def test_several_dropped_files_are_one_message(
    program: Program, server: Server, files: Path
) -> None:
    line = shlex.join([str(files / "蟹 1.png"), str(files / "note.md")])
    program.sit("chat", "Ada", typed=[line, "見て"])
    assert [len(message["parts"]) for message in messages(server)] == [2]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gone.png", None, ("there is no file", "ありません")),
        ("", None, ("is not a file", "ファイルではありません")),
        ("a.pdf", b"%PDF\xff", ("neither a picture nor text", "画像でも UTF-8")),
        ("a.png", b"text", ("its content is none", "内容は画像ではありません")),
        ("a.txt", PNG, ("its content is a picture", "内容は画像です")),
        ("a.txt", b"", ("is empty", "空です")),
        ("a.png", PNG + bytes(PICTURE_BYTES), ("is too large", "大きすぎます")),
    ],
)
def test_what_cannot_be_attached_is_refused_before_anything_is_sent(
    program: Program, tmp_path: Path, name: str, content: bytes | None, words: tuple[str, str]
) -> None:
    file = tmp_path / "x" / name
    (tmp_path / "x").mkdir()
    if content is not None:
        file.write_bytes(content)
    for language, said in zip(("en", "ja"), words, strict=True):
        given = ("--language", language, "chat", "Ada", "--say", "?", "--attach", str(file))
        wrong = program.run(*given)
        assert (wrong.code == 0, said in wrong.err, "WebP" in wrong.err) == (False, True, True)
    assert program.server.requests == []


def test_five_pictures_and_addresses_are_refused(
    program: Program, server: Server, files: Path
) -> None:
    picture = str(files / "蟹 1.png")
    five = program.run("chat", "Ada", "--say", "?", *(["--attach", picture] * 5))
    assert "at most 4" in five.err
    there = program.run("chat", "Ada", "--say", "?", "--attach", "https://example.com/a.png")
    assert "is an address" in there.err
    assert server.requests == []


def test_a_refused_upload_keeps_the_file_for_the_next_message(
    program: Program, server: Server, files: Path
) -> None:
    server.on(UPLOAD, problem(413, "the workspace is full"), stored)
    shown = program.sit("chat", "Ada", typed=[f"/attach {files / 'note.md'}", "見て", "見て"])
    assert "the workspace is full" in shown.err + shown.out
    assert [len(message["parts"]) for message in messages(server)] == [1]


@pytest.mark.parametrize(
    "line", ["", "/", "~", "hello", "/no/such/file", "/x\x00y", "'", "/" * 9_000]
)
def test_what_is_no_file_is_no_dropped_file(line: str) -> None:
    assert files_dropped_into_chat(line) == []
