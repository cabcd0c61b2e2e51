"""Reading, writing and listing one's own files, in Japanese and English."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from opencrab.actions.workspace.read import ENTRIES, PAGE_BYTES
from opencrab.actions.workspace.write import WRITE_BYTES
from opencrab.domain.access.impact import Impact
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.action import Effect, FileWritten
from opencrab.domain.workspace.path import STANDARD_FOLDERS
from opencrab.ports.workspace.files import ABSENT
from tests.unit.actions.workroom import Room, find, workroom

STANDARD = [{"name": name, "is_dir": True, "size": 0} for name in sorted(STANDARD_FOLDERS)]

both_languages = pytest.mark.parametrize(
    ("path", "content"),
    [("メモ/今日.md", "海へ行った。\n蟹がいた 🦀\n"), ("notes/today.md", "went to the sea\n")],
)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """An empty workspace."""
    with workroom(tmp_path) as opened:
        yield opened


@both_languages
def test_what_was_written_can_be_read_and_listed(path: str, content: str, room: Room) -> None:
    written = room.write(path, content)
    size, sha256 = len(content.encode()), content_hash(content.encode())
    assert written.data == {"path": path, "size": size, "sha256": sha256}
    assert written.side_effects == (FileWritten(path=path, sha256=sha256, size=size),)
    read = room.do("ws_read", path=path).data
    assert read is not None
    assert (read["content"], read["size"]) == (content, size)
    assert (read["lines"], read["has_more"]) == (content.count("\n"), False)
    folder, _, name = path.partition("/")
    listed = room.do("ws_list", path=folder).data
    assert listed == {
        "path": folder,
        "entries": [{"name": name, "is_dir": False, "size": size}],
        "left_out": 0,
    }


def test_writing_is_keyed_and_stays_with_the_agent() -> None:
    written, read, listed = (find(name) for name in ("ws_write", "ws_read", "ws_list"))
    assert (written.impact, written.effect) == (Impact.SELF, Effect.KEYED)
    assert {read.effect, listed.effect} == {Effect.PURE}
    assert {read.impact, listed.impact} == {Impact.READ}


@both_languages
def test_a_repeat_of_a_write_is_harmless(path: str, content: str, room: Room) -> None:
    ready = room.prepared("ws_write", path=path, content=content)
    assert ready.at.prepared == {"condition": ABSENT, "sha256": content_hash(content.encode())}
    first = ready.run("ws_write", path=path, content=content)
    version = room.files.info("mika", path)
    assert ready.run("ws_write", path=path, content=content) == first
    assert room.files.info("mika", path) == version


@both_languages
def test_a_write_never_overwrites_what_came_in_between(path: str, content: str, room: Room) -> None:
    ready = room.prepared("ws_write", path=path, content=content)
    room.write(path, "somebody else's / 他の誰か")
    result = ready.run("ws_write", path=path, content=content)
    assert not result.success
    assert result.error is not None
    assert repr(path) in result.error
    assert "read it again" in result.error
    assert room.files.read("mika", path)[1].decode() == "somebody else's / 他の誰か"


def test_a_write_replaces_the_whole_file(room: Room) -> None:
    room.write("a.md", "長い内容" * 100)
    assert room.write("a.md", "短い").success
    assert room.files.read("mika", "a.md")[1] == "短い".encode()


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "", "a//b", "海\x00", "nul", "a\\b"])
def test_a_path_that_is_none_is_an_answer_with_a_cure(path: str, room: Room) -> None:
    for result in (room.write(path, "x"), room.do("ws_read", path=path)):
        assert not result.success
        assert result.error is not None
        assert result.error.startswith("path ")
        assert ": " in result.error


def test_a_twin_of_a_file_is_an_answer_that_names_it(room: Room) -> None:
    room.write("Memo.md", "x")
    error = room.write("memo.md", "y").error or ""
    assert "'memo.md' differs from the existing 'Memo.md' in case or width only" in error


@pytest.mark.parametrize("character", ["x", "海"])
def test_a_write_has_a_most(character: str, room: Room) -> None:
    size = len(character.encode())
    assert room.write("a.md", character * (WRITE_BYTES // size)).success
    error = room.write("b.md", character * (WRITE_BYTES // size + 1)).error or ""
    assert "split it into several files" in error
    assert room.files.info("mika", "b.md") is None


def test_a_full_workspace_is_an_answer_with_a_cure(tmp_path: Path) -> None:
    with workroom(tmp_path, quota_bytes=10) as small:
        error = small.write("メモ.md", "海" * 4).error or ""
    assert "'メモ.md' needs 12 bytes more and the workspace has 10 of 10 left" in error
    assert error.endswith("delete or shorten other files first")


@pytest.mark.parametrize("content", ["a\x00", "\ud83e", 7, None])
def test_only_whole_text_is_written(content: object, room: Room) -> None:
    with pytest.raises(ValidationError, match="content"):
        room.do("ws_write", path="a.md", content=content)


def test_a_human_sees_path_and_size_before_agreeing() -> None:
    action = find("ws_write")
    assert action.touches is not None
    arguments = action.arguments.model_validate({"path": "メモ.md", "content": "海"})
    assert action.touches(arguments) == "'メモ.md' (3 B)"


@pytest.mark.parametrize("line", ["行{}\n", "line {}\n"])
def test_a_file_is_read_in_pages(line: str, room: Room) -> None:
    lines = [line.format(n) for n in range(1, 451)]
    room.write("a.md", "".join(lines))
    pages = [room.do("ws_read", path="a.md", offset=offset).data or {} for offset in (1, 201, 401)]
    assert "".join(page["content"] for page in pages) == "".join(lines)
    assert [page["has_more"] for page in pages] == [True, True, False]
    assert pages[0]["note"] == "The next page begins at offset=201."
    assert "note" not in pages[2]


@pytest.mark.parametrize("character", ["x", "海", "🦀"])
def test_a_page_has_a_most_of_bytes_and_cuts_at_characters(character: str, room: Room) -> None:
    room.write("a.md", f"{character * PAGE_BYTES}\nend")
    page = room.do("ws_read", path="a.md").data
    assert page is not None
    assert page["content"] == character * (PAGE_BYTES // len(character.encode()))
    assert "only the first" in page["note"]
    assert "offset=2" in page["note"]
    rest = room.do("ws_read", path="a.md", offset=2).data
    assert rest is not None
    assert rest["content"] == "end"


@pytest.mark.parametrize(("content", "offset"), [("a\nb\n", 3), ("海", 2), ("", 2)])
def test_reading_behind_the_end_says_how_many_lines_there_are(
    content: str, offset: int, room: Room
) -> None:
    room.write("a.md", content)
    error = room.do("ws_read", path="a.md", offset=offset).error or ""
    lines = content.count("\n") or len(content)
    assert f"offset {offset} is past the end" in error
    assert f"has {lines} lines" in error


def test_an_empty_file_reads_as_nothing(room: Room) -> None:
    room.write("a.md", "")
    page = room.do("ws_read", path="a.md").data
    assert page is not None
    assert (page["content"], page["lines"], page["has_more"]) == ("", 0, False)


def test_what_is_not_there_is_an_answer(room: Room) -> None:
    for name, path in (("ws_read", "無い.md"), ("ws_list", "無い")):
        result = room.do(name, path=path)
        assert not result.success
        assert repr(path) in (result.error or "")


def test_what_is_no_text_is_an_answer(room: Room) -> None:
    room.files.write("mika", "a.png", b"\x89PNG\xff")
    error = room.error("ws_read", path="a.png")
    assert "'a.png' is not text in UTF-8 (5 bytes, beginning with 89 50 4e 47)" in error
    assert "skip it" in error
    room.files.write("mika", "a.bin", b"a\x00b")
    assert "not text" in room.error("ws_read", path="a.bin")


@pytest.mark.parametrize("field", ["offset", "limit"])
def test_pages_are_counted_from_one(field: str, room: Room) -> None:
    with pytest.raises(ValidationError, match=field):
        room.do("ws_read", path="a.md", **{field: 0})


def test_a_list_shows_one_folder_at_a_time(room: Room) -> None:
    for path in ("b.md", "海/a.md", "海/深/b.md", "a/x.md"):
        room.write(path, "123")
    entries = room.data("ws_list")["entries"]
    assert [each for each in entries if each not in STANDARD] == [
        {"name": "a", "is_dir": True, "size": 3},
        {"name": "b.md", "is_dir": False, "size": 3},
        {"name": "海", "is_dir": True, "size": 6},
    ]
    inner = room.do("ws_list", path="海/").data
    assert inner is not None
    assert [entry["name"] for entry in inner["entries"]] == ["a.md", "深"]


def test_a_new_workspace_shows_its_standard_folders_and_stores_nothing(room: Room) -> None:
    assert room.data("ws_list") == {"path": "", "entries": STANDARD, "left_out": 0}
    for name in STANDARD_FOLDERS:
        assert room.data("ws_list", path=name)["entries"] == []
    assert room.files.list("mika") == ()
    room.write("Notes", "a file of this name / この名前のファイル")
    names = [each["name"] for each in room.data("ws_list")["entries"]]
    assert "Notes" in names
    assert "notes" not in names


def test_a_long_list_says_how_much_is_left_out(room: Room) -> None:
    for n in range(ENTRIES + 3):
        room.files.write("mika", f"x/{n:04}", b"")
    listed = room.data("ws_list", path="x")
    assert len(listed["entries"]) == ENTRIES
    assert listed["left_out"] == 3


def test_nobody_reads_another_agents_files(room: Room) -> None:
    room.write("secret.md", "秘密")
    ken = room.of("ken")
    assert not ken.do("ws_read", path="secret.md").success
    assert ken.data("ws_list")["entries"] == STANDARD
