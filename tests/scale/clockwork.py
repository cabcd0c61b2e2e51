"""Time of its own: many workers in one thread, woken in the order of a simulated clock."""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from greenlet import getcurrent, greenlet

from opencrab.adapters.system_clock import FakeClock

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class Clockwork:
    """Runs jobs at their times; a job that sleeps lets the others go on.

    The same jobs give the same run on every machine.
    """

    def __init__(self, start: datetime = START) -> None:
        self.clock = FakeClock(start)
        self._start = start
        self._seconds = 0.0
        self._number = 0
        self._waiting: list[tuple[float, int, greenlet]] = []
        self._hub = getcurrent()

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return self._seconds

    def start(self, job: Callable[[], None], at: float) -> None:
        """Run a job at a time, in seconds since the beginning."""
        self._push(at, greenlet(job, parent=self._hub))

    def sleep(self, seconds: float) -> None:
        """Let the present job wait; outside of any job nothing has to."""
        if getcurrent() is self._hub:
            return
        self._push(self._seconds + seconds, getcurrent())
        self._hub.switch()

    def run(self, until: float = float("inf")) -> None:
        """Let time pass until nothing is left to do, or until a time."""
        while self._waiting and self._waiting[0][0] <= until:
            at, _, job = heapq.heappop(self._waiting)
            self._seconds = max(at, self._seconds)
            ahead = self._start + timedelta(seconds=self._seconds) - self.clock.now()
            self.clock.advance(max(ahead.total_seconds(), 0.0))
            job.switch()

    def _push(self, at: float, job: greenlet) -> None:
        self._number += 1
        heapq.heappush(self._waiting, (at, self._number, job))
