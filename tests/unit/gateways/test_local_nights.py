"""The local runner's nights: its sweep sends agents into them, and prices are learned beside."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.engine.runtime import Runtime
from opencrab.gateways.local import FeedWatch, Runner
from tests.contract.following import feed_of
from tests.contract.homes import HOMES
from tests.crash.errand import RICH
from tests.e2e.house import House
from tests.e2e.nights import active, drain, learner, lived, told


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    opened = House(HOMES[0], tmp_path, RICH)
    yield opened
    opened.close()


def test_the_sweep_sends_agents_into_the_night_and_asks_for_prices_once(house: House) -> None:
    asked: list[Runtime] = []

    def price(runtime: Runtime) -> int:
        asked.append(runtime)
        raise Unavailable("the list cannot be had")

    nothing: Any = None
    watch = FeedWatch(feed_of(house.home))
    runner = Runner(house.runtime, watch, lambda: None, nothing, workers=1, price=price)
    runner._stopping.set()
    learner(house)
    active(house, "crab", 5)
    lived(house, 3, good=True)
    house.clock.advance(9 * 3_600)
    runner._sweep()
    assert asked == []
    house.clock.advance(24 * 3_600)
    for _ in range(3):
        runner._sweep()
    assert len(asked) == 1
    nights = [each for each in runner._consumers if each._queue is house.runtime.home.nights]
    assert len(nights) == 1
    assert drain(house) == 1
    assert "3 turns, 3 of them judged" in told(house, "2026-01-05")
