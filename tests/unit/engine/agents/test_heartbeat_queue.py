"""A heartbeat that is hastened comes in a second, once, and never later than it would have."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.engine.agents.heartbeat_queue import hasten_agent_heartbeat
from tests.contract.homes import sqlite
from tests.e2e.beating import drain, living, note, signs
from tests.e2e.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(sqlite, tmp_path)
    yield made
    made.close()


def test_the_next_heartbeat_comes_in_a_second(house: House) -> None:
    living(house, "crab", interval_seconds=61)
    for _ in range(2):
        hasten_agent_heartbeat(house.runtime, "crab")
    house.clock.advance(1)
    assert drain(house) == 1
    assert signs(house, "crab").beats == 1
    following = (signs(house, "crab").next_beat_at - house.clock.now()).total_seconds()
    assert (following > 0, following % 61) == (True, 0)


def test_one_that_comes_sooner_stays_and_who_has_none_gets_none(house: House) -> None:
    living(house, "crab")
    soon = house.clock.now()
    note(house, "crab", next_beat_at=soon)
    hasten_agent_heartbeat(house.runtime, "crab")
    assert signs(house, "crab").next_beat_at == soon
    living(house, "still", enabled=False)
    for name in ("still", "nobody"):
        hasten_agent_heartbeat(house.runtime, name)
    assert drain(house) == 0
