"""Reading, writing and listing one's own files, in Japanese and English."""

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from opencrab.actions.workspace import ENTRIES, PAGE_BYTES, WRITE_BYTES
from opencrab.domain.action import Effect, FileWritten, Impact
from opencrab.domain.identifier import content_hash
from opencrab.ports.action import ActionContext
from opencrab.ports.files import ABSENT
from tests.unit.actions.bench import REGISTRY, context, prepared, run, write

both_languages = pytest.mark.parametrize(
    ("path", "content"),
    [("メモ/今日.md", "海へ行った。\n蟹がいた 🦀\n"), ("notes/today.md", "went to the sea\n")],
)


@both_languages
def test_what_was_written_can_be_read_and_listed(
    path: str, content: str, at: ActionContext
) -> None:
    written = write(at, path, content)
    size, sha256 = len(content.encode()), content_hash(content.encode())
    assert written.data == {"path": path, "size": size, "sha256": sha256}
    assert written.side_effects == (FileWritten(path=path, sha256=sha256, size=size),)
    read = run(at, "ws_read", path=path).data
    assert read is not None
    assert (read["content"], read["size"]) == (content, size)
    assert (read["lines"], read["has_more"]) == (content.count("\n"), False)
    folder, _, name = path.partition("/")
    listed = run(at, "ws_list", path=folder).data
    assert listed == {
        "path": folder,
        "entries": [{"name": name, "is_dir": False, "size": size}],
        "left_out": 0,
    }


def test_writing_is_keyed_and_stays_with_the_agent() -> None:
    written, read, listed = (REGISTRY.find(name) for name in ("ws_write", "ws_read", "ws_list"))
    assert written is not None
    assert read is not None
    assert listed is not None
    assert (written.impact, written.effect) == (Impact.SELF, Effect.KEYED)
    assert {read.effect, listed.effect} == {Effect.PURE}
    assert {read.impact, listed.impact} == {Impact.READ}


@both_languages
def test_a_repeat_of_a_write_is_harmless(path: str, content: str, at: ActionContext) -> None:
    ready = prepared(at, "ws_write", path=path, content=content)
    assert ready.prepared == {"condition": ABSENT, "sha256": content_hash(content.encode())}
    first = run(ready, "ws_write", path=path, content=content)
    version = at.files.info("mika", path)
    assert run(ready, "ws_write", path=path, content=content) == first
    assert at.files.info("mika", path) == version


@both_languages
def test_a_write_never_overwrites_what_came_in_between(
    path: str, content: str, at: ActionContext
) -> None:
    ready = prepared(at, "ws_write", path=path, content=content)
    write(at, path, "somebody else's / 他の誰か")
    result = run(ready, "ws_write", path=path, content=content)
    assert not result.success
    assert result.error is not None
    assert repr(path) in result.error
    assert "read it again" in result.error
    assert at.files.read("mika", path)[1].decode() == "somebody else's / 他の誰か"


def test_a_write_replaces_the_whole_file(at: ActionContext) -> None:
    write(at, "a.md", "長い内容" * 100)
    assert write(at, "a.md", "短い").success
    assert at.files.read("mika", "a.md")[1] == "短い".encode()


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "", "a//b", "海\x00", "nul", "a\\b"])
def test_a_path_that_is_none_is_an_answer_with_a_cure(path: str, at: ActionContext) -> None:
    for result in (write(at, path, "x"), run(at, "ws_read", path=path)):
        assert not result.success
        assert result.error is not None
        assert result.error.startswith("path ")
        assert ": " in result.error


def test_a_twin_of_a_file_is_an_answer_that_names_it(at: ActionContext) -> None:
    write(at, "Memo.md", "x")
    error = write(at, "memo.md", "y").error or ""
    assert "'memo.md' differs from the existing 'Memo.md' in case or width only" in error


@pytest.mark.parametrize("character", ["x", "海"])
def test_a_write_has_a_most(character: str, at: ActionContext) -> None:
    size = len(character.encode())
    assert write(at, "a.md", character * (WRITE_BYTES // size)).success
    error = write(at, "b.md", character * (WRITE_BYTES // size + 1)).error or ""
    assert "split it into several files" in error
    assert at.files.info("mika", "b.md") is None


def test_a_full_workspace_is_an_answer_with_a_cure(tmp_path: Path) -> None:
    small = context(tmp_path, quota_bytes=10)
    error = write(small, "メモ.md", "海" * 4).error or ""
    assert "'メモ.md' needs 12 bytes more and the workspace has 10 of 10 left" in error
    assert error.endswith("delete or shorten other files first")


@pytest.mark.parametrize("content", ["a\x00", "\ud83e", 7, None])
def test_only_whole_text_is_written(content: object, at: ActionContext) -> None:
    with pytest.raises(ValidationError, match="content"):
        run(at, "ws_write", path="a.md", content=content)


def test_a_human_sees_path_and_size_before_agreeing() -> None:
    action = REGISTRY.find("ws_write")
    assert action is not None
    assert action.touches is not None
    arguments = action.arguments.model_validate({"path": "メモ.md", "content": "海"})
    assert action.touches(arguments) == "'メモ.md' (3 bytes)"


@pytest.mark.parametrize("line", ["行{}\n", "line {}\n"])
def test_a_file_is_read_in_pages(line: str, at: ActionContext) -> None:
    lines = [line.format(n) for n in range(1, 451)]
    write(at, "a.md", "".join(lines))
    pages = [run(at, "ws_read", path="a.md", offset=offset).data or {} for offset in (1, 201, 401)]
    assert "".join(page["content"] for page in pages) == "".join(lines)
    assert [page["has_more"] for page in pages] == [True, True, False]
    assert pages[0]["note"] == "The next page begins at offset=201."
    assert "note" not in pages[2]


@pytest.mark.parametrize("character", ["x", "海", "🦀"])
def test_a_page_has_a_most_of_bytes_and_cuts_at_characters(
    character: str, at: ActionContext
) -> None:
    write(at, "a.md", f"{character * PAGE_BYTES}\nend")
    page = run(at, "ws_read", path="a.md").data
    assert page is not None
    assert page["content"] == character * (PAGE_BYTES // len(character.encode()))
    assert "only the first" in page["note"]
    assert "offset=2" in page["note"]
    rest = run(at, "ws_read", path="a.md", offset=2).data
    assert rest is not None
    assert rest["content"] == "end"


@pytest.mark.parametrize(("content", "offset"), [("a\nb\n", 3), ("海", 2), ("", 2)])
def test_reading_behind_the_end_says_how_many_lines_there_are(
    content: str, offset: int, at: ActionContext
) -> None:
    write(at, "a.md", content)
    error = run(at, "ws_read", path="a.md", offset=offset).error or ""
    assert f"has {content.count(chr(10)) or len(content)} lines, none from {offset} on" in error


def test_an_empty_file_reads_as_nothing(at: ActionContext) -> None:
    write(at, "a.md", "")
    page = run(at, "ws_read", path="a.md").data
    assert page is not None
    assert (page["content"], page["lines"], page["has_more"]) == ("", 0, False)


def test_what_is_not_there_is_an_answer(at: ActionContext) -> None:
    for name, path in (("ws_read", "無い.md"), ("ws_list", "無い")):
        result = run(at, name, path=path)
        assert not result.success
        assert repr(path) in (result.error or "")


def test_what_is_no_text_is_an_answer(at: ActionContext) -> None:
    at.files.write("mika", "a.png", b"\x89PNG\xff")
    assert "not text in UTF-8" in (run(at, "ws_read", path="a.png").error or "")


@pytest.mark.parametrize("field", ["offset", "limit"])
def test_pages_are_counted_from_one(field: str, at: ActionContext) -> None:
    with pytest.raises(ValidationError, match=field):
        run(at, "ws_read", path="a.md", **{field: 0})


def test_a_list_shows_one_folder_at_a_time(at: ActionContext) -> None:
    for path in ("b.md", "海/a.md", "海/深/b.md", "a/x.md"):
        write(at, path, "123")
    listed = run(at, "ws_list").data
    assert listed is not None
    assert listed["entries"] == [
        {"name": "a", "is_dir": True, "size": 3},
        {"name": "b.md", "is_dir": False, "size": 3},
        {"name": "海", "is_dir": True, "size": 6},
    ]
    inner = run(at, "ws_list", path="海/").data
    assert inner is not None
    assert [entry["name"] for entry in inner["entries"]] == ["a.md", "深"]


def test_an_empty_workspace_lists_as_empty(at: ActionContext) -> None:
    assert run(at, "ws_list").data == {"path": "", "entries": [], "left_out": 0}


def test_a_long_list_says_how_much_is_left_out(at: ActionContext) -> None:
    for n in range(ENTRIES + 3):
        at.files.write("mika", f"{n:04}", b"")
    listed = run(at, "ws_list").data
    assert listed is not None
    assert len(listed["entries"]) == ENTRIES
    assert listed["left_out"] == 3


def test_nobody_reads_another_agents_files(at: ActionContext) -> None:
    write(at, "secret.md", "秘密")
    other = replace(at, agent=at.agent.replaced(id="ken"))
    assert not run(other, "ws_read", path="secret.md").success
    assert run(other, "ws_list").data == {"path": "", "entries": [], "left_out": 0}
