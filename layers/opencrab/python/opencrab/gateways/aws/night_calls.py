"""Calls of a night for others: helpers when much is due, and a successor before its time ends.

Each is called once. A call that surely did not arrive is tried again; one that perhaps did is not,
since two would then do the work of one. Without helpers a night only takes longer.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock, Timer
from typing import Any, Protocol

from opencrab.domain.errors import NeverSent, OpenCrabError
from opencrab.ports.turn.queue import Queue

log = logging.getLogger(__name__)

PER_FUNCTION = 200
"""Nights for which one function is called; fewer are done by the one that the schedule called."""

MOST_SUCCESSORS = 8
"""How often a call is continued by another. Lambda ends a loop of 16; the next hour does more."""

HANDOVER_SECONDS = 15.0
"""So long before its end a call that still works on a night calls its successor."""

GIVEN_BACK_SECONDS = 5
"""After the end of a call others may take what it gives back."""

NIGHT = "night"
"""What the event of a call for help names: how many calls were before it."""

_TRIES = 3
_PAUSE_SECONDS = 1.0

CallFunction = Callable[[str, Mapping[str, Any]], None]
"""Starts a function by its name with an event, and does not wait. Raises NeverSent if it surely
was not started, and Unavailable if it perhaps was."""


class NightTimer(Protocol):
    """Calls something after some seconds, in a thread of its own, unless it is cancelled."""

    def start(self) -> None:
        """Begin to wait."""

    def cancel(self) -> None:
        """Call nothing any more."""


SetTimer = Callable[[float, Callable[[], None]], NightTimer]


def thread_timer(seconds: float, act: Callable[[], None]) -> NightTimer:
    """A timer in a thread that does not keep the process."""
    timer = Timer(seconds, act)
    timer.daemon = True
    return timer


class NightCalls:
    """Starts functions beside one call of a night, at most so many at a time in all."""

    def __init__(
        self, call: CallFunction, functions: int, *, pause: Callable[[float], object]
    ) -> None:
        self._call = call
        self._functions = functions
        self._pause = pause

    def call_helpers(self, function: str, due: int) -> None:
        """Call functions for what is due, as many as the installation allows."""
        self._start(function, min(due // PER_FUNCTION, self._functions - 1), 1)

    def call_successor(self, function: str, number: int) -> None:
        """Call the one that goes on after a call, unless there were enough."""
        if number <= MOST_SUCCESSORS:
            self._start(function, 1, number)

    def _start(self, function: str, count: int, number: int) -> None:
        missing, unknown, reason = max(count, 0), 0, ""
        for attempt in range(_TRIES):
            if attempt and missing:
                self._pause(_PAUSE_SECONDS)
            for _ in range(missing):
                try:
                    self._call(function, {NIGHT: number})
                except NeverSent as error:
                    reason = error.message
                    continue
                except OpenCrabError as error:
                    unknown += 1
                    reason = error.message
                missing -= 1
        if missing or unknown:
            log.warning(
                "cannot call more functions for the night: missing=%s, unknown=%s, error=%s",
                missing,
                unknown,
                reason,
            )


class NightContinuation:
    """What one call still holds, and its way to a successor: when it ends, or shortly before."""

    def __init__(
        self,
        queue: Queue,
        call_successor: Callable[[], None],
        seconds_left: Callable[[], float],
        set_timer: SetTimer,
    ) -> None:
        self._queue = queue
        self._call_successor = call_successor
        self._seconds_left = seconds_left
        self._set_timer = set_timer
        self._lock = Lock()
        self._is_done = False
        self._held = list[str]()

    def hold(self, receipt: str) -> None:
        """Keep a message that this call has no time for until the call ends.

        Given back at once, others with as little time would take it in turn, until it is a dead
        letter.
        """
        self._held.append(receipt)

    @contextmanager
    def guard(self, receipt: str) -> Iterator[None]:
        """Hand over before the call is cut off at the work on this message."""
        seconds = max(self._seconds_left() - HANDOVER_SECONDS, 0.0)
        timer = self._set_timer(seconds, lambda: self._hand_over([*self._held, receipt]))
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def end(self, *, is_empty: bool) -> None:
        """Give back what is held, and call the successor if there is work left; once."""
        if is_empty and self._held:
            # Those who were called with this one end with it; who follows them has the time.
            self._hand_over(self._held, seconds=0)
        elif not is_empty:
            self._hand_over(self._held, seconds=GIVEN_BACK_SECONDS)

    def _hand_over(self, receipts: list[str], *, seconds: int | None = None) -> None:
        with self._lock:
            if self._is_done:
                return
            self._is_done = True
        if seconds is None:
            seconds = int(self._seconds_left()) + GIVEN_BACK_SECONDS
        self._call_successor()
        for receipt in receipts:
            try:
                self._queue.continue_later(receipt, seconds)
            except OpenCrabError as error:
                # It comes back by itself, within the hour.
                log.warning("a night was not given back: error=%s", error.message)
