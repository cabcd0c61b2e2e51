"""The queue in memory: what tests/contract/test_beats.py does not ask."""

import sys
import threading
from pathlib import Path
from types import FrameType

import pytest

from opencrab.adapters.memory_queue import DEDUPLICATION, MemoryQueue
from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.queue import SqliteQueue
from opencrab.adapters.system_clock import FakeClock
from tests.contract.example import JAPANESE, NOW
from tests.unit.adapters.sqlite.home import database


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


def queue(opened: Database, clock: FakeClock) -> MemoryQueue:
    return MemoryQueue(clock, SqliteQueue(opened, "beats", clock, ordered=False))


def take(found: MemoryQueue, wait_seconds: float = 0) -> str | None:
    delivery = found.receive(visibility_seconds=30, wait_seconds=wait_seconds)
    return None if delivery is None else delivery.body


def test_the_same_id_adds_nothing_for_five_minutes(tmp_path: Path, clock: FakeClock) -> None:
    with database(tmp_path) as opened:
        found = queue(opened, clock)
        for moment in (0.0, 1.0, DEDUPLICATION.total_seconds() - 2, 3.0):
            clock.advance(moment)
            found.send(JAPANESE, group="g", deduplication="x")
            delivery = found.receive(visibility_seconds=30, wait_seconds=0)
            assert (delivery is not None) == (moment in {0.0, 3.0})
            if delivery is not None:
                found.acknowledge(delivery.receipt)


def test_a_message_that_nobody_finished_comes_again_and_its_old_receipt_is_void(
    tmp_path: Path, clock: FakeClock
) -> None:
    with database(tmp_path) as opened:
        found = queue(opened, clock)
        found.send(JAPANESE, group="g", deduplication="x")
        first = found.receive(visibility_seconds=30, wait_seconds=0)
        clock.advance(31)
        second = found.receive(visibility_seconds=30, wait_seconds=0)
        assert first is not None
        assert second is not None
        assert (first.count, second.count) == (1, 2)
        found.acknowledge(first.receipt)
        assert not found.continue_later(first.receipt, 0)
        assert found.continue_later(second.receipt, 0)
        assert not found.continue_later(second.receipt, 0)
        assert take(found) == JAPANESE


def test_who_waits_is_woken_by_a_message(tmp_path: Path, clock: FakeClock) -> None:
    with database(tmp_path) as opened:
        found, taken = queue(opened, clock), list[str | None]()
        waiting = threading.Thread(target=lambda: taken.append(take(found, wait_seconds=30)))
        waiting.start()
        found.send("now", group="g", deduplication="x")
        waiting.join(20)
        assert taken == ["now"]


def test_messages_write_nothing(tmp_path: Path, clock: FakeClock) -> None:
    with database(tmp_path) as opened:
        found = queue(opened, clock)
        before = opened._writer.total_changes
        for number in range(50):
            found.send(f"{number}", group="g", deduplication=f"{number}", delay_seconds=1)
        clock.advance(1)
        while (delivery := found.receive(visibility_seconds=30, wait_seconds=0)) is not None:
            found.acknowledge(delivery.receipt)
        assert opened._writer.total_changes == before


def test_ten_thousand_messages_are_looked_at_once_each(tmp_path: Path, clock: FakeClock) -> None:
    with database(tmp_path) as opened:
        found, looked = queue(opened, clock), 0

        def count(frame: FrameType, event: str, _argument: object) -> None:
            nonlocal looked
            looked += event == "call" and frame.f_code.co_filename.endswith("memory_queue.py")

        for number in range(10_000):
            found.send(f"{number}", group="g", deduplication=f"{number}")
        sys.setprofile(count)
        try:
            while (delivery := found.receive(visibility_seconds=30, wait_seconds=0)) is not None:
                found.acknowledge(delivery.receipt)
        finally:
            sys.setprofile(None)
        assert looked < 6 * 10_000
