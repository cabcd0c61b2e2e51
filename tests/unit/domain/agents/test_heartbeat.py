"""How an agent may live on its own: primes, hours of its own clock, and events that it hears."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from opencrab.domain.agents.event import EventFilter
from opencrab.domain.agents.heartbeat import (
    DEFAULT_SECONDS,
    LONGEST_SECONDS,
    SHORTEST_SECONDS,
    ActiveHours,
    Heartbeat,
    is_prime_agent_interval,
    prime_agent_interval,
)


def test_the_shortest_the_default_and_the_longest_interval_are_primes() -> None:
    assert all(map(is_prime_agent_interval, (SHORTEST_SECONDS, DEFAULT_SECONDS, LONGEST_SECONDS)))
    assert [number for number in range(32) if is_prime_agent_interval(number)][-4:] == [
        19,
        23,
        29,
        31,
    ]
    assert (
        prime_agent_interval(60),
        prime_agent_interval(61),
        prime_agent_interval(0),
    ) == (61, 61, 2)


@pytest.mark.parametrize(
    ("seconds", "take"),
    [(0, 29), (-61, 29), (2, 29), (60, 61), (3_600, 3_607), (10**30, LONGEST_SECONDS)],
)
def test_an_interval_that_cannot_be_names_one_that_can(seconds: int, take: int) -> None:
    with pytest.raises(ValidationError, match=f"prime number .*: take {take}"):
        Heartbeat(interval_seconds=seconds)
    assert Heartbeat(interval_seconds=take).interval_seconds == take


@pytest.mark.parametrize(
    "wrong",
    [
        {"interval_seconds": 61.0},
        {"interval_seconds": "61"},
        {"interval_seconds": True},
        {"active_hours": {"zone": "Asia/Edo"}},
        {"active_hours": {"zone": "../etc/passwd"}},
        {"active_hours": {"start": "24:00"}},
        {"cooldown_seconds": -1},
        {"subscriptions": [{"type": "World"}]},
        {"subscriptions": [{}] * 21},
        {"tick": 1},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Heartbeat.model_validate(wrong)


@pytest.mark.parametrize(
    ("start", "end", "awake"),
    [
        ("09:00", "17:00", [False, True, True, False]),
        ("22:00", "09:30", [True, True, False, True]),
        ("00:00", "00:00", [True] * 4),
    ],
)
def test_active_hours_go_by_the_clocks_of_their_zone(
    start: str, end: str, awake: list[bool]
) -> None:
    hours = ActiveHours(start=start, end=end, zone="Asia/Tokyo")
    told = [datetime(2026, 2, 17, hour, 0, tzinfo=UTC) for hour in (18, 0, 7, 14)]
    assert [hours.includes(moment) for moment in told] == awake


def test_active_hours_follow_summer_time() -> None:
    hours = ActiveHours(start="09:00", end="10:00", zone="Europe/Berlin")
    assert hours.includes(datetime(2026, 3, 28, 8, 30, tzinfo=UTC))
    assert hours.includes(datetime(2026, 3, 29, 7, 30, tzinfo=UTC))
    assert not hours.includes(datetime(2026, 3, 29, 8, 30, tzinfo=UTC))


def test_subscriptions_choose_events_by_type_and_source() -> None:
    assert Heartbeat().hears("speech", "taro")
    chosen = Heartbeat(
        subscriptions=(EventFilter(type="world.*"), EventFilter(type="speech", source="taro"))
    )
    heard = (("world.bounty", "w"), ("speech", "taro"), ("speech", "hana"), ("worldly", "w"))
    assert [chosen.hears(*event) for event in heard] == [True, True, False, False]


@pytest.mark.parametrize(("words", "acts"), [("", False), (" \n", False), ("見て", True)])
def test_empty_instructions_mean_do_nothing(words: str, *, acts: bool) -> None:
    assert Heartbeat(instructions=words).acts_on_its_own is acts
    assert not Heartbeat(instructions=words, initiative=False).acts_on_its_own
