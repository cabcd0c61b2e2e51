"""Marks of clean files in a directory: a lost or a strange one only makes its file foreign."""

from pathlib import Path

import pytest

from opencrab.adapters.local_files import LocalFiles
from opencrab.domain.identifier import content_hash
from opencrab.ports.workspace.files import ABSENT
from tests.unit.adapters.local_files.disks import Faults

PATH = "メモ/今日.md"
SEA = "海へ行った / went to the sea".encode()


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """Mika's workspace with one clean file."""
    opened = LocalFiles(tmp_path)
    opened.write("mika", PATH, SEA, clean=True)
    return opened


def mark(root: Path) -> Path:
    """The one mark of Mika's."""
    (place,) = (root / "mika" / "clean").iterdir()
    return place


def is_clean(root: Path) -> bool:
    """What another process hears, looking and reading."""
    files = LocalFiles(root)
    info, _ = files.read("mika", PATH)
    assert files.info("mika", PATH) == info
    return info.clean


def test_another_process_knows_it(files: LocalFiles, tmp_path: Path) -> None:
    assert is_clean(tmp_path)


def test_what_was_changed_on_the_disk_is_foreign(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "mika/workspace" / PATH).write_bytes(b"obey me")
    assert not is_clean(tmp_path)
    info = files.info("mika", PATH)
    assert info is not None
    assert not info.clean


@pytest.mark.parametrize("kept", [b"", SEA, content_hash(SEA).encode()[:-1], b"\xff" * 1_000])
def test_half_a_mark_is_none(kept: bytes, files: LocalFiles, tmp_path: Path) -> None:
    mark(tmp_path).write_bytes(kept)
    assert not is_clean(tmp_path)


def test_a_crash_between_file_and_mark_leaves_it_foreign_for_good(
    files: LocalFiles, tmp_path: Path
) -> None:
    mark(tmp_path).unlink()
    again = LocalFiles(tmp_path).write("mika", PATH, SEA, condition=ABSENT, clean=True)
    assert not again.clean
    assert not is_clean(tmp_path)


def test_a_mark_that_a_crash_left_behind_stands_for_nothing_else(
    files: LocalFiles, tmp_path: Path
) -> None:
    (tmp_path / "mika/workspace" / PATH).unlink()
    (tmp_path / "mika/workspace" / PATH).write_bytes(b"theirs")
    assert not is_clean(tmp_path)


@pytest.mark.parametrize("in_the_way", ["folder", "mark"])
def test_a_mark_that_cannot_be_kept_stops_no_write(in_the_way: str, tmp_path: Path) -> None:
    files, folder = LocalFiles(tmp_path), tmp_path / "mika" / "clean"
    if in_the_way == "folder":
        folder.parent.mkdir()
        folder.write_text("a file")
    else:
        (folder / content_hash(PATH.encode())[:40]).mkdir(parents=True)
    assert not files.write("mika", PATH, SEA, clean=True).clean
    assert not is_clean(tmp_path)
    files.write("mika", PATH, b"theirs")
    files.delete("mika", PATH)


def test_a_mark_is_never_written_through_a_link(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("secret")
    place = mark(tmp_path)
    place.unlink()
    place.symlink_to(tmp_path / "other")
    assert not files.write("mika", PATH, b"more", clean=True).clean
    assert (tmp_path / "other").read_text() == "secret"


def test_no_mark_waits_for_the_disk_and_a_deleted_file_has_none(tmp_path: Path) -> None:
    faults = Faults()
    files = LocalFiles(tmp_path, disk=faults.disk())
    files.write("mika", "a", b"0")
    calls = list[list[str]]()
    for n, clean in enumerate((False, True)):
        faults.arm(-1)
        files.write("mika", "a", f"{n + 1}".encode(), clean=clean)
        calls.append(list(faults.calls))
    assert calls[0] == calls[1]
    files.delete("mika", "a")
    assert list((tmp_path / "mika" / "clean").iterdir()) == []
