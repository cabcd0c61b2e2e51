"""Search on private copies of SQLite indexes, and the indexing that publishes their snapshots.

Whoever searches reads what its copy does not know yet from the stores, so it never depends on how
far publications have come. Whoever follows the feed publishes before it answers: then nothing that
was told is lost with a process. How often that is depends on how much is told at once.
"""

import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from opencrab.adapters.search_indexing import update_search_index_of_each
from opencrab.adapters.search_rows import ChangeHint, SearchRowReader
from opencrab.adapters.sqlite_search.agent_pool import COPIES
from opencrab.adapters.sqlite_search.index import (
    TOKENIZER,
    find_confirmed_sqlite_search_hits,
    use_or_rebuild_sqlite_search,
)
from opencrab.adapters.sqlite_search.replica import IndexReplica
from opencrab.adapters.sqlite_search.replica_cache import IndexReplicas
from opencrab.domain.errors import Unavailable
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.feed import FeedEntry
from opencrab.ports.memory.search import IndexStatus, SearchHit, SearchQuery
from opencrab.ports.memory.snapshots import SnapshotStore

if TYPE_CHECKING:
    from opencrab.adapters.sqlite_search.vectors import Vectors

REFRESH_SECONDS = 60.0
TOGETHER_SECONDS = 45.0
"""After this no vector is asked for any of the agents that are indexed together: on AWS they have
two minutes, and a model that hangs takes the time of one call more."""

ROUNDS = 10
"""How often a publication begins anew when others publish at the same time."""


class SqliteSearch:
    """`ports.memory.search.Search` and `Indexing` on index copies in a local folder.

    `source` names the database, if a restore can replace it by another one.
    """

    def __init__(
        self,
        past: SearchRowReader,
        snapshots: SnapshotStore,
        folder: Path,
        clock: Clock,
        *,
        refresh_seconds: float = REFRESH_SECONDS,
        most_copies: int = COPIES,
        source: str = "",
        vectors: "Vectors | None" = None,
    ) -> None:
        self._vectors = vectors
        self._past = past
        self._clock = clock
        self._refresh_seconds = refresh_seconds
        self._copies = IndexReplicas(
            past, snapshots, folder, clock, most=most_copies, source=source
        )

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        with self._copies.acquire(agent_id) as copy:
            return use_or_rebuild_sqlite_search(
                agent_id, copy, lambda: self._searched(agent_id, copy, query)
            )

    def apply_erasures(self, agent_id: str) -> None:
        with self._copies.acquire(agent_id) as copy:
            use_or_rebuild_sqlite_search(agent_id, copy, lambda: self._forgotten(agent_id, copy))

    def status(self, agent_id: str) -> IndexStatus:
        with self._copies.acquire(agent_id) as copy:
            return use_or_rebuild_sqlite_search(agent_id, copy, lambda: self._status(copy))

    def index_entries(self, entries: Iterable[FeedEntry]) -> None:
        until_ms = self._clock.monotonic_ms() + TOGETHER_SECONDS * 1_000
        publish = partial(self._publish, until_ms=until_ms)
        update_search_index_of_each(self._past.change_hints(entries), publish)

    def catch_up(self, agent_id: str) -> None:
        more = self._publish(agent_id, ChangeHint(), whole=True)
        while more:
            more = self._publish(agent_id, ChangeHint())

    def close(self) -> None:
        """Remove the copies."""
        self._copies.close()

    def _searched(
        self, agent_id: str, copy: IndexReplica, query: SearchQuery
    ) -> tuple[SearchHit, ...]:
        copy.refresh(self._refresh_seconds)
        present = (query.session_id, query.clearance.session_id)
        copy.catch_up(*(each for each in present if each))
        return find_confirmed_sqlite_search_hits(
            agent_id, copy, query, past=self._past, vectors=self._vectors, now=self._clock.now()
        )

    def _status(self, copy: IndexReplica) -> IndexStatus:
        copy.refresh(self._refresh_seconds)
        vectors, model = (0, "") if self._vectors is None else self._vectors.coverage(copy.index)
        return IndexStatus(
            backend="sqlite",
            rows=copy.index.rows(),
            bytes=copy.index.size(),
            tokenizer=TOKENIZER,
            lines=tuple(sorted(copy.index.progress().lines.items())),
            published_at=copy.base.published_at if copy.base else None,
            published_rows=copy.base.rows if copy.base else None,
            vectors=vectors,
            vector_model=model,
        )

    def _publish(
        self,
        agent_id: str,
        hinted: ChangeHint,
        *,
        whole: bool = False,
        until_ms: float = math.inf,
    ) -> bool:
        """Update an agent's copy from the newest snapshot and the stores, and publish it.

        Returns True if rows may remain that need a vector. None is asked for after `until_ms`.
        """
        vectors = self._vectors
        teach = None if vectors is None else vectors.vector_writer(agent_id, self._clock, until_ms)
        more = False

        def once() -> bool:
            nonlocal more
            copy.refresh()
            copy.catch_up(*hinted.sessions, whole=whole)
            copy.reread(hinted)
            more = teach is not None and copy.learn(teach) > 0
            return copy.publish()

        with self._copies.acquire(agent_id) as copy:
            for _ in range(ROUNDS):
                if use_or_rebuild_sqlite_search(agent_id, copy, once):
                    return more
        raise _busy(agent_id)

    def _forgotten(self, agent_id: str, copy: IndexReplica) -> None:
        """Remove all snapshots and publish a new one without erased rows; retry on conflict."""
        for _ in range(ROUNDS):
            copy.refresh()
            copy.catch_up()
            copy.index.vacuum()
            copy.remove_snapshots()
            if copy.publish():
                return
        raise _busy(agent_id)


def _busy(agent_id: str) -> Unavailable:
    return Unavailable(
        f"the index of agent {agent_id!r} has too many concurrent updates; retries exhausted",
        cure="try again in a few seconds",
    )
