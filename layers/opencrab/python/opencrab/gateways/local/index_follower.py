"""Keeps the local home's indexes up to date: catches up at the start, then follows the feed."""

import logging
import threading
import time
from collections.abc import Callable
from operator import attrgetter

from opencrab.domain.errors import OpenCrabError
from opencrab.ports.agents import Agents
from opencrab.ports.conversation.feed import ChangeFeed
from opencrab.ports.memory.search import Indexing
from opencrab.ports.paging import paginate

log = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0
"""Between two updates: a search does not wait for them, and together lines write less."""

RETRY_SECONDS = 10.0
REFRESH_SECONDS = 6 * 3_600.0
"""After which an index of which nothing was told notes how far the feed is. The feed is kept for a
day: an index that stands before its beginning reads everything again."""

JOIN_SECONDS = 3.0
"""A large index takes longer to build; it is continued at the next start, as after a crash."""

_AGENTS = 100
_BATCH = 2_000
_WAIT_SECONDS = 1.0


class IndexFollower:
    """A thread that indexes the change feed; after a crash the next start catches up."""

    def __init__(
        self,
        feed: ChangeFeed,
        indexing: Indexing,
        agents: Agents,
        *,
        pause_seconds: float = PAUSE_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        refresh_seconds: float = REFRESH_SECONDS,
    ) -> None:
        self._feed = feed
        self._indexing = indexing
        self._agents = agents
        self._pause_seconds = pause_seconds
        self._retry_seconds = retry_seconds
        self._refresh_seconds = refresh_seconds
        self._position = feed.position()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="index", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the entries that are being indexed."""
        self._stopping.set()

    def join(self) -> None:
        """Wait until the thread has ended, but not for an index that takes long."""
        if self._thread.is_alive():
            self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        refresh_at = 0.0
        while not self._stopping.is_set():
            if time.monotonic() >= refresh_at:
                self._until_done(self._catch_up)
                refresh_at = time.monotonic() + self._refresh_seconds
            if self._until_done(self._follow):
                self._stopping.wait(self._pause_seconds)

    def _catch_up(self) -> bool:
        for profile in paginate(self._agents.page, limit=_AGENTS, key=attrgetter("agent.id")):
            if self._stopping.is_set():
                return False
            self._indexing.catch_up(profile.agent.id)
        return True

    def _follow(self) -> bool:
        """Index the next entries of the feed; returns whether there were any."""
        self._feed.wait(after=self._position, seconds=_WAIT_SECONDS)
        entries = self._feed.read(after=self._position, limit=_BATCH)
        if entries:
            self._indexing.index_entries(entries)
            self._position = entries[-1].position
        return bool(entries)

    def _until_done(self, work: Callable[[], bool]) -> bool:
        """Retry until it succeeds: the feed keeps the entries that were not indexed."""
        while not self._stopping.is_set():
            try:
                return work()
            except OpenCrabError as error:
                log.warning(
                    "cannot update the search index, retrying: after=%s, error=%s",
                    self._position,
                    error.message,
                )
            except Exception:
                if self._stopping.is_set():
                    break
                log.exception("cannot update the search index, retrying: after=%s", self._position)
            self._stopping.wait(self._retry_seconds)
        return False
