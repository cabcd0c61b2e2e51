"""A message that a worker took: nothing is written until its turn is claimed or given back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.journal import SqliteJournal
from opencrab.adapters.sqlite.queue import (
    TURNS,
    PendingClaim,
    PendingClaimRegistry,
    SqliteQueue,
)
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Superseded
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Delivery
from tests.contract.example import admitted, later
from tests.contract.homes import sqlite
from tests.unit.adapters.sqlite.home import NOW, home

BODY = '{"v":1,"turn":"t1"}'


def sent(opened: Home, *groups: str) -> None:
    for group in groups:
        opened.turns.send(BODY, group=group, deduplication=group)


def taken(opened: Home) -> Delivery | None:
    return opened.turns.receive(visibility_seconds=30, wait_seconds=0)


def told(database: Database) -> list[str]:
    said: list[str] = []
    for connection in (database._writer, database._relaxed.connection):
        connection.set_trace_callback(said.append)
    return said


def rows(database: Database) -> list[tuple[str | None, int]]:
    with database.read_transaction() as items:
        return items.execute("SELECT receipt, count FROM queue ORDER BY position").fetchall()


def test_taking_a_message_writes_nothing_and_the_claim_writes_both(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, database):
        admitted(opened)
        sent(opened, "a")
        said = told(database)
        delivery = taken(opened)
        assert delivery is not None
        assert (said, delivery.count, taken(opened)) == ([], 1, None)
        opened.journal.claim("t1", lease_until=later(60), receipt=delivery.receipt)
        assert said.count("COMMIT") == 1
        assert rows(database) == [(delivery.receipt, 1)]
        assert taken(opened) is None


def test_a_message_that_no_claim_followed_is_finished_or_given_back_all_the_same(
    tmp_path: Path,
) -> None:
    with home(tmp_path) as (opened, database):
        sent(opened, "a", "b")
        first, second = taken(opened), taken(opened)
        assert first is not None
        assert second is not None
        opened.turns.acknowledge(first.receipt)
        assert opened.turns.continue_later(second.receipt, 0)
        assert rows(database) == [(None, 1)]
        again = taken(opened)
        assert again is not None
        assert again.count == 2
        assert not opened.turns.continue_later(second.receipt, 0)


def test_a_delivery_that_nobody_claimed_in_time_counts_and_its_receipt_is_void(
    tmp_path: Path,
) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as opened:
        sent(opened, "a")
        first = taken(opened)
        assert first is not None
        clock.advance(31)
        second = taken(opened)
        assert second is not None
        assert (second.count, second.receipt != first.receipt) == (2, True)
        opened.turns.acknowledge(first.receipt)
        clock.advance(31)
        assert taken(opened) is not None


def test_a_late_worker_does_not_take_the_message_from_the_hands_of_the_next_one(
    tmp_path: Path,
) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as opened:
        admitted(opened)
        sent(opened, "a")
        opened.turns.send('{"v":1,"turn":"t2"}', group="a", deduplication="the next turn")
        late = taken(opened)
        assert late is not None
        assert opened.journal.claim("t1", lease_until=later(60), receipt=late.receipt) is not None
        clock.advance(31)
        second = taken(opened)
        assert second is not None
        assert (second.body, second.count) == (BODY, 2)
        opened.turns.acknowledge(late.receipt)
        assert not opened.turns.continue_later(late.receipt, 0)
        # The session's next turn waits for the one that is in hand.
        assert taken(opened) is None
        claimed = opened.journal.claim("t1", lease_until=later(90), receipt=second.receipt)
        assert claimed is not None
        assert (claimed.turn.epoch, claimed.turn.receipt) == (2, second.receipt)
        opened.turns.acknowledge(second.receipt)
        following = taken(opened)
        assert following is not None
        assert following.body == '{"v":1,"turn":"t2"}'


@pytest.mark.parametrize("claims", ["before", "after"])
def test_a_worker_whose_message_came_again_before_its_claim_gets_no_turn(
    tmp_path: Path, claims: str
) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as opened:
        admitted(opened)
        sent(opened, "a")
        late = taken(opened)
        clock.advance(31)
        second = taken(opened)
        assert late is not None
        assert second is not None
        if claims == "before":
            with pytest.raises(Superseded):
                opened.journal.claim("t1", lease_until=later(60), receipt=late.receipt)
        claimed = opened.journal.claim("t1", lease_until=later(60), receipt=second.receipt)
        with pytest.raises(Superseded):
            opened.journal.claim("t1", lease_until=later(60), receipt=late.receipt)
        assert claimed is not None
        assert opened.journal.header("t1") == claimed.turn


def test_a_message_that_is_ended_while_it_comes_again_does_not_come(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as opened:
        admitted(opened)
        sent(opened, "a")
        first = taken(opened)
        assert first is not None
        opened.journal.claim("t1", lease_until=later(60), receipt=first.receipt)
        clock.advance(31)
        opened.turns.acknowledge(first.receipt)
        assert taken(opened) is None
        clock.advance(31)
        assert taken(opened) is None


def test_the_next_process_finds_a_message_as_if_nobody_had_taken_it(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, _):
        sent(opened, "a")
        assert taken(opened) is not None
    with home(tmp_path) as (opened, _):
        again = taken(opened)
        assert again is not None
        assert again.count == 1


class Overtaken(PendingClaimRegistry):
    """A registry in which another worker comes between a look at a receipt and what follows it."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] | None = None

    def get(self, receipt: str | None) -> PendingClaim | None:
        held, meanwhile, self.meanwhile = super().get(receipt), self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return held


@pytest.mark.parametrize("does", ["claim", "acknowledge", "continue_later"])
def test_a_message_that_another_worker_claims_meanwhile_stays_in_its_hands(
    tmp_path: Path, does: str
) -> None:
    clock, registry = FakeClock(NOW), Overtaken()
    with home(tmp_path) as (opened, file):
        admitted(opened)
        sent(opened, "a")
        queue = SqliteQueue(file, TURNS, clock, taken=registry)
        journal = SqliteJournal(file, clock, registry)
        late = queue.receive(visibility_seconds=30, wait_seconds=0)
        assert late is not None

        def overtakes() -> None:
            clock.advance(31)
            second = queue.receive(visibility_seconds=30, wait_seconds=0)
            assert second is not None
            assert journal.claim("t1", lease_until=later(90), receipt=second.receipt) is not None

        registry.meanwhile = overtakes
        if does == "claim":
            with pytest.raises(Superseded):
                journal.claim("t1", lease_until=later(90), receipt=late.receipt)
        elif does == "acknowledge":
            queue.acknowledge(late.receipt)
        else:
            assert not queue.continue_later(late.receipt, 0)
        assert rows(file) == [(journal.header("t1").receipt, 2)]
        assert journal.header("t1").receipt != late.receipt
        assert queue.receive(visibility_seconds=30, wait_seconds=0) is None
