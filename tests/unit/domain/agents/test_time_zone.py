"""Time zones of agents: whose counts, what changing one keeps, and hours where clocks change."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.heartbeat import (
    ActiveHours,
    Heartbeat,
    agent_day_start_in_zone,
    agent_heartbeat_in_zone,
    agent_heartbeat_with_hours_in_zone,
    agent_time_in_zone,
    agent_time_zone,
    local_time_of_agent,
    time_zone_of_agent,
)

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
QUIET = ActiveHours(start="08:00", end="22:00", zone="Asia/Tokyo")


def lives(heartbeat: Heartbeat) -> Agent:
    return Agent(id="crab", name="crab", heartbeat=heartbeat, created_at=NOW, updated_at=NOW)


def test_an_agent_without_a_zone_of_its_own_has_the_installations() -> None:
    assert agent_time_zone(Heartbeat(), "Europe/Berlin") == "Europe/Berlin"
    assert time_zone_of_agent(Heartbeat()) is None


def test_its_own_zone_is_that_of_its_active_hours_which_are_all_day() -> None:
    heartbeat = agent_heartbeat_in_zone(Heartbeat(), "Asia/Tokyo", "UTC")
    assert agent_time_zone(heartbeat, "UTC") == time_zone_of_agent(heartbeat) == "Asia/Tokyo"
    assert heartbeat.active_hours is not None
    assert all(heartbeat.active_hours.includes(NOW.replace(hour=hour)) for hour in range(24))
    assert agent_heartbeat_in_zone(heartbeat, None, "UTC") == Heartbeat()


def test_quiet_hours_stay_when_the_zone_changes() -> None:
    heartbeat = Heartbeat(active_hours=QUIET)
    moved = agent_heartbeat_in_zone(heartbeat, "Europe/Berlin", "UTC")
    assert moved.active_hours == QUIET.replaced(zone="Europe/Berlin")
    back = agent_heartbeat_in_zone(moved, None, "America/New_York")
    assert back.active_hours == QUIET.replaced(zone="America/New_York")


def test_hours_without_a_zone_are_in_the_agents() -> None:
    given = Heartbeat(active_hours=ActiveHours(start="08:00", end="22:00"))
    told = agent_heartbeat_with_hours_in_zone(given, "Asia/Tokyo").active_hours
    assert told == QUIET
    assert (
        agent_heartbeat_with_hours_in_zone(Heartbeat(active_hours=QUIET), "UTC").active_hours
        == QUIET
    )
    assert agent_heartbeat_with_hours_in_zone(Heartbeat(), "UTC") == Heartbeat()


def test_the_release_before_reads_an_agent_with_a_time_zone() -> None:
    """Its heartbeat has only fields that it knows: interval, hours, and the zone of the hours."""
    heartbeat = agent_heartbeat_in_zone(Heartbeat(), "Asia/Tokyo", "UTC")
    stored = lives(heartbeat).model_dump(mode="json")["heartbeat"]
    assert stored["active_hours"] == {"start": "00:00", "end": "00:00", "zone": "Asia/Tokyo"}


@pytest.mark.parametrize(
    ("zone", "moment", "here"),
    [
        ("Europe/Berlin", datetime(2026, 3, 29, 0, 59, tzinfo=UTC), "2026-03-29 01:59"),
        ("Europe/Berlin", datetime(2026, 3, 29, 1, 0, tzinfo=UTC), "2026-03-29 03:00"),
        ("Europe/Berlin", datetime(2026, 10, 25, 0, 30, tzinfo=UTC), "2026-10-25 02:30"),
        ("Europe/Berlin", datetime(2026, 10, 25, 1, 30, tzinfo=UTC), "2026-10-25 02:30"),
        ("America/New_York", datetime(2026, 3, 8, 6, 59, tzinfo=UTC), "2026-03-08 01:59"),
        ("America/New_York", datetime(2026, 3, 8, 7, 0, tzinfo=UTC), "2026-03-08 03:00"),
        ("America/New_York", datetime(2026, 11, 1, 4, 59, tzinfo=UTC), "2026-11-01 00:59"),
        ("Asia/Tokyo", datetime(2026, 1, 4, 23, 0, tzinfo=UTC), "2026-01-05 08:00"),
    ],
)
def test_the_clock_of_a_zone_changes_when_its_clocks_do(
    zone: str, moment: datetime, here: str
) -> None:
    assert f"{local_time_of_agent(moment, zone):%Y-%m-%d %H:%M}" == here


@pytest.mark.parametrize(
    ("zone", "awake", "asleep"),
    [
        (
            "Europe/Berlin",
            [datetime(2026, 3, 28, 7, tzinfo=UTC), datetime(2026, 3, 29, 6, tzinfo=UTC)],
            [datetime(2026, 3, 28, 6, tzinfo=UTC), datetime(2026, 3, 29, 5, 59, tzinfo=UTC)],
        ),
        (
            "America/New_York",
            [datetime(2026, 10, 31, 12, tzinfo=UTC), datetime(2026, 11, 1, 13, tzinfo=UTC)],
            [datetime(2026, 10, 31, 11, tzinfo=UTC), datetime(2026, 11, 1, 12, tzinfo=UTC)],
        ),
    ],
)
def test_quiet_hours_end_at_eight_on_both_sides_of_a_change_of_clocks(
    zone: str, awake: list[datetime], asleep: list[datetime]
) -> None:
    hours = QUIET.replaced(zone=zone)
    assert [hours.includes(moment) for moment in awake] == [True, True]
    assert [hours.includes(moment) for moment in asleep] == [False, False]


def test_a_day_begins_where_the_clock_is() -> None:
    now = datetime(2026, 11, 20, 23, 0, tzinfo=UTC)
    began = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
    assert agent_time_in_zone(now, "Asia/Tokyo") == "2026-11-21 08:00"
    assert agent_day_start_in_zone("today", now, "Asia/Tokyo") == began
    assert agent_day_start_in_zone("2026-11-21", now, "Asia/Tokyo") == began
    assert agent_day_start_in_zone("today", now, "UTC") == datetime(2026, 11, 20, tzinfo=UTC)
    assert agent_day_start_in_zone("2026-11-21T00:00:00+09:00", now, "UTC") == began
