"""Scheduled backups: when one is due, and which ones go."""

from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.backup.backups import FolderBackups
from opencrab.adapters.backup.manifest import MANIFEST
from opencrab.adapters.backup.rotation import BackupRotation
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import OpenCrabError
from tests.unit.adapters.backup.installation import installation
from tests.unit.adapters.sqlite.home import NOW

DAY = timedelta(days=1)


def rotation(tmp_path: Path, clock: FakeClock, keep: int = 3) -> BackupRotation:
    backups = FolderBackups(clock)
    return BackupRotation(
        backups, tmp_path / "data", tmp_path / "backups", every=DAY, keep=keep, clock=clock
    )


def taken(tmp_path: Path) -> list[str]:
    return sorted(each.name for each in (tmp_path / "backups").iterdir())


def test_one_is_made_at_once_and_the_next_a_day_later(tmp_path: Path) -> None:
    installation(tmp_path / "data")
    clock = FakeClock(NOW)
    assert rotation(tmp_path, clock).run_if_due() is not None
    clock.advance(DAY.total_seconds() - 1)
    assert rotation(tmp_path, clock).run_if_due() is None
    clock.advance(1)
    made = rotation(tmp_path, clock).run_if_due()
    assert made is not None
    assert taken(tmp_path) == ["opencrab-20260217T090000Z", "opencrab-20260218T090000Z"]
    assert made.folder.name == "opencrab-20260218T090000Z"


def test_only_the_newest_are_kept_and_nothing_else_is_touched(tmp_path: Path) -> None:
    installation(tmp_path / "data")
    clock = FakeClock(NOW)
    mine = tmp_path / "backups" / "before-the-update"
    mine.mkdir(parents=True)
    (mine / MANIFEST).write_text("{}")
    unfinished = tmp_path / "backups" / "opencrab-20200101T000000Z"
    unfinished.mkdir()
    for _ in range(5):
        rotation(tmp_path, clock).run_if_due()
        clock.advance(DAY.total_seconds())
    assert taken(tmp_path) == [
        "before-the-update",
        "opencrab-20200101T000000Z",
        "opencrab-20260219T090000Z",
        "opencrab-20260220T090000Z",
        "opencrab-20260221T090000Z",
    ]


def test_what_a_killed_process_left_of_a_backup_is_removed(tmp_path: Path) -> None:
    installation(tmp_path / "data")
    left = tmp_path / "backups" / ".opencrab-20260216T090000Z.growing" / "data"
    left.mkdir(parents=True)
    (left / "opencrab.db").write_bytes(b"half")
    (tmp_path / "backups" / ".mine.growing").mkdir()
    rotation(tmp_path, FakeClock(NOW)).run_if_due()
    assert taken(tmp_path) == [".mine.growing", "opencrab-20260217T090000Z"]


def test_a_backup_that_fails_removes_no_older_one(tmp_path: Path) -> None:
    data = installation(tmp_path / "data")
    clock = FakeClock(NOW)
    rotation(tmp_path, clock, keep=1).run_if_due()
    (data / "opencrab.db").unlink()
    clock.advance(DAY.total_seconds())
    with pytest.raises(OpenCrabError):
        rotation(tmp_path, clock, keep=1).run_if_due()
    assert taken(tmp_path) == ["opencrab-20260217T090000Z"]


def test_a_backup_from_the_future_does_not_stop_the_next(tmp_path: Path) -> None:
    installation(tmp_path / "data")
    clock = FakeClock(NOW + 40 * DAY)
    rotation(tmp_path, clock).run_if_due()
    clock = FakeClock(NOW)
    for keep in (1, 3):
        assert (rotation(tmp_path, clock, keep=keep).run_if_due() is not None) is (keep == 1)
    assert "opencrab-20260217T090000Z" in taken(tmp_path)
