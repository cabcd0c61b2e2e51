"""The sweep: what was lost on its way is sent again, once, and is not dropped as a repeat."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.turn.pace import MessageOutcome, Pace
from opencrab.engine.turn.run import run_turn
from opencrab.ports.turn.queue import Queue
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House

STALE = 61
"""Seconds after which nobody is taken to work on what was not sent."""


class Raced:
    """A journal in which something happens between what a sweep reads and what it writes."""

    def __init__(self, journal: Any, happens: Any) -> None:
        self._journal = journal
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def list_overdue(self, now: datetime, limit: int) -> tuple[Turn, ...]:
        found: tuple[Turn, ...] = self._journal.list_overdue(now, limit)
        happens, self._happens = self._happens, lambda: None
        happens()
        return found


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(sqlite, tmp_path)
    with closing(house):
        house.session(house.agent("crab", (Reply("はい, yes"),)))
        yield house


def lose(queue: Queue) -> int:
    """Take all messages that are visible away, as if they had never been sent; how many."""
    lost = 0
    while (delivery := queue.receive(visibility_seconds=600, wait_seconds=0)) is not None:
        queue.acknowledge(delivery.receipt)
        lost += 1
    return lost


def test_a_turn_whose_message_was_lost_is_queued_again(house: House) -> None:
    (turn,) = house.say("こんにちは")
    assert lose(house.home.turns) == 1
    house.later(STALE)
    assert house.turn(turn.id).status is TurnStatus.COMPLETED


def test_speech_whose_message_was_lost_is_shown_once_all_the_same(house: House) -> None:
    house.say("hello", channel="wall")
    delivery = house.home.turns.receive(visibility_seconds=600, wait_seconds=0)
    assert delivery is not None
    assert run_turn(house.runtime, delivery, Pace()) is MessageOutcome.FINISHED
    house.home.turns.acknowledge(delivery.receipt)
    assert lose(house.home.deliveries) == 1
    house.later(STALE)
    house.later(STALE)
    assert [text for _, text in house.wall.shown] == ["はい, yes"]


def test_two_sweeps_at_once_queue_a_turn_once(house: House) -> None:
    house.say("hello")
    lose(house.home.turns)
    house.clock.advance(STALE)

    def other() -> None:
        house.clock.advance(1)
        assert run_autonomy_sweep(replace(house.runtime, home=house.home)).requeued == 1

    raced = replace(house.home, journal=Raced(house.home.journal, other))
    assert run_autonomy_sweep(replace(house.runtime, home=raced)).requeued == 0
    assert lose(house.home.turns) == 1


def test_a_turn_that_is_lost_again_and_again_is_queued_each_time(house: House) -> None:
    house.say("hello")
    for _ in range(3):
        assert lose(house.home.turns) == 1
        house.clock.advance(STALE + 600)
        assert run_autonomy_sweep(house.runtime).requeued == 1
