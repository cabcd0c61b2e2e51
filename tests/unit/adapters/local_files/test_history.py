"""Older contents in a directory: few, bounded, beside the workspace, and never in anybody's way."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from opencrab.adapters.local_files import LocalFiles
from opencrab.adapters.local_files.history import CONTENTS, MOST, VersionHistory
from opencrab.domain.errors import Invalid, NotFound

NOW, MONTH = datetime(2020, 1, 1, tzinfo=UTC), timedelta(days=30)


def kept(root: Path) -> list[Path]:
    """Every older content of Mika's."""
    return [place for place in (root / "mika" / "versions").rglob("*") if place.is_file()]


@pytest.mark.parametrize("path", ["メモ/今日.md", "notes/today.md"])
def test_so_many_older_contents_of_one_file_are_kept(path: str, tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    for n in range(MOST + 5):
        files.write("mika", path, f"{n}".encode())
    versions = files.versions("mika", path)
    assert len(versions) == MOST + 1
    assert files.read_version("mika", path, versions[-1].version) == b"4"
    assert len(kept(tmp_path)) == MOST


def test_an_agents_older_contents_are_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path, 1_000)
    for n in range(30):
        files.write("mika", f"{n}.md", b"x" * 100)
        files.delete("mika", f"{n}.md")
        assert sum(place.stat().st_size for place in kept(tmp_path)) <= 1_000
    assert files.versions("mika", "0.md") == ()
    assert len(files.versions("mika", "29.md")) == 1
    assert len(list((tmp_path / "mika" / "versions").iterdir())) <= 10


def test_another_process_counts_what_is_there(tmp_path: Path) -> None:
    for n in range(30):
        files = LocalFiles(tmp_path, 1_000)
        files.write("mika", f"{n}.md", b"x" * 100)
        files.delete("mika", f"{n}.md")
    assert sum(place.stat().st_size for place in kept(tmp_path)) <= 1_000


def test_small_contents_count_for_more_than_they_are(tmp_path: Path) -> None:
    history, large, small = (
        VersionHistory(tmp_path, CONTENTS * 20),
        tmp_path / "large",
        tmp_path / "small",
    )
    large.write_bytes(b"x" * (CONTENTS * 20 - 10))
    small.write_bytes(b"x")
    history.keep("mika", "large", large, f"{0:064x}-1-1")
    assert len(history.versions("mika", "large")) == 1
    history.keep("mika", "small", small, f"{1:064x}-1-2")
    assert history.versions("mika", "large") == ()
    assert len(history.versions("mika", "small")) == 1


def test_nothing_that_fails_here_stops_a_write(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.write("mika", "a", "古い".encode())
    (tmp_path / "mika" / "versions").write_text("a file in the way")
    files.write("mika", "a", "新しい".encode())
    assert files.read("mika", "a")[1] == "新しい".encode()
    files.delete("mika", "a")
    assert files.list("mika") == ()


def test_a_content_that_a_crash_left_in_both_places_is_told_once(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    written = files.write("mika", "a", b"1")
    VersionHistory(tmp_path, 1_000).keep(
        "mika", "a", tmp_path / "mika/workspace/a", written.version
    )
    assert [each.version for each in files.versions("mika", "a")] == [written.version]
    files.write("mika", "a", b"2")
    assert [each.is_current for each in files.versions("mika", "a")] == [True, False]


def test_what_was_damaged_meanwhile_is_not_given_out(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    first = files.write("mika", "a", b"1")
    files.write("mika", "a", b"2")
    (place,) = kept(tmp_path)
    place.write_bytes(b"3")
    with pytest.raises(NotFound, match="is not stored"):
        files.read_version("mika", "a", first.version)


def test_a_link_among_the_older_contents_is_not_followed(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path / "data")
    first = files.write("mika", "a", b"1")
    files.write("mika", "a", b"2")
    (place,) = kept(tmp_path / "data")
    place.unlink()
    (tmp_path / "secret").write_bytes(b"1")
    place.symlink_to(tmp_path / "secret")
    with pytest.raises(Invalid, match="cannot use this name"):
        files.read_version("mika", "a", first.version)


def test_a_file_from_before_all_clocks_is_replaced_like_any_other(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.write("mika", "a", b"1")
    os.utime(tmp_path / "mika/workspace/a", ns=(-5, -5))
    files = LocalFiles(tmp_path)
    files.write("mika", "a", b"2")
    assert files.read("mika", "a")[1] == b"2"
    assert len(files.versions("mika", "a")) == 1


def test_the_same_words_again_are_no_new_version(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    for _ in range(3):
        files.write("mika", "a", "海".encode())
    assert len(files.versions("mika", "a")) == 1


def deleted_ago(root: Path, ago: timedelta) -> None:
    """Let the only deletion of Mika's be so long ago."""
    (mark,) = (root / "mika" / "versions").rglob("deleted")
    at = (NOW - ago).timestamp()
    os.utime(mark, (at, at))


@pytest.mark.parametrize("path", ["メモ/今日.md", "notes/today.md"])
def test_versions_end_some_time_after_their_file(path: str, tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    for content in (b"1", b"2"):
        files.write("mika", path, content)
        files.write("mika", "other.md", content)
    files.delete("mika", path)
    deleted_ago(tmp_path, MONTH - timedelta(seconds=1))
    assert files.end_deleted_versions(NOW, MONTH) == 0
    assert len(files.versions("mika", path)) == 2
    deleted_ago(tmp_path, MONTH)
    assert files.end_deleted_versions(NOW, MONTH) == 2
    assert files.versions("mika", path) == ()
    assert len(files.versions("mika", "other.md")) == 2, "those of a file stay with it"
    assert len(list((tmp_path / "mika" / "versions").iterdir())) == 1


def test_a_file_that_was_written_again_keeps_its_versions(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.write("mika", "a", b"1")
    files.delete("mika", "a")
    deleted_ago(tmp_path, MONTH * 2)
    files.write("mika", "a", b"2")
    assert files.end_deleted_versions(NOW, MONTH) == 0
    assert len(files.versions("mika", "a")) == 2
    files.delete("mika", "a")
    assert files.end_deleted_versions(NOW, MONTH) == 0, "the time begins anew"
    assert len(files.versions("mika", "a")) == 2


def test_a_deletion_behind_our_back_counts_from_when_it_is_seen(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.write("mika", "a", b"1")
    files.write("mika", "a", b"2")
    (tmp_path / "mika/workspace/a").unlink()
    assert files.end_deleted_versions(NOW, MONTH) == 0
    deleted_ago(tmp_path, MONTH)
    assert files.end_deleted_versions(NOW, MONTH) == 1
    assert files.versions("mika", "a") == ()


def test_what_is_no_history_stops_no_clean_up(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    (tmp_path / "ken").mkdir()
    (tmp_path / "ken" / "versions").write_text("a file in the way")
    files.write("mika", "a", b"1")
    files.delete("mika", "a")
    (tmp_path / "mika" / "workspace").mkdir(exist_ok=True)
    (tmp_path / "mika" / "workspace" / os.fsdecode(b"\xff")).write_text("no UTF-8")
    deleted_ago(tmp_path, MONTH)
    assert files.end_deleted_versions(NOW, MONTH) == 1
