"""A turn that cannot be read is abandoned; if that fails it is logged, and done after the lease."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.errors import Changed
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.ports.turn.journal import Journal, TurnChange
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
