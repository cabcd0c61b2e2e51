"""A queue in memory, for messages that somebody else sends again when the process has ended."""

import heapq
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from opencrab.ports.clock import Clock
from opencrab.ports.turn.queue import BatchedMessage, Delivery, Queue, require_turn_queue_delay

DEDUPLICATION = timedelta(minutes=5)
_IDLE_SECONDS = 60.0


@dataclass
class _Message:
    body: str
    group: str
    visible_at: datetime
    receipt: str = ""
    count: int = 0


@dataclass
class _Sent:
    """The ids that add nothing again, in the order in which they were sent."""

    until: dict[str, datetime] = field(default_factory=dict)

    def add(self, name: str, now: datetime) -> bool:
        """Remember an id; return False if it is known. Forget those whose time is over."""
        while self.until and next(iter(self.until.values())) <= now:
            del self.until[next(iter(self.until))]
        if self.until.get(name, now) > now:
            return False
        self.until.pop(name, None)
        self.until[name] = now + DEDUPLICATION
        return True


class MemoryQueue:
    """`ports.turn.queue.Queue` without order; its dead letters go to a durable queue."""

    def __init__(self, clock: Clock, dead: Queue) -> None:
        self._clock, self._dead = clock, dead
        self._changed = threading.Condition()
        # A place in the heap is void once its message is visible at another time, or gone.
        self._places: list[tuple[datetime, int]] = []
        self._messages: dict[int, _Message] = {}
        self._held: dict[str, int] = {}
        self._number = 0
        self._sent = _Sent()

    def send(self, body: str, *, group: str, deduplication: str, delay_seconds: int = 0) -> None:
        if delay_seconds:
            require_turn_queue_delay(delay_seconds, ordered=False)
        now = self._clock.now()
        with self._changed:
            if self._sent.add(deduplication, now):
                self._number += 1
                self._messages[self._number] = _Message(body, group, now)
                self._show(self._number, now + timedelta(seconds=delay_seconds))
                self._changed.notify()

    def send_batch(self, messages: Iterable[BatchedMessage]) -> None:
        for each in messages:
            self.send(
                each.body,
                group=each.group,
                deduplication=each.deduplication,
                delay_seconds=each.delay_seconds,
            )

    def receive(self, *, visibility_seconds: int, wait_seconds: float) -> Delivery | None:
        deadline = time.monotonic() + wait_seconds
        with self._changed:
            while True:
                now = self._clock.now()
                first = self._first()
                if first is not None and first[0] <= now:
                    return self._take(first[1], now + timedelta(seconds=visibility_seconds))
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                until = _IDLE_SECONDS
                if first is not None:
                    until = max((first[0] - now).total_seconds(), 0.001)
                self._changed.wait(min(left, until))

    def acknowledge(self, receipt: str) -> None:
        with self._changed:
            number = self._held.pop(receipt, None)
            if number is not None:
                del self._messages[number]

    def continue_later(self, receipt: str, seconds: int) -> bool:
        with self._changed:
            number = self._held.pop(receipt, None)
            if number is not None:
                self._messages[number].receipt = ""
                self._show(number, self._clock.now() + timedelta(seconds=seconds))
                self._changed.notify()
            return number is not None

    def dead_letter(self, body: str, *, group: str, reason: str) -> None:
        self._dead.dead_letter(body, group=group, reason=reason)

    def list_dead_letters(self, limit: int) -> tuple[tuple[str, str], ...]:
        return self._dead.list_dead_letters(limit)

    def _show(self, number: int, visible_at: datetime) -> None:
        self._messages[number].visible_at = visible_at
        heapq.heappush(self._places, (visible_at, number))

    def _first(self) -> tuple[datetime, int] | None:
        """Return the message that can be received first: when, and its number."""
        while self._places:
            visible_at, number = self._places[0]
            message = self._messages.get(number)
            if message is not None and message.visible_at == visible_at:
                return visible_at, number
            heapq.heappop(self._places)
        return None

    def _take(self, number: int, until: datetime) -> Delivery:
        message = self._messages[number]
        self._held.pop(message.receipt, None)
        message.receipt, message.count = secrets.token_hex(16), message.count + 1
        self._held[message.receipt] = number
        self._show(number, until)
        return Delivery(message.body, message.group, message.receipt, message.count)
