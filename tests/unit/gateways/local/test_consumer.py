"""Consumers: work is handled, comes back, or is buried."""

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.gateways.local.consumer import MAX_RECEIVES, Consumer
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue

PATIENCE = 50.0


def _consumed(
    home: Home, handle: Callable[[Delivery], MessageOutcome], enough: threading.Event
) -> None:
    consumer = Consumer("turns", home.turns, handle, workers=2, visibility=60)
    consumer.start()
    assert enough.wait(PATIENCE)
    consumer.stop()
    consumer.join()


def test_handled_work_is_gone(home: Home) -> None:
    enough = threading.Event()

    def handle(delivery: Delivery) -> MessageOutcome:
        enough.set()
        return MessageOutcome.FINISHED

    home.turns.send("仕事", group="g", deduplication="1")
    _consumed(home, handle, enough)
    assert home.turns.receive(visibility_seconds=1, wait_seconds=0) is None


def test_work_whose_handler_breaks_comes_back(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    enough = threading.Event()
    seen: list[int] = []

    def handle(delivery: Delivery) -> MessageOutcome:
        seen.append(delivery.count)
        if len(seen) == 1:
            raise RuntimeError("nobody expected this")
        enough.set()
        return MessageOutcome.FINISHED

    home.turns.send("work", group="g", deduplication="1")
    _consumed(home, handle, enough)
    assert seen == [1, 2]
    assert "nobody expected this" in caplog.text


def test_work_that_never_ends_is_buried_at_last(home: Home) -> None:
    home.turns.send("poison", group="g", deduplication="1")
    home.turns.send("after", group="g", deduplication="2")
    for _ in range(MAX_RECEIVES):
        delivery = home.turns.receive(visibility_seconds=60, wait_seconds=0)
        assert delivery is not None
        home.turns.continue_later(delivery.receipt, 0)
    enough = threading.Event()
    handled: list[str] = []

    def handle(delivery: Delivery) -> MessageOutcome:
        handled.append(delivery.body)
        enough.set()
        return MessageOutcome.FINISHED

    _consumed(home, handle, enough)
    assert handled == ["after"]
    assert [body for body, _ in home.turns.list_dead_letters(10)] == ["poison"]


class FullDisk:
    """A queue whose disk is full at first, when work is given back."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def continue_later(self, receipt: str, seconds: int) -> None:
        if self.refused == 0:
            self.refused += 1
            raise Unavailable("the disk is full", cure="free some space")
        self._queue.continue_later(receipt, seconds)


def test_work_comes_back_soon_after_the_disk_has_room_again(home: Home) -> None:
    enough, counts, queue = threading.Event(), list[int](), FullDisk(home.turns)

    def handle(delivery: Delivery) -> MessageOutcome:
        counts.append(delivery.count)
        if len(counts) == 1:
            raise Unavailable("the disk is full", cure="free some space")
        enough.set()
        return MessageOutcome.FINISHED

    home.turns.send("work", group="g", deduplication="1")
    consumer = Consumer("turns", cast("Queue", queue), handle, workers=2, visibility=3_600)
    consumer.start()
    assert enough.wait(PATIENCE)
    consumer.stop()
    consumer.join()
    assert (counts, queue.refused) == ([1, 2], 1)
