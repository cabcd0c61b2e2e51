"""Copies lie in a folder of their process's own: no link leads out of it, and no other user in."""

import os
from pathlib import Path

import pytest

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.sqlite_search.replica_cache import IndexReplicas
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Unavailable
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.searching import past_of


def copies(tmp_path: Path, folder: Path) -> None:
    """Begin and end to hold copies there."""
    clock = FakeClock(NOW)
    with sqlite(tmp_path / "home", clock) as home:
        snapshots = DirectorySnapshots(tmp_path / "snapshots", clock)
        IndexReplicas(past_of(home, clock), snapshots, folder, clock).close()


def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder, other = tmp_path / "copies", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (other / "kept").write_text("蟹")
    (folder / "link").symlink_to(other)
    copies(tmp_path, folder)
    assert [each.name for each in other.iterdir()] == ["kept"]


def test_a_lock_that_is_a_link_opens_nothing_elsewhere(tmp_path: Path) -> None:
    folder, target = tmp_path / "copies", tmp_path / "target"
    folder.mkdir()
    (folder / "in-use").symlink_to(target)
    with pytest.raises(Unavailable, match="copies"):
        copies(tmp_path, folder)
    assert not target.exists()


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    folder, other = tmp_path / "copies", tmp_path / "other"
    other.mkdir()
    folder.symlink_to(other)
    with pytest.raises(Unavailable, match="cannot hold indexes") as caught:
        copies(tmp_path, folder)
    assert "not a link" in (caught.value.cure or "")
    assert list(other.iterdir()) == []


def test_nobody_else_looks_into_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    folder.chmod(0o777)
    copies(tmp_path, folder)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to somebody else")
def test_another_users_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    os.chown(tmp_path / "copies", 12_345, -1)
    with pytest.raises(Unavailable, match="another user"):
        copies(tmp_path, tmp_path / "copies")
