"""The local runner's nights: its sweep sends agents into them, and prices are learned beside.

It sends those whose day had enough new sessions to a review, once an hour.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.domain.learning.settings import TrialSettings
from opencrab.engine.runtime import Runtime
from opencrab.gateways.local.consumer import Consumer
from opencrab.gateways.local.feed_watch import FeedWatch
from opencrab.gateways.local.runner import Runner
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


def test_the_sweep_asks_once_an_hour_who_is_to_review_its_skills(house: House) -> None:
    runner, waited = _runner(house), 0
    every = replace(house.runtime.rules, trials=TrialSettings(review_sessions=1))
    runner._runtime = replace(house.runtime, rules=every)
    learner(house)
    active(house, "crab", 5, opens=True)

    class Hours(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            nonlocal waited
            waited += 1
            return waited == 122

    runner._stopping = Hours()
    runner._sweep()
    assert house.calls["nights.send"] == 1
    assert house.calls["tallies.between"] == 3


def test_the_sweep_sends_agents_into_the_night_and_asks_for_prices_once(house: House) -> None:
    asked: list[Runtime] = []

    def price(runtime: Runtime) -> int:
        asked.append(runtime)
        raise Unavailable("the list cannot be had")

    runner = _runner(house, price=price)
    learner(house)
    active(house, "crab", 5)
    lived(house, 3, good=True)
    house.clock.advance(9 * 3_600)
    once(runner)
    assert asked == []
    house.clock.advance(24 * 3_600)
    for _ in range(3):
        once(runner)
    assert len(asked) == 1
    nights = [
        each
        for each in runner._consumers
        if isinstance(each, Consumer) and each._queue is house.runtime.home.nights
    ]
    assert len(nights) == 1
    assert drain(house) == 1
    assert "3 turns, 3 of them evaluated" in told(house, "2026-01-05")


def once(runner: Runner) -> None:
    """One sweep; then the runner stops."""
    waits = iter((False, True))

    class Once(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            return next(waits)

    runner._stopping = Once()
    runner._sweep()


def _runner(house: House, price: Callable[[Runtime], int] | None = None) -> Runner:
    nothing: Any = None
    watch = FeedWatch(feed_of(house.home))
    return Runner(house.runtime, watch, lambda: None, nothing, workers=1, price=price)
