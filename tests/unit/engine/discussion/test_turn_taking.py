"""The floor of a discussion: each place is taken once, and whoever takes it hears strangers."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from opencrab.engine.discussion.turn_taking import give_floor_for_due_item
from tests.contract.homes import sqlite
from tests.e2e.house import House
from tests.e2e.talking import WORDS, gathered

SOON = 61


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(sqlite, tmp_path)
    with closing(house):
        gathered(house, "kai", "nami", says=list(WORDS))
        house.say("海について話して")
        house.work()
        yield house


def test_a_place_that_is_taken_asks_nobody_again(house: House) -> None:
    house.clock.advance(SOON)
    (item,) = house.home.due.list_due(house.clock.now(), 10)
    house.later(0)
    admitted = house.calls["journal.admit"]
    give_floor_for_due_item(house.runtime, item)
    assert house.calls["journal.admit"] == admitted


def test_whoever_takes_the_floor_does_so_after_others_words(house: House) -> None:
    house.clock.advance(SOON)
    (item,) = house.home.due.list_due(house.clock.now(), 10)
    assert item.taint
    assert item.floor == 1
