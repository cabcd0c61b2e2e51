"""A turn that cannot be read is abandoned; if that fails it is logged, and done after the lease."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.errors import Changed
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.ports.turn.journal import Journal, TurnChange
from opencrab.ports.turn.queue import Queue
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House


class Busy:
    """A journal whose turns cannot end: what they read is changed each time."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.tries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def commit(self, change: TurnChange) -> Turn:
        """Commit it, unless it ends a turn."""
        if not change.turn.status.is_end:
            return self._journal.commit(change)
        self.tries += 1
        raise Changed("goal G1")


def test_a_turn_that_cannot_be_abandoned_is_logged_and_abandoned_after_its_lease(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    house = House(sqlite, tmp_path)
    house.session(house.agent("crab", (Reply("hello"),)))
    (turn,) = house.say("hi")
    house.lose_agent("crab")
    journal: Any = Busy(house.home.journal)
    free, house.runtime = (
        house.runtime,
        replace(house.runtime, home=replace(house.runtime.home, journal=journal)),
    )
    with caplog.at_level(logging.ERROR):
        house.work()
    (said,) = [row.getMessage() for row in caplog.records if row.levelno == logging.ERROR]
    assert f"cannot end turn {turn.id}" in said
    assert f"{journal.tries} tries" in said
    assert journal.tries == 5
    stored = house.turn(turn.id)
    assert stored.status is TurnStatus.RUNNING
    assert str(stored.lease_until) in said
    house.runtime = free
    house.later(free.rules.lease_seconds + 600)
    assert house.turn(turn.id).status is TurnStatus.FAILED
    house.close()


class WorkerDied(BaseException):
    """The worker is gone."""


@dataclass
class Deliveries:
    """A queue whose sender dies before its first message; what is sent later is kept."""

    queue: Queue
    keys: list[str] = field(default_factory=list)
    has_died: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)

    def send(self, body: str, **more: Any) -> None:
        if not self.has_died:
            self.has_died = True
            raise WorkerDied
        self.keys.append(more["deduplication"])
        self.queue.send(body, **more)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(sqlite, tmp_path)
    yield house
    house.close()


@pytest.mark.parametrize(("first", "second"), [("まず", "つぎ"), ("one", "two")])
def test_words_that_a_dead_worker_saved_come_before_what_follows_them(
    house: House, first: str, second: str
) -> None:
    speaks = (("send_speech", {"content": first, "more": True}),)
    house.session(house.agent("crab", (Reply(calls=speaks), Reply(second))))
    queue: Any = Deliveries(house.home.deliveries)
    house.runtime = replace(house.runtime, home=replace(house.runtime.home, deliveries=queue))
    (turn,) = house.say("hi", channel="discord")
    with pytest.raises(WorkerDied):
        house.work()
    assert queue.keys == []
    house.later(house.runtime.rules.lease_seconds + 600)
    assert house.turn(turn.id).status is TurnStatus.COMPLETED
    assert list(dict.fromkeys(queue.keys)) == [f"{turn.id}#{n:04d}" for n in range(2)]
