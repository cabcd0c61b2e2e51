"""A queue in memory, for messages that somebody else sends again when the process has ended."""

import secrets
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from opencrab.ports.clock import Clock
from opencrab.ports.turn.queue import Delivery, Queue, check_turn_queue_delay

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
        self._messages: list[_Message] = []
        self._sent = _Sent()

    def send(self, body: str, *, group: str, deduplication: str, delay_seconds: int = 0) -> None:
        check_turn_queue_delay(delay_seconds, ordered=False)
        now = self._clock.now()
        with self._changed:
            if self._sent.add(deduplication, now):
                visible_at = now + timedelta(seconds=delay_seconds)
                self._messages.append(_Message(body, group, visible_at))
                self._changed.notify()

    def receive(self, *, visibility_seconds: int, wait_seconds: float) -> Delivery | None:
        deadline = time.monotonic() + wait_seconds
        with self._changed:
            while True:
                now = self._clock.now()
                first = min(self._messages, key=lambda each: each.visible_at, default=None)
                if first is not None and first.visible_at <= now:
                    first.visible_at = now + timedelta(seconds=visibility_seconds)
                    first.receipt, first.count = secrets.token_hex(16), first.count + 1
                    return Delivery(first.body, first.group, first.receipt, first.count)
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                until = _IDLE_SECONDS
                if first is not None:
                    until = max((first.visible_at - now).total_seconds(), 0.001)
                self._changed.wait(min(left, until))

    def acknowledge(self, receipt: str) -> None:
        with self._changed:
            found = self._held(receipt)
            if found is not None:
                self._messages.remove(found)

    def continue_later(self, receipt: str, seconds: int) -> bool:
        with self._changed:
            found = self._held(receipt)
            if found is not None:
                found.receipt = ""
                found.visible_at = self._clock.now() + timedelta(seconds=seconds)
                self._changed.notify()
            return found is not None

    def dead_letter(self, body: str, *, group: str, reason: str) -> None:
        self._dead.dead_letter(body, group=group, reason=reason)

    def list_dead_letters(self, limit: int) -> tuple[tuple[str, str], ...]:
        return self._dead.list_dead_letters(limit)

    def _held(self, receipt: str) -> _Message | None:
        held = (each for each in self._messages if each.receipt == receipt)
        return next(held, None) if receipt else None
