"""A folder of the owner's: its files stay where they are, and the owner's editor goes first."""

import errno
import os
import stat
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.adapters.local_files.disk import REAL_DISK
from opencrab.adapters.local_files.folder_files import FolderFiles
from opencrab.domain.errors import Conflict, Invalid, TooLarge, Unavailable
from opencrab.ports.workspace.files import ABSENT

DECOMPOSED = unicodedata.normalize("NFD", "デザイン/がぞう.md")
COMPOSED = unicodedata.normalize("NFC", DECOMPOSED)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "ノート"
    folder.mkdir()
    return folder


def opened(top: Path, prefix: str = "vault", **more: object) -> FolderFiles:
    limits = {"quota_bytes": 1_000, "file_bytes": 600, **more}
    return FolderFiles(top, prefix, top.parent / "kept", **limits)  # type: ignore[arg-type]


def test_a_decomposed_name_on_the_disk_is_the_composed_path(top: Path) -> None:
    (top / DECOMPOSED).parent.mkdir()
    (top / DECOMPOSED).write_text("絵", encoding="utf-8")
    files = opened(top)
    assert [info.path for info in files.list("mika", "vault")] == [f"vault/{COMPOSED}"]
    info, content = files.read("mika", f"vault/{COMPOSED}")
    assert content == "絵".encode()
    files.write("mika", f"vault/{COMPOSED}", b"new", condition=info.version)
    assert (top / DECOMPOSED).read_bytes() == b"new"
    assert not (top / COMPOSED).exists()


def test_of_two_names_with_one_path_the_composed_one_is_meant(top: Path) -> None:
    for name in ("がぞう.md", unicodedata.normalize("NFD", "がぞう.md")):
        (top / name).write_text(name, encoding="utf-8")
    files = opened(top)
    (listed,) = files.list("mika", "vault")
    assert files.read("mika", listed.path) == (listed, "がぞう.md".encode())


@pytest.mark.parametrize("name", [".obsidian/app.json", ".git/config", ".secret.md"])
def test_hidden_names_are_neither_listed_nor_touched(name: str, top: Path) -> None:
    (top / name).parent.mkdir(exist_ok=True)
    (top / name).write_text("theirs", encoding="utf-8")
    files = opened(top)
    assert files.list("mika", "vault") == ()
    assert not files.has_files("vault")
    for attempt in (files.info, files.read, files.delete):
        with pytest.raises(Invalid, match="is hidden"):
            attempt("mika", f"vault/{name}")
    with pytest.raises(Invalid, match="is hidden"):
        files.write("mika", f"vault/{name}", b"ours")
    assert (top / name).read_text(encoding="utf-8") == "theirs"


def test_links_out_of_the_folder_are_not_followed(top: Path) -> None:
    outside = top.parent / "outside"
    outside.mkdir()
    (outside / "私.md").write_text("秘密", encoding="utf-8")
    (top / "出口").symlink_to(outside)
    (top / "私.md").symlink_to(outside / "私.md")
    files = opened(top)
    assert files.list("mika", "vault") == ()
    for path in ("vault/出口/私.md", "vault/私.md"):
        with pytest.raises(Invalid, match="is a link"):
            files.read("mika", path)
        with pytest.raises(Invalid, match="is a link"):
            files.write("mika", path, b"x")
    assert (outside / "私.md").read_text(encoding="utf-8") == "秘密"


def test_a_folder_whose_place_a_link_took_is_not_used(top: Path) -> None:
    files = opened(top)
    top.rename(top.with_name("moved"))
    top.symlink_to(top.with_name("moved"))
    with pytest.raises(Invalid, match="is not there"):
        files.list("mika", "vault")
    assert not files.has_files("vault")


def test_a_save_of_the_owners_editor_goes_before_a_write(top: Path) -> None:
    """Also one that comes after the version was compared, just before the file is replaced."""
    note = top / "今日.md"
    note.write_text("朝", encoding="utf-8")

    def saves_first(path: Path, flags: int, mode: int) -> int:
        if path.parent.name == ".opencrab-writing" and flags & os.O_CREAT:
            note.write_text("朝と昼", encoding="utf-8")
        return os.open(path, flags, mode)

    files = opened(top, disk=replace(REAL_DISK, open_file=saves_first))
    version = files.read("mika", "vault/今日.md")[0].version
    with pytest.raises(Conflict, match="was replaced"):
        files.write("mika", "vault/今日.md", "夜".encode(), condition=version)
    assert note.read_text(encoding="utf-8") == "朝と昼"
    assert [each.name for each in top.iterdir()] == ["今日.md"]


def test_a_new_note_does_not_replace_one_that_came_meanwhile(top: Path) -> None:
    def creates_first(path: Path, flags: int, mode: int) -> int:
        if flags & os.O_CREAT:
            (top / "a.md").write_text("theirs", encoding="utf-8")
        return os.open(path, flags, mode)

    files = opened(top, disk=replace(REAL_DISK, open_file=creates_first))
    with pytest.raises(Conflict):
        files.write("mika", "vault/a.md", b"ours", condition=ABSENT)
    assert (top / "a.md").read_text(encoding="utf-8") == "theirs"


def test_what_is_replaced_or_deleted_is_kept_also_without_links(top: Path) -> None:
    """As on another file system, where a content is copied."""

    def refuse(place: Path, kept: Path) -> None:
        raise OSError(errno.EXDEV, f"{place} and {kept} are on two file systems")

    (top / "a.md").write_text("first", encoding="utf-8")
    files = opened(top, disk=replace(REAL_DISK, link=refuse))
    files.write("mika", "vault/a.md", b"second")
    files.delete("mika", "vault/a.md")
    stored = files.versions("mika", "vault/a.md")
    kept = [files.read_version("mika", "vault/a.md", each.version) for each in stored]
    assert sorted(kept) == [b"first", b"second"]


def test_nothing_is_replaced_that_cannot_be_kept(top: Path) -> None:
    (top / "a.md").write_text("first", encoding="utf-8")
    (top.parent / "kept").write_text("no folder", encoding="utf-8")
    with pytest.raises(Unavailable, match="could not be kept"):
        opened(top).write("mika", "vault/a.md", b"second")
    assert (top / "a.md").read_text(encoding="utf-8") == "first"


def test_modes_of_the_owners_files_and_folders_stay(top: Path) -> None:
    top.chmod(0o755)
    (top / "a.md").write_text("x", encoding="utf-8")
    (top / "a.md").chmod(0o664)
    files = opened(top)
    files.write("mika", "vault/a.md", b"y")
    files.write("mika", "vault/新/b.md", b"z")
    modes = [stat.S_IMODE((top / name).stat().st_mode) for name in ("a.md", "新", "新/b.md")]
    assert modes == [0o664, 0o755, 0o644]


def test_the_owners_own_files_take_none_of_the_agents_room(top: Path) -> None:
    (top / "theirs").write_bytes(b"x" * 5_000)
    files = opened(top)
    files.write("mika", "vault/a", b"x" * 600)
    with pytest.raises(TooLarge, match="400 of the 1000 left"):
        files.write("mika", "vault/b", b"x" * 401)


def test_a_file_that_is_too_large_to_read_is_listed(top: Path) -> None:
    (top / "動画.mp4").write_bytes(b"x" * 601)
    files = opened(top)
    assert [info.size for info in files.list("mika", "vault")] == [601]
    with pytest.raises(TooLarge):
        files.read("mika", "vault/動画.mp4")
    with pytest.raises(TooLarge):
        files.delete("mika", "vault/動画.mp4")


def test_a_list_has_the_time_of_the_owners_last_change(top: Path) -> None:
    (top / "a.md").write_text("x", encoding="utf-8")
    os.utime(top / "a.md", (1_700_000_000, 1_700_000_000))
    (info,) = opened(top).list("mika", "vault")
    assert info.modified_at is not None
    assert info.modified_at.timestamp() == 1_700_000_000
