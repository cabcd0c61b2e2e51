"""Editing, deleting and making folders: exactly once, or not at all and the reason why."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencrab.domain.access.impact import Impact
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.action import Effect, FileDeleted, FileWritten
from tests.soak import examples
from tests.unit.actions.workroom import Room, find, workroom

both_languages = pytest.mark.parametrize(
    ("path", "old", "new"),
    [("メモ/今日.md", "海へ行った", "山へ行った 🦀"), ("notes/today.md", "the sea", "a mountain")],
)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """An empty workspace."""
    with workroom(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("name", ["ws_edit", "ws_delete", "ws_mkdir"])
def test_changes_are_keyed_and_stay_with_the_agent(name: str) -> None:
    assert (find(name).impact, find(name).effect) == (Impact.SELF, Effect.KEYED)


@both_languages
def test_an_edit_changes_one_place(path: str, old: str, new: str, room: Room) -> None:
    room.write(path, f"一\n{old}\nlast\n")
    wanted = f"一\n{new}\nlast\n".encode()
    edited = room.do("ws_edit", path=path, old_string=old, new_string=new)
    sha256 = content_hash(wanted)
    assert edited.data == {"path": path, "size": len(wanted), "sha256": sha256}
    assert edited.side_effects == (FileWritten(path=path, sha256=sha256, size=len(wanted)),)
    assert room.files.read("mika", path)[1] == wanted


@both_languages
@pytest.mark.parametrize("times", [0, 2, 3])
def test_an_edit_that_is_not_unique_says_how_often_it_is_there(
    path: str, old: str, new: str, times: int, room: Room
) -> None:
    room.write(path, "x".join(["|", *[old] * times, "|"]))
    before = room.files.read("mika", path)
    error = room.error("ws_edit", path=path, old_string=old, new_string=new)
    assert f"occurs {times} times in {path!r}: " in error
    assert ("copy the text exactly" if times == 0 else "only once") in error
    assert room.files.read("mika", path) == before


def test_two_places_that_overlap_are_two(room: Room) -> None:
    room.write("a.md", "ままま")
    error = room.error("ws_edit", path="a.md", old_string="まま", new_string="x")
    assert "occurs 2 times" in error


@pytest.mark.parametrize(("old", "problem"), [("", "is empty"), ("海", "are the same")])
def test_an_edit_that_says_nothing_is_refused(old: str, problem: str, room: Room) -> None:
    room.write("a.md", "海")
    assert problem in room.error("ws_edit", path="a.md", old_string=old, new_string="海")


def test_only_text_that_is_there_is_edited(room: Room) -> None:
    edit = {"old_string": "a", "new_string": "b"}
    assert "no file '無い.md'" in room.error("ws_edit", path="無い.md", **edit)
    room.files.write("mika", "a.png", b"\x89PNG\xff")
    assert "is not text" in room.error("ws_edit", path="a.png", **edit)


@both_languages
def test_a_repeat_of_an_edit_finds_it_done(path: str, old: str, new: str, room: Room) -> None:
    room.write(path, f"{old} 1")
    edit = {"path": path, "old_string": old, "new_string": f"{old}, {new}"}
    ready = room.prepared("ws_edit", **edit)
    first = ready.run("ws_edit", **edit)
    version = room.files.info("mika", path)
    assert ready.run("ws_edit", **edit) == first
    assert room.files.info("mika", path) == version


@both_languages
@pytest.mark.parametrize("name", ["ws_edit", "ws_delete"])
def test_what_came_in_between_is_never_undone(
    path: str, old: str, new: str, name: str, room: Room
) -> None:
    room.write(path, old)
    call = {"path": path} | ({"old_string": old, "new_string": new} if name == "ws_edit" else {})
    ready = room.prepared(name, **call)
    room.write(path, f"{old}, said somebody else / 他の誰か")
    error = ready.run(name, **call).error or ""
    assert "changed concurrently" in error
    assert room.files.read("mika", path)[1].decode().endswith("他の誰か")


def test_an_edit_of_what_is_gone_meanwhile_is_an_answer(room: Room) -> None:
    room.write("a.md", "海")
    edit = {"path": "a.md", "old_string": "海", "new_string": "山"}
    ready = room.prepared("ws_edit", **edit)
    room.files.delete("mika", "a.md")
    assert not ready.run("ws_edit", **edit).success


ALPHABET = "ab\n海🦀"
texts = st.text(ALPHABET, max_size=12)


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=texts, old=texts, new=texts)
def test_an_edit_happens_at_one_place_or_not_at_all(
    text: str, old: str, new: str, room: Room
) -> None:
    room.write("a.md", text)
    places = [n for n in range(len(text)) if old and text.startswith(old, n)]
    result = room.do("ws_edit", path="a.md", old_string=old, new_string=new)
    now = room.files.read("mika", "a.md")[1].decode()
    assert result.success == (len(places) == 1 and old != new)
    if result.success:
        (place,) = places
        assert now == text[:place] + new + text[place + len(old) :]
    else:
        assert now == text


@pytest.mark.parametrize("path", ["メモ/今日.md", "today.md"])
def test_a_deleted_file_is_gone_and_a_repeat_finds_it_so(path: str, room: Room) -> None:
    room.write(path, "海")
    ready = room.prepared("ws_delete", path=path)
    first = ready.run("ws_delete", path=path)
    assert first.side_effects == (FileDeleted(path=path),)
    assert room.files.info("mika", path) is None
    assert ready.run("ws_delete", path=path) == first
    assert "no file or folder" in room.error("ws_delete", path=path)


@pytest.mark.parametrize("path", ["研究/二月", "research"])
def test_a_folder_is_made_seen_and_deleted(path: str, room: Room) -> None:
    made = room.prepared("ws_mkdir", path=path)
    first = made.run("ws_mkdir", path=path)
    assert first.data == {"path": path, "created": True}
    assert first.side_effects == (
        FileWritten(path=f"{path}/.keep", sha256=content_hash(b""), size=0),
    )
    assert made.run("ws_mkdir", path=path) == first
    assert room.data("ws_mkdir", path=f"{path}/") == {"path": path, "created": False}
    assert room.data("ws_list", path=path)["entries"] == []
    top = path.partition("/")[0]
    assert {"name": top, "is_dir": True, "size": 0} in room.data("ws_list")["entries"]
    gone = room.prepared("ws_delete", path=path)
    deleted = gone.run("ws_delete", path=path)
    assert deleted.side_effects == (FileDeleted(path=f"{path}/.keep"),)
    assert gone.run("ws_delete", path=path) == deleted
    assert "no folder" in room.error("ws_list", path=path)


def test_a_folder_with_anything_in_it_is_not_deleted(room: Room) -> None:
    room.do("ws_mkdir", path="a")
    room.do("ws_mkdir", path="a/b")
    assert "is not empty: 1 files" in room.error("ws_delete", path="a")
    room.write("a/b/海.md", "x")
    assert "is not empty" in room.error("ws_delete", path="a/b")
    room.do("ws_delete", path="a/b/海.md")
    empty = room.prepared("ws_delete", path="a/b")
    room.write("a/b/山.md", "x")
    assert "is not empty" in (empty.run("ws_delete", path="a/b").error or "")
    assert room.files.info("mika", "a/b/山.md") is not None


def test_a_standard_folder_is_there_and_stays(room: Room) -> None:
    assert room.data("ws_mkdir", path="notes") == {"path": "notes", "created": False}
    assert "standard folder" in room.error("ws_delete", path="notes")
    assert room.files.list("mika") == ()


def test_a_file_is_no_folder(room: Room) -> None:
    room.write("a", "海")
    assert "'a' is a file" in room.error("ws_mkdir", path="a")
    room.write("b/c", "海")
    assert "'b' is a folder" in room.error("ws_write", path="b", content="x")


def test_a_marker_with_words_in_it_is_a_file_like_any_other(room: Room) -> None:
    room.write("a/.keep", "hidden / 隠しごと")
    assert [each["name"] for each in room.data("ws_list", path="a")["entries"]] == [".keep"]
    assert "is not empty" in room.error("ws_delete", path="a")


@pytest.mark.parametrize("name", ["ws_edit", "ws_delete", "ws_mkdir"])
@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a//b", "海\x00", "nul", "a\\b"])
def test_a_path_that_is_none_is_an_answer_with_a_cure(name: str, path: str, room: Room) -> None:
    more = {"old_string": "a", "new_string": "b"} if name == "ws_edit" else {}
    error = room.error(name, path=path, **more)
    assert error.startswith("path ")
    assert ": " in error


@pytest.mark.parametrize(
    ("path", "is_proposal"),
    [
        ("skills/sea.skill.md", True),
        ("skills/海/SKILL.md", True),
        ("skills/sea/notes.md", False),
        ("notes/sea.skill.md", False),
    ],
)
def test_a_skill_in_a_file_is_only_a_proposal(path: str, room: Room, *, is_proposal: bool) -> None:
    written = room.write(path, "# 海の歩き方").data or {}
    assert ("create_my_skill" in written.get("note", "")) is is_proposal
