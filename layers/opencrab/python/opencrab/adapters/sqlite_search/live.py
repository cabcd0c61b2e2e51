"""Search on this machine: each agent's index is one file, which is searched where it is written."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from opencrab.adapters.search_indexing import update_search_index_of_each
from opencrab.adapters.search_rows import SearchRowReader
from opencrab.adapters.sqlite_search.agent_pool import COPIES, AgentPool
from opencrab.adapters.sqlite_search.backfill import UNFINISHED
from opencrab.adapters.sqlite_search.change_cursor import ChangeCursor
from opencrab.adapters.sqlite_search.index import (
    TOKENIZER,
    find_confirmed_sqlite_search_hits,
    use_or_rebuild_sqlite_search,
)
from opencrab.adapters.sqlite_search.live_index import LiveIndex
from opencrab.domain.workspace.path import workspace_folder_of_agent
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.feed import ChangeFeed, FeedEntry
from opencrab.ports.memory.search import IndexStatus, SearchHit, SearchQuery
from opencrab.ports.memory.snapshots import SnapshotStore

if TYPE_CHECKING:
    from opencrab.adapters.sqlite_search.vectors import Vectors

_LIVE = "live"


class LiveSearch:
    """`ports.memory.search.Search` and `Indexing` on index files in a local folder.

    A search takes in first what the change feed has reported since the last one, so it never
    depends on a follower of the feed, which only keeps that little. Files lie in `folder/live`.
    """

    def __init__(
        self,
        past: SearchRowReader,
        feed: ChangeFeed,
        folder: Path,
        clock: Clock,
        *,
        earlier: SnapshotStore,
        most_open: int = COPIES,
        vectors: "Vectors | None" = None,
    ) -> None:
        self._vectors = vectors
        self._past = past
        self._clock = clock
        self._earlier = earlier
        self._folder = folder / _LIVE
        _remove_private_copies(folder)
        self._cursor = ChangeCursor(feed, past)
        self._pool = AgentPool(self._made, most=most_open)

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        with self._pool.acquire(agent_id) as live:

            def find() -> tuple[SearchHit, ...]:
                present = (query.session_id, query.clearance.session_id)
                live.catch_up(*(each for each in present if each))
                return find_confirmed_sqlite_search_hits(
                    agent_id,
                    live,
                    query,
                    past=self._past,
                    vectors=self._vectors,
                    now=self._clock.now(),
                )

            return use_or_rebuild_sqlite_search(agent_id, live, find)

    def apply_erasures(self, agent_id: str) -> None:
        with self._pool.acquire(agent_id) as live:

            def erase() -> None:
                live.catch_up()
                live.erase()

            use_or_rebuild_sqlite_search(agent_id, live, erase)

    def status(self, agent_id: str) -> IndexStatus:
        with self._pool.acquire(agent_id) as live:
            return use_or_rebuild_sqlite_search(agent_id, live, lambda: self._status(live))

    def index_entries(self, entries: Iterable[FeedEntry]) -> None:
        update_search_index_of_each(
            self._past.change_hints(entries), lambda agent_id, _hint: self._catch_up(agent_id)
        )

    def catch_up(self, agent_id: str) -> None:
        while self._catch_up(agent_id):
            pass

    def close(self) -> None:
        """Close the files, which stay for the next process."""
        self._pool.close()

    def _made(self, agent_id: str) -> LiveIndex:
        file = self._folder / f"{workspace_folder_of_agent(agent_id)}.db"
        return LiveIndex(
            agent_id, self._past, self._cursor, file, self._clock, earlier=self._earlier
        )

    def _catch_up(self, agent_id: str) -> bool:
        """Update an agent's index; return True if rows may remain that need a vector."""
        with self._pool.acquire(agent_id) as live:
            use_or_rebuild_sqlite_search(agent_id, live, live.record_position)
            if self._vectors is None:
                return False
            teach = self._vectors.vector_writer(agent_id, self._clock)
            return use_or_rebuild_sqlite_search(agent_id, live, lambda: teach(live.index)) > 0

    def _status(self, live: LiveIndex) -> IndexStatus:
        index, vectors, model = live.index, 0, ""
        if self._vectors is not None:
            vectors, model = self._vectors.coverage(index)
        progress, rows = index.progress(), index.rows()
        updated_at = None if progress.at == UNFINISHED else progress.at
        return IndexStatus(
            backend="sqlite",
            rows=rows,
            bytes=index.size(),
            tokenizer=TOKENIZER,
            lines=tuple(sorted(progress.lines.items())),
            published_at=updated_at,
            published_rows=None if updated_at is None else rows,
            vectors=vectors,
            vector_model=model,
        )


def _remove_private_copies(folder: Path) -> None:
    """Remove what processes of an earlier release left, which may hold erased words."""
    for left in folder.glob("tmp*"):
        shutil.rmtree(left, ignore_errors=True)
