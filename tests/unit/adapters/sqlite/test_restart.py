"""The start after a crash: what was running is judged, suspects wait, everybody else comes back."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.home import sqlite_home_on_database
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.turn.crash import CRASH_RULE
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Delivery, Queue
from tests.contract.example import admitted, ending, utterance
from tests.unit.adapters.sqlite.home import NOW, database

LEASE = timedelta(seconds=CRASH_RULE.lease_seconds)
BODY = '{"v":1,"turn":"t1"}'


@dataclass
class Life:
    """One process: its home, its file and the clock that all lives share."""

    home: Home
    file: Database
    clock: FakeClock

    def taken(self) -> Delivery | None:
        return self.home.turns.receive(visibility_seconds=1_800, wait_seconds=0)

    def claimed(self) -> Delivery:
        delivery = self.taken()
        assert delivery is not None
        until = self.clock.now() + LEASE
        assert self.home.journal.claim("t1", lease_until=until, receipt=delivery.receipt)
        self.file.alive(self.clock.now())
        return delivery

    def counted(self) -> tuple[int, int]:
        header = self.home.journal.header("t1")
        return header.crashes, header.deliveries


@contextmanager
def life(folder: Path, clock: FakeClock) -> Iterator[Life]:
    files, blobs = LocalFiles(folder), LocalBlobs(folder)
    with database(folder) as opened:
        yield Life(sqlite_home_on_database(opened, clock, files=files, blobs=blobs), opened, clock)


def begun(folder: Path, clock: FakeClock) -> None:
    """A turn with its message, whose process died as it ran."""
    with life(folder, clock) as first:
        admitted(first.home)
        first.home.turns.send(BODY, group="m1", deduplication="1")
        first.claimed()


def test_a_turn_that_ran_is_a_suspect_and_waits_out_its_pause(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    begun(tmp_path, clock)
    with life(tmp_path, clock) as second:
        assert second.counted() == (1, 0)
        assert second.taken() is None
        clock.advance(CRASH_RULE.pause_seconds)
        assert second.taken() is not None


def test_a_message_that_was_merely_taken_comes_back_at_once(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    with life(tmp_path, clock) as first:
        admitted(first.home)
        first.home.turns.send(BODY, group="m1", deduplication="1")
        assert first.taken() is not None
    with life(tmp_path, clock) as second:
        assert second.counted() == (0, 0)
        assert second.taken() is not None


def test_a_suspects_pause_begins_anew_with_each_start(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    begun(tmp_path, clock)
    for _ in range(3):
        clock.advance(CRASH_RULE.pause_seconds * 5)
        with life(tmp_path, clock) as next_one:
            assert next_one.taken() is None
            assert next_one.counted() == (1, 0)


def test_a_suspect_that_waited_to_be_alone_is_not_judged(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    begun(tmp_path, clock)
    with life(tmp_path, clock) as second:
        clock.advance(CRASH_RULE.pause_seconds)
        assert second.taken() is not None
    with life(tmp_path, clock) as third:
        assert third.counted() == (1, 0)


def test_a_turn_that_was_handed_back_before_the_death_is_no_suspect(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    with life(tmp_path, clock) as first:
        admitted(first.home)
        first.home.turns.send(BODY, group="m1", deduplication="1")
        first.home.turns.continue_later(first.claimed().receipt, 30)
    with life(tmp_path, clock) as second:
        assert second.counted()[0] == 0
        assert second.taken() is None
        clock.advance(30)
        assert second.taken() is not None


def test_time_for_which_nothing_ran_is_not_held_against_a_turn(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    begun(tmp_path, clock)
    with life(tmp_path, clock) as second:
        clock.advance(CRASH_RULE.pause_seconds)
        second.claimed()
    clock.advance(86_400)
    with life(tmp_path, clock) as third:
        assert third.counted() == (2, 0)


def test_a_death_alone_after_its_fair_time_counts(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    begun(tmp_path, clock)
    with life(tmp_path, clock) as second:
        clock.advance(CRASH_RULE.pause_seconds)
        second.claimed()
        clock.advance(CRASH_RULE.fair_seconds)
        second.file.alive(clock.now())
    with life(tmp_path, clock) as third:
        assert third.counted() == (2, 1)


def test_an_ended_turn_and_a_message_of_nobody_come_back_as_they_are(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    with life(tmp_path, clock) as first:
        admitted(first.home)
        first.home.turns.send(BODY, group="m1", deduplication="1")
        first.claimed()
        claimed = first.home.journal.header("t1")
        first.home.journal.commit(ending(claimed, utterances=(utterance(),)))
        for number, body in enumerate(("{", "[]", '{"turn":"nobody"}', '{"turn":[]}')):
            first.home.turns.send(body, group=f"g{number}", deduplication=body)
            assert first.taken() is not None
    with life(tmp_path, clock) as second:
        assert second.counted()[0] == 0
        assert sum(second.taken() is not None for _ in range(6)) == 5


@pytest.mark.parametrize("name", ["deliveries", "interactions", "nights"])
def test_what_other_queues_had_in_flight_comes_back_at_once(tmp_path: Path, name: str) -> None:
    clock = FakeClock(NOW)
    with life(tmp_path, clock) as first:
        queue: Queue = getattr(first.home, name)
        queue.send("{}", group="g", deduplication="d")
        assert queue.receive(visibility_seconds=1_800, wait_seconds=0) is not None
        assert queue.receive(visibility_seconds=1_800, wait_seconds=0) is None
    with life(tmp_path, clock) as second:
        again = getattr(second.home, name).receive(visibility_seconds=1_800, wait_seconds=0)
        assert again is not None
        assert again.count == 2
