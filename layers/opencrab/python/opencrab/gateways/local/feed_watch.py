"""Wakes those on the event loop who wait for news of a session, from the change feed's thread."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.turn.turn import TurnStatus
from opencrab.ports.conversation.feed import ChangeFeed, FeedEntry

log = logging.getLogger(__name__)

_FOLLOW_SECONDS = 1.0
_RETRY_SECONDS = 2
_WORDS_SECONDS = 0.04
_SETTLED = "settled:"
_UNSETTLED = frozenset({TurnStatus.QUEUED.value, TurnStatus.RUNNING.value})
EVERY = "*"
"""Who waits for this waits for any session; the WebSocket does."""


class FeedWatch:
    """A watch that wakes waiters as soon as the change feed has an entry of their session."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="feed", daemon=True)
        self._position = feed.position()
        self._is_waking = False
        self._woken = -_WORDS_SECONDS

    @asynccontextmanager
    async def watching(
        self, session_id: str, *, settled: bool = False
    ) -> AsyncIterator[Callable[[float], Awaitable[bool]]]:
        """Yield a function that sleeps until the session changes or the seconds are over.

        It returns True when the process is about to end. With `settled` it sleeps until a turn of
        the session ends or waits for a person.
        """
        event = asyncio.Event()
        key = f"{_SETTLED}{session_id}" if settled else session_id
        self._waiting.setdefault(key, set()).add(event)

        async def next_change(seconds: float) -> bool:
            # Nobody wakes who comes after the end has woken all.
            if not self._stopping.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(event.wait(), seconds)
            event.clear()
            return self._stopping.is_set()

        try:
            yield next_change
        finally:
            waiting = self._waiting[key]
            waiting.discard(event)
            if not waiting:
                del self._waiting[key]

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Follow the feed in a thread and wake waiters on the event loop."""
        self._loop = loop
        self._thread.start()

    def notify(self, session_id: str) -> None:
        """Wake who waits for a session, from any thread, for news that no entry of the feed has.

        Who waits for any session is woken at most every `_WORDS_SECONDS`.
        """
        if (loop := self._loop) is not None:
            self._wake_soon(partial(self._wake_for_words, loop, session_id))

    def _wake_for_words(self, loop: asyncio.AbstractEventLoop, session_id: str) -> None:
        self._wake({session_id})
        if not self._is_waking:
            self._is_waking = True
            # At once, unless it was just woken.
            left = self._woken + _WORDS_SECONDS - loop.time()
            loop.call_later(max(left, 0.0), self._wake_all, loop)

    def _wake_all(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_waking, self._woken = False, loop.time()
        self._wake({EVERY})

    def stop(self) -> None:
        """Stop following, and wake all waiters."""
        self._stopping.set()
        self._wake_soon(lambda: self._wake(set(self._waiting)))

    def join(self) -> None:
        """Wait until nobody reads the feed any more: then its database may be closed."""
        if self._thread.is_alive():
            self._thread.join()

    def _wake_soon(self, wake: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(wake)

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                if not self._feed.wait(after=self._position, seconds=_FOLLOW_SECONDS):
                    continue
                entries = self._feed.read(after=self._position, limit=500)
            except OpenCrabError as error:
                log.warning("cannot read the change feed, retrying: error=%s", error.message)
                self._stopping.wait(_RETRY_SECONDS)
                continue
            if entries:
                self._position = entries[-1].position
                changed = {EVERY, *(entry.session_id for entry in entries)}
                changed |= {f"{_SETTLED}{each.session_id}" for each in entries if _settles(each)}
                # Who begins to wait after this look reads afterwards, and finds the entries.
                if not changed.isdisjoint(tuple(self._waiting)):
                    self._wake_soon(partial(self._wake, changed))

    def _wake(self, sessions: set[str]) -> None:
        for session_id in sessions & self._waiting.keys():
            for event in self._waiting[session_id]:
                event.set()


def _settles(entry: FeedEntry) -> bool:
    """Check whether an entry says that a turn has ended or waits for a person."""
    return entry.kind == "turn" and entry.body not in _UNSETTLED
