"""One agent's private copy of its index: where it begins, how it goes on, how it is published.

A copy begins with the newest snapshot, or empty, and reads on from the stores. Whenever it cannot
be trusted it begins anew: all that it knows is in the journal and among the facts.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from opencrab.adapters.search_rows import (
    ChangeHint,
    IndexProgress,
    SearchRowReader,
    search_row_ref,
)
from opencrab.adapters.sqlite_search.backfill import UNFINISHED, BackfillReader, take_in_parts
from opencrab.adapters.sqlite_search.index import TOKENIZER, DamagedIndex, Index
from opencrab.domain.erasure.request import COPIES_KEPT
from opencrab.domain.errors import Unavailable
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.ports.clock import Clock
from opencrab.ports.memory.snapshots import Snapshot, SnapshotStore

LOOKS = 10
"""How often the newest snapshot is asked for while others replace it."""

_log = logging.getLogger(__name__)


class IndexReplica:
    """An agent's local copy of its index; not thread-safe.

    `new_file` returns an unused path in temporary storage. `base` is the snapshot that a
    publication replaces: the copy contains it, or was rebuilt since. `source` names the database;
    a snapshot of another one is not used.
    """

    def __init__(
        self,
        agent_id: str,
        past: SearchRowReader,
        snapshots: SnapshotStore,
        new_file: Callable[[], Path],
        clock: Clock,
        *,
        source: str = "",
    ) -> None:
        self.base: Snapshot | None = None
        self._agent_id = agent_id
        self._past = past
        self._snapshots = snapshots
        self._new_file = new_file
        self._clock = clock
        self._source = source
        self._index: Index | None = None
        self._file: Path | None = None
        self._looked_ms = 0.0
        self._is_ahead = False
        self._left_behind: tuple[str, ...] = ()

    @property
    def index(self) -> Index:
        """The index, created empty on first use."""
        if self._index is None:
            self._file = self._new_file()
            self._index = Index(self._agent_id, self._file, self._source)
        return self._index

    def refresh(self, refresh_seconds: float = 0.0) -> None:
        """Replace the copy by the newest snapshot, unless that was checked within refresh_seconds.

        A newer snapshot that cannot be used makes the copy start over: the snapshot may have
        contained changes that only hints named.
        """
        now_ms = self._clock.monotonic_ms()
        if self._index is not None and now_ms - self._looked_ms < refresh_seconds * 1_000:
            return
        try:
            newest, fetched = self._newest()
        except Unavailable as error:
            if self._index is None or not refresh_seconds:
                raise
            _log.warning(
                "cannot check for a newer search snapshot: agent_id=%s, error=%s",
                self._agent_id,
                error.message,
            )
            return
        self._looked_ms = now_ms
        if newest != self.base:
            self._begin(fetched)
            self.base = newest

    def catch_up(self, *session_ids: str, whole: bool = False) -> None:
        """Index what is new (`SearchRowReader.new_batches`); with `whole` read everything again."""
        now, seen = self._clock.now(), self.index.progress()
        if seen.at is not None and seen.at < now - COPIES_KEPT:
            self._begin(None)
            seen = IndexProgress()
        since = replace(seen, kept={}, at=None) if whole else seen
        news = self._past.new_batches(self._agent_id, since, *session_ids, *self._left_behind)
        told = BackfillReader(news)
        changed = take_in_parts(self.index, told, seen.at or UNFINISHED, now)
        if whole:
            gone = self.index.row_keys() - told.kept
            changed += sum(self._reread(kind, ref) for kind, ref in gone)
        if told.mark > seen.mark:
            self.index.vacuum()
            changed += 1
        self._left_behind = ()
        self._is_ahead = self._is_ahead or changed > 0

    def reread(self, hinted: ChangeHint) -> None:
        """Index the present state of the documents that hints name, or remove them."""
        for kind, fact_id in hinted.kept:
            row = self._past.read_document_row(self._agent_id, kind, fact_id)
            if row is None:
                self.index.drop(RowKind(kind), search_row_ref(kind, fact_id))
            else:
                self.index.update(row)
            self._is_ahead = True

    def learn(self, teach: Callable[[Index], int]) -> int:
        """Let `teach` add data that is not from the stores; it returns how many rows it changed."""
        learnt = teach(self.index)
        self._is_ahead = self._is_ahead or learnt > 0
        return learnt

    def confirm(self, row: SearchRow) -> bool:
        """Check whether a document's row is current; update the index if not."""
        return self.index.confirm(row, self._past.reread(self._agent_id, row))

    def publish(self, *, anyway: bool = False) -> bool:
        """Publish the copy as snapshot if it has changes; False if another was published first."""
        if not self._is_ahead and not anyway:
            return True
        file = self._new_file()
        try:
            self.index.save(file)
            made = self._snapshots.publish(
                self._agent_id, file, rows=self.index.rows(), tokenizer=TOKENIZER, over=self.base
            )
        finally:
            file.unlink(missing_ok=True)
        if made is None:
            return False
        self.base, self._is_ahead = made, False
        return True

    def remove_snapshots(self) -> None:
        """Remove all snapshots of the agent; this copy stays."""
        self._snapshots.remove(self._agent_id)
        self.base, self._is_ahead = None, True

    def begin_anew(self) -> None:
        """Replace the copy by an empty one, which reads everything."""
        self._begin(None)

    def close(self) -> None:
        """Close and delete the copy's file."""
        if self._index is not None:
            self._index.close()
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        self._index = self._file = None

    def _newest(self) -> tuple[Snapshot | None, Path | None]:
        """Return the newest snapshot, and its file unless it is the base or unusable."""
        newest = self._snapshots.newest(self._agent_id)
        for _ in range(LOOKS):
            if newest is None or newest == self.base or newest.tokenizer != TOKENIZER:
                return newest, None
            file = self._new_file()
            if self._snapshots.fetch(newest, file):
                return newest, file
            file.unlink(missing_ok=True)
            missed, newest = newest, self._snapshots.newest(self._agent_id)
            if newest == missed:
                _log.warning(
                    "search snapshot is damaged, rebuilding the index: agent_id=%s", self._agent_id
                )
                return newest, None
        raise Unavailable(
            f"the snapshots of agent {self._agent_id!r} change too often to be read; retries "
            "exhausted",
            cure="try again in a few seconds",
        )

    def _begin(self, file: Path | None) -> None:
        """Start from a fetched file if it is sound, else from an empty index.

        Sessions that the old copy had read further are read again next time, so that no result is
        lost.
        """
        lines = self._known()
        self.close()
        if file is not None:
            try:
                self._index = Index(self._agent_id, file, self._source)
                self._file = file
            except DamagedIndex as error:
                file.unlink(missing_ok=True)
                _log.warning(
                    "cannot use search snapshot, rebuilding the index: agent_id=%s, error=%s",
                    self._agent_id,
                    error.message,
                )
        self._is_ahead = self._index is None
        now = self.index.progress().lines
        missed = (each for each, last in lines.items() if last > now.get(each, 0))
        self._left_behind = tuple(dict.fromkeys((*self._left_behind, *missed)))

    def _known(self) -> dict[str, int]:
        try:
            return {} if self._index is None else dict(self._index.progress().lines)
        except Unavailable:
            return {}

    def _reread(self, kind: RowKind, ref: str) -> int:
        """Remove a document's row unless the document exists; return 1 if it was removed."""
        row = self._past.row_named(self._agent_id, kind, ref)
        if row is None:
            self.index.drop(kind, ref)
        return int(row is None)
