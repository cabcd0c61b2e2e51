"""One agent's index on this machine: a file that is searched where it is written.

Nothing is published: whoever searches first takes in what the change feed has reported since.
An index that cannot be trusted is built anew: all that it knows is in the journal and among the
facts.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from opencrab.adapters.search_rows import Batch, IndexProgress, SearchRowReader
from opencrab.adapters.sqlite_search.backfill import (
    UNFINISHED,
    BackfillReader,
    index_sqlite_search_in_parts,
)
from opencrab.adapters.sqlite_search.change_cursor import ChangeCursor, FeedChanges, FeedCoverage
from opencrab.adapters.sqlite_search.index import TOKENIZER, DamagedIndex, Index
from opencrab.adapters.sqlite_search.schema import translate_sqlite_search_file_errors
from opencrab.domain.erasure.request import COPIES_KEPT
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.ports.clock import Clock
from opencrab.ports.memory.snapshots import SnapshotStore

FEED = "feed"
"""The name under which an index records its position in the feed."""

_log = logging.getLogger(__name__)


class LiveIndex:
    """An agent's index file; not thread-safe, but other processes may use the file too.

    `earlier` are the snapshots that an earlier release published: the newest is where an index
    begins that does not exist yet, and they are removed once it is complete.
    """

    def __init__(
        self,
        agent_id: str,
        past: SearchRowReader,
        cursor: ChangeCursor,
        path: Path,
        clock: Clock,
        *,
        earlier: SnapshotStore,
    ) -> None:
        self._agent_id = agent_id
        self._past = past
        self._cursor = cursor
        self._path = path
        self._clock = clock
        self._earlier = earlier
        self._index: Index | None = None
        self._file_number = 0
        self._is_checked = False

    @property
    def index(self) -> Index:
        """The index; its file is created on first use, or if somebody removed it."""
        with translate_sqlite_search_file_errors(self._path):
            if self._index is not None and not self._is_there():
                self.close()
            if self._index is None:
                self._index = self._open()
                self._file_number = self._path.stat().st_ino
                self._is_checked = False
            return self._index

    def catch_up(self, *session_ids: str) -> None:
        """Index what changed, and the named sessions to their last line."""
        changes = self._changes()
        if changes.coverage is FeedCoverage.FOREIGN:
            _log.warning(
                "search index is of another database, rebuilding it: agent_id=%s", self._agent_id
            )
            self.begin_anew()
            changes = self._changes()
        if changes.coverage is FeedCoverage.WHOLE:
            self._take(changes, session_ids)
        else:
            self._read_everything(changes, session_ids)
        self._is_checked = True

    def record_position(self) -> None:
        """Record the position in the feed also if nothing changed for this agent."""
        self.catch_up()
        position = self._changes().position
        if position > self.index.kept_reached(FEED):
            self._reach(position, self._clock.now())

    def confirm(self, row: SearchRow) -> bool:
        """Check whether a document's row is current; update the index if not."""
        return self.index.confirm(row, self._past.reread(self._agent_id, row))

    def erase(self) -> None:
        """Remove all traces of removed rows, and the snapshots of earlier releases."""
        self.index.erase_removed()
        self._earlier.remove(self._agent_id)

    def begin_anew(self) -> None:
        """Replace the file by an empty one, which reads everything."""
        self.close()
        with translate_sqlite_search_file_errors(self._path):
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            self._index = Index(self._agent_id, self._path, live=True)
            self._file_number = self._path.stat().st_ino
        self._is_checked = False

    def close(self) -> None:
        """Close the file, which stays."""
        if self._index is not None:
            self._index.close()
        self._index = None

    def _changes(self) -> FeedChanges:
        known = self.index.kept_reached(FEED)
        return self._cursor.changes(self._agent_id, known, check=not self._is_checked)

    def _is_there(self) -> bool:
        with suppress(FileNotFoundError):
            return self._path.stat().st_ino == self._file_number
        return False

    def _open(self) -> Index:
        """Open the file; one that does not exist begins with the newest earlier snapshot."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._path.exists():
            self._adopt()
        try:
            return Index(self._agent_id, self._path, live=True)
        except DamagedIndex as error:
            _log.warning(
                "cannot use search index, rebuilding it: agent_id=%s, error=%s",
                self._agent_id,
                error.message,
            )
        self.begin_anew()
        return self.index

    def _adopt(self) -> None:
        newest = self._earlier.newest(self._agent_id)
        if newest is None or newest.tokenizer != TOKENIZER:
            return
        fetched = self._path.with_suffix(".fetched")
        if self._earlier.fetch(newest, fetched):
            fetched.replace(self._path)
        fetched.unlink(missing_ok=True)

    def _take(self, changes: FeedChanges, session_ids: tuple[str, ...]) -> None:
        """Index what changed; without changes nothing is written."""
        hint, now = changes.hint, self._clock.now()
        named = self._lines([each for each in session_ids if each not in hint.sessions])
        first = next(named, None)
        if first is None and not (hint.sessions or hint.kept or hint.marks):
            return

        def news() -> Iterator[Batch]:
            # Read as late as possible: what another process writes meanwhile is read again when it
            # is found.
            yield from self._past.documents_named(self._agent_id, hint)
            if first is not None:
                yield first
                yield from named
            yield from self._lines(hint.sessions)
            yield Batch(kind=FEED, last_id=changes.position)

        before = self.index.progress_time() or UNFINISHED
        index_sqlite_search_in_parts(self.index, news(), before, now)
        if hint.marks:
            self.index.erase_removed()

    def _lines(self, session_ids: Sequence[str]) -> Iterator[Batch]:
        reached = self.index.lines_reached(session_ids)
        return self._past.lines_after(self._agent_id, reached)

    def _read_everything(self, changes: FeedChanges, session_ids: tuple[str, ...]) -> None:
        """Read all documents and all new lines, and remove documents that are gone."""
        now, seen = self._clock.now(), self.index.progress()
        if seen.at is not None and seen.at < now - COPIES_KEPT:
            self.begin_anew()
            seen = IndexProgress()
        since = replace(seen, kept={}, at=None)
        told = BackfillReader(self._past.new_batches(self._agent_id, since, *session_ids))
        index_sqlite_search_in_parts(self.index, told, seen.at or UNFINISHED, now)
        gone = tuple(each for each in self.index.row_keys() - told.kept if self._is_gone(*each))
        self.index.take([Batch(gone=gone)], now)
        self._reach(changes.position, now)
        if told.mark > seen.mark:
            self.index.erase_removed()
        if self._earlier.newest(self._agent_id) is not None:
            self._earlier.remove(self._agent_id)

    def _is_gone(self, kind: RowKind, ref: str) -> bool:
        return self._past.row_named(self._agent_id, kind, ref) is None

    def _reach(self, position: str, now: datetime) -> None:
        self.index.take([Batch(kind=FEED, last_id=position)], now)
