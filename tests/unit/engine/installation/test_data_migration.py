"""Data migrations: what older releases left out comes alive, once, in both homes."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.heartbeat import DEFAULT_SECONDS, Heartbeat
from opencrab.domain.autonomy.schedule import SCHEDULE, Schedule, ScheduleDraft, new_schedule
from opencrab.domain.autonomy.vital_signs import (
    NO_HEARTBEAT,
    VITALS,
    VitalSigns,
    heartbeat_signs_document,
)
from opencrab.domain.document import Document, new_fact
from opencrab.engine.agents.vital_signs import LONG_AGO
from opencrab.engine.autonomy.schedule_documents import schedule_document
from opencrab.engine.installation.data_migration import DATA_MIGRATIONS, upgrade_data
from opencrab.engine.installation.data_release import is_data_of_release
from opencrab.ports.home import Home
from opencrab.ports.installation.data_upgrade import DataUpgrade
from tests.contract.example import NOW, profile
from tests.contract.homes import DISTINCT_HOMES


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def home(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Home]:
    with request.param(tmp_path, clock) as opened:
        yield opened


def left_half(home: Home) -> None:
    """An agent of a release before autonomy, and one whose schedule lost its time."""
    home.agents.create(profile("hana", name="花"))
    home.agents.create(profile("ren", name="蓮"))
    draft = ScheduleDraft(name="毎朝", when="@every 1h", zone="Asia/Tokyo", instructions="水やり")
    lost = new_schedule("s1", "ren", draft, NOW).replaced(next_at=None)
    unreadable = lost.replaced(id="s2", when="at the ebb")
    off = lost.replaced(id="s3", enabled=False)
    home.facts.commit(*map(schedule_document, (lost, unreadable, off)))


def changes(done: DataUpgrade) -> dict[str, int]:
    return {each.name: each.changed for each in done.migrations}


def signs(home: Home, agent_id: str) -> Document:
    found = home.facts.get(agent_id, VITALS, VITALS)
    assert found is not None
    return found


def test_agents_of_releases_before_autonomy_come_alive(home: Home, clock: FakeClock) -> None:
    left_half(home)
    assert home.facts.list_due(VITALS, NOW.replace(year=2100), 9) == ()
    done = upgrade_data(home, clock, "0.2.0")
    assert (done.before, done.ended, done.changed) == (None, True, 3)
    assert changes(done) == {"first_heartbeats": 2, "schedule_times": 1}
    due = home.facts.list_due(VITALS, NOW.replace(year=2100), 9)
    assert {fact.owner for fact in due} == {"hana", "ren"}
    assert signs(home, "hana").read(VitalSigns).next_beat_at > NOW


def test_schedules_that_were_switched_on_run_again(home: Home, clock: FakeClock) -> None:
    left_half(home)
    upgrade_data(home, clock, "0.2.0")
    (fact,) = home.facts.list_due(SCHEDULE, NOW.replace(year=2100), 9)
    schedule = fact.read(Schedule)
    assert (schedule.id, schedule.next_at) == ("s1", fact.due_at)
    assert schedule.next_at is not None
    assert 0 < (schedule.next_at - NOW).total_seconds() <= 3_600


def test_a_dry_run_writes_nothing(home: Home, clock: FakeClock) -> None:
    left_half(home)
    told = upgrade_data(home, clock, "0.2.0", dry_run=True)
    assert changes(told) == {"first_heartbeats": 2, "schedule_times": 1}
    assert home.facts.get("hana", VITALS, VITALS) is None
    assert not is_data_of_release(home.facts, "0.2.0")
    assert changes(upgrade_data(home, clock, "0.2.0")) == changes(told)


def test_what_has_ended_is_recorded_and_not_done_again(home: Home, clock: FakeClock) -> None:
    left_half(home)
    first = upgrade_data(home, clock, "0.2.0")
    assert is_data_of_release(home.facts, "0.2.0")
    home.agents.create(profile("jin", name="仁"))
    again = upgrade_data(home, clock, "0.2.0")
    assert again.is_up_to_date
    assert again.changed == 0
    assert changes(again) == changes(first)
    assert home.facts.get("jin", VITALS, VITALS) is None


def test_it_goes_on_where_it_was_cut_off(home: Home, clock: FakeClock) -> None:
    for number in range(130):
        home.agents.create(profile(f"a{number:03}", name=f"蟹{number}"))
    only = {"first_heartbeats": DATA_MIGRATIONS["first_heartbeats"]}
    asked: list[str] = []

    def cut_off(facts: object, one: object, now: object) -> Iterator[Document]:
        asked.append(one.agent.id)  # type: ignore[attr-defined]
        if len(asked) == 110:
            raise KeyboardInterrupt
        return only["first_heartbeats"](facts, one, now)  # type: ignore[arg-type]

    with pytest.raises(KeyboardInterrupt):
        upgrade_data(home, clock, "0.2.0", migrations={"first_heartbeats": cut_off})
    asked.clear()
    done = upgrade_data(home, clock, "0.2.0", migrations=only)
    assert (done.ended, done.migrations[0].checked) == (True, 130)
    # The first page was recorded; of the second one, what was written is not written twice.
    assert done.migrations[0].changed == 130 - 9
    assert len(home.facts.list_due(VITALS, NOW.replace(year=2100), 200)) == 130


def test_it_stops_when_its_time_is_over(home: Home, clock: FakeClock) -> None:
    left_half(home)
    assert not upgrade_data(home, clock, "0.2.0", seconds=0).ended
    assert not is_data_of_release(home.facts, "0.2.0")
    assert upgrade_data(home, clock, "0.2.0", seconds=30).ended


def test_after_another_release_all_is_looked_at_again(home: Home, clock: FakeClock) -> None:
    """Going back and upgrading again: the older release may have left halves again."""
    upgrade_data(home, clock, "0.3.0")
    clock.advance(60)
    older = upgrade_data(home, clock, "0.2.0", migrations={})
    assert older.is_from_newer_release
    home.agents.create(profile("hana", name="花"))
    clock.advance(60)
    again = upgrade_data(home, clock, "0.3.0")
    assert (again.before, again.is_from_newer_release) == ("0.2.0", False)
    assert changes(again) == {"first_heartbeats": 1, "schedule_times": 0}


def test_what_an_owner_switched_off_stays_off(home: Home, clock: FakeClock) -> None:
    quiet = profile("hana", name="花")
    home.agents.create(
        quiet.replaced(agent=quiet.agent.replaced(heartbeat=Heartbeat(enabled=False)))
    )
    gone = profile("ren", name="蓮")
    home.agents.create(gone.replaced(agent=gone.agent.replaced(status=AgentStatus.RETIRED)))
    upgrade_data(home, clock, "0.2.0")
    assert home.facts.list_due(VITALS, NOW.replace(year=2100), 9) == ()
    assert home.facts.get("ren", VITALS, VITALS) is None


def test_vital_signs_that_are_due_at_no_time_are_found_again(home: Home, clock: FakeClock) -> None:
    home.agents.create(profile("hana", name="花"))
    upgrade_data(home, clock, "0.1.9")
    fact = signs(home, "hana")
    home.facts.commit(fact.replaced(due_at=None, version=fact.version + 1))
    assert changes(upgrade_data(home, clock, "0.2.0"))["first_heartbeats"] == 1
    assert signs(home, "hana").due_at == fact.due_at


@pytest.mark.parametrize(
    ("reason", "wakes"),
    [
        ({"unread": 1}, True),
        ({"goal_at": NOW}, True),
        ({"reviewed_at": LONG_AGO}, True),
        ({}, False),
    ],
)
def test_what_an_older_release_told_an_agent_at_rest_wakes_it(
    home: Home, clock: FakeClock, reason: dict[str, Any], *, wakes: bool
) -> None:
    """Releases before skipped no heartbeats, so that they bring none forward."""
    home.agents.create(profile("hana", name="花"))
    upgrade_data(home, clock, "0.1.9")
    fact = signs(home, "hana")
    resting = fact.read(VitalSigns).replaced(next_beat_at=NO_HEARTBEAT, **reason)
    home.facts.commit(heartbeat_signs_document(resting, fact))
    assert changes(upgrade_data(home, clock, "0.2.0"))["first_heartbeats"] == wakes
    soon = home.facts.list_due(VITALS, NOW + timedelta(seconds=DEFAULT_SECONDS), 9)
    assert [found.owner for found in soon] == ["hana"] * wakes


def test_an_older_release_keeps_a_record_that_a_newer_one_wrote(
    home: Home, clock: FakeClock
) -> None:
    newer = {"version": "0.9.0", "since": NOW.isoformat(), "cells": ["東京"]}
    fact = new_fact("installation", "release", "release", profile().agent)
    home.facts.commit(fact.replaced(body=newer))
    clock.advance(1)
    assert upgrade_data(home, clock, "0.2.0").is_from_newer_release
    kept = home.facts.get("installation", "release", "release")
    assert kept is not None
    assert kept.body is not None
    assert (kept.body["version"], kept.body["cells"]) == ("0.2.0", ["東京"])
