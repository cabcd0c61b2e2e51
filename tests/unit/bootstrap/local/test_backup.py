"""Scheduled backups as the settings say."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab import settings
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.local.backup import (
    backup_interval_of_local_server,
    scheduled_backups_of_local_server,
)
from opencrab.domain.errors import Invalid
from tests.contract.waiting import eventually
from tests.unit.adapters.backup.installation import installation
from tests.unit.adapters.sqlite.home import NOW

NAME = "opencrab-20260217T090000Z"


def configured(**changes: Any) -> settings.Settings:
    return settings.load_settings({f"backup.{name}": value for name, value in changes.items()}, {})


def test_there_are_none_by_default(tmp_path: Path) -> None:
    installation(tmp_path / "data")
    with scheduled_backups_of_local_server(configured(), tmp_path / "data", FakeClock(NOW)):
        assert "backup" not in {each.name for each in threading.enumerate()}
    assert not list(tmp_path.glob("*-backups"))


def test_intervals_are_minutes_hours_and_days() -> None:
    found = [backup_interval_of_local_server(text) for text in ("30m", "12h", "1d", " 7d ", "")]
    days = [None if each is None else each / timedelta(days=1) for each in found]
    assert days == [pytest.approx(0.5 / 24), 0.5, 1, 7, None]


@pytest.mark.parametrize("text", ["9m", "1", "d", "1w", "-1d", "0d", "1.5h", "\uff11d", "daily"])
def test_what_is_no_interval_is_named_with_a_cure(text: str) -> None:
    with pytest.raises(Invalid, match=r"backup\.every") as caught:
        backup_interval_of_local_server(text)
    assert '"1d"' in (caught.value.cure or "")


def test_keeping_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"backup\.keep"):
        scheduled_backups_of_local_server(configured(every="1d", keep=0), tmp_path, FakeClock(NOW))


@pytest.mark.parametrize("named", [True, False])
def test_they_go_beside_the_data_folder_or_where_the_setting_says(
    tmp_path: Path, *, named: bool
) -> None:
    installation(tmp_path / "data")
    folder = tmp_path / ("毎日" if named else "data-backups")
    place = str(folder) if named else ""
    with scheduled_backups_of_local_server(
        configured(every="1d", folder=place), tmp_path / "data", FakeClock(NOW)
    ):
        eventually(lambda: [each.name for each in folder.glob("opencrab-*")], [NAME])
