"""Agents with nothing to do write nothing for many minutes, and lose nothing with the process."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.sqlite.marker import read_sqlite_commits
from opencrab.domain.agents.heartbeat import ActiveHours
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.beating import living, log, minutes, signs, tell, turns
from tests.e2e.house import START, House

SPEAKS = (Reply(text="雨が降っています。"),)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    opened = House(HOMES[0], tmp_path / "data")
    yield opened
    opened.close()


def commits(house: House) -> int:
    """How many transactions have written to the database."""
    storage: Any = house.home.storage
    with storage.read_transaction() as items:
        found = read_sqlite_commits(items.connection)
    assert found is not None
    return int(found.commits)


def reopened(folder: Path, after_minutes: int) -> House:
    """The house of another process, some minutes after the start of the first one."""
    house = House(HOMES[0], folder)
    house.clock.advance(after_minutes * 60)
    return house


def test_idle_beats_of_many_agents_write_nothing(house: House) -> None:
    names = [living(house, f"crab{number}") for number in range(30)]
    before = commits(house)
    minutes(house, 20, step=5)
    assert commits(house) == before
    assert {signs(house, name).idle for name in names} == {1}


@pytest.mark.parametrize("killed", [False, True])
def test_an_event_after_a_restart_begins_one_turn(
    house: House, tmp_path: Path, *, killed: bool
) -> None:
    living(house, "crab", SPEAKS)
    minutes(house, 10, step=5)
    beats = signs(house, "crab").beats
    if killed:
        shutil.copytree(tmp_path / "data", tmp_path / "next")
    house.close()
    if not killed:
        shutil.copytree(tmp_path / "data", tmp_path / "next")
    following = reopened(tmp_path / "next", 11)
    following.scripts["crab"] = SPEAKS
    assert signs(following, "crab").beats == (0 if killed else beats)
    assert tell(following, "crab")
    minutes(following, 5, twice=True, step=5)
    assert len(turns(following, "crab")) == 1
    assert signs(following, "crab").beats >= (1 if killed else beats + 1)
    following.close()


def test_a_beat_between_events_keeps_its_time(house: House) -> None:
    living(house, "crab", SPEAKS, interval_seconds=1_801)
    minutes(house, 40, step=30)
    planned = signs(house, "crab").next_beat_at
    assert (planned - START).total_seconds() == 2 * 1_801
    assert tell(house, "crab")
    assert signs(house, "crab").next_beat_at == planned
    minutes(house, 10, step=30)
    assert log(house, "crab") == []
    minutes(house, 15, step=30)
    assert len(log(house, "crab")) == 1


def test_quiet_hours_end_although_nothing_was_written_in_them(house: House) -> None:
    hours = ActiveHours(
        start=f"{(START.hour + 1) % 24:02d}:00", end=f"{START.hour:02d}:00", zone="UTC"
    )
    living(house, "crab", SPEAKS, active_hours=hours)
    assert tell(house, "crab")
    before = commits(house)
    minutes(house, 50, step=30)
    assert commits(house) == before
    assert log(house, "crab") == []
    minutes(house, 15, step=30)
    assert len(log(house, "crab")) == 1


def test_an_agent_for_which_time_causes_nothing_has_no_heartbeat_until_something_happens(
    house: House,
) -> None:
    living(house, "crab", SPEAKS)
    minutes(house, 180, step=60)
    still = signs(house, "crab")
    assert (still.beats, still.coming_beat_at) == (2, None)
    assert tell(house, "crab")
    woken = signs(house, "crab").coming_beat_at
    assert woken is not None
    assert 0 < (woken - house.clock.now()).total_seconds() <= 61
    minutes(house, 3, step=10)
    assert len(log(house, "crab")) == 1
