"""The SQLite file while it is open: what it opens, removes and closes.

Everything that DynamoDB would keep as an item is a row of `item`; a transaction here is one
conditional transaction there (`transaction/items.py`). It knows nothing of agents or turns.
"""

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty

from opencrab.adapters.sqlite.file import (
    connect_sqlite_database,
    explain_sqlite_error,
    hold_database_file,
    make_database_file,
    require_sound_sqlite_file,
)
from opencrab.adapters.sqlite.guard import CommitGuard
from opencrab.adapters.sqlite.marker import ALL_OVERWRITTEN, has_removed_rows, read_sqlite_marker
from opencrab.adapters.sqlite.transaction.items import (
    FEED,
    ChangeTopic,
    ReaderItems,
    SqliteItems,
    SqliteTransactions,
    sqlite_milliseconds,
)
from opencrab.adapters.sqlite.transaction.write_batch import (
    AlreadyThere,
    FeedItem,
    ItemRow,
    Place,
    WriteBatch,
)
from opencrab.domain.errors import OpenCrabError, Unavailable

__all__ = [
    "FEED",
    "AlreadyThere",
    "ChangeTopic",
    "Database",
    "FeedItem",
    "ItemRow",
    "Place",
    "SqliteItems",
    "WriteBatch",
    "sqlite_milliseconds",
]

_PURGES = 20
_PURGED_AT_ONCE = 1_000
_PURGE_ITEMS = (
    "DELETE FROM item WHERE (pk, sk) IN (SELECT pk, sk FROM item WHERE expires_at<=? LIMIT ?)"
)
_PURGE_SENT = (
    "DELETE FROM sent WHERE (queue, deduplication) IN "
    "(SELECT queue, deduplication FROM sent WHERE until<=? LIMIT ?)"
)
_PURGE_FEED = (
    "DELETE FROM feed WHERE at<=? AND position<(SELECT max(position) FROM feed) AND position IN "
    "(SELECT position FROM feed WHERE position>0 ORDER BY position LIMIT ?)"
)
"""The feed has no index of times: its oldest entries are its first. The newest stays, so that who
has followed the feed up to it finds, also after days, that nothing was missed."""


MOST_STORED_DOCUMENTS = 4_096
"""Whoever asks for more than these looks through all documents."""


class Database(SqliteTransactions):
    """One open SQLite file. `durable=False` trades crash safety for speed, for tests only.

    `patience_seconds` is the timeout for a lock that another program holds. `last_alive` is when
    the process that held the file before last called `alive`. `flush` writes what an adapter keeps
    in memory.
    """

    _guard: CommitGuard

    def __init__(self, path: Path, *, durable: bool = True, patience_seconds: float = 5.0) -> None:
        super().__init__(MOST_STORED_DOCUMENTS)
        self.path = path
        self._durable = durable
        self._patience_seconds = patience_seconds
        self._scrubbing = threading.Lock()
        self.flush: Callable[[], None] = lambda: None
        self._lock_file = hold_database_file(path)
        self.last_alive = datetime.fromtimestamp(os.fstat(self._lock_file).st_mtime, UTC)
        try:
            self._prepare()
            self._writer = self._open()
            self._writes = SqliteItems(self._writer)
            self._guard = self._guarded()
            self._relaxed = SqliteItems(self._open(waits=False)) if durable else self._writes
            # The first reader is opened with the file, so that no message waits for it.
            self._readers.put(ReaderItems(self._open(), path, self._readers.put))
            # Closed last: to close it earlier would release SQLite's own locks.
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except BaseException:
            os.close(self._lock_file)
            raise

    def fault(self) -> OpenCrabError | None:
        """Return the error of the last write if the disk was full or broken, else None."""
        return self._fault

    def topic(self, name: str) -> ChangeTopic:
        """Return the topic of one kind of change, created on first use."""
        return self._topics.get(name) or self._topics.setdefault(name, ChangeTopic())

    def moment(self) -> int:
        """Return a number that grows with each document that is committed; at least 1."""
        return self._documents_stored + 1

    def documents_stored_since(self, moment: int) -> set[Place] | None:
        """Return the places of documents committed after a moment; None if too many were."""
        with self._write_lock:
            count = self._documents_stored + 1 - moment
            known = list(self._documents)
        return None if moment < 1 or count > len(known) else set(known[len(known) - count :])

    def purge(self, now: int, feed_before: int) -> None:
        """Delete expired items, a bounded number per call, in transactions of a few ms."""
        for _ in range(_PURGES):
            if self._purge_some(now, feed_before) < _PURGED_AT_ONCE:
                return

    def _purge_some(self, now: int, feed_before: int) -> int:
        """Delete one round of expired rows; return the largest number deleted from one table."""
        with self.write_transaction() as items:
            return max(
                items.execute(statement, (moment, _PURGED_AT_ONCE)).rowcount
                for statement, moment in (
                    (_PURGE_ITEMS, now),
                    (_PURGE_SENT, now),
                    (_PURGE_FEED, feed_before),
                )
            )

    def scrub(self) -> None:
        """Clear data that was removed until now from the file and its log, in short steps."""
        from opencrab.adapters.sqlite_pages.page_erasure import PageErasure  # noqa: PLC0415 - seldom needed

        erasure = PageErasure(
            self.path,
            self._file,
            self._writer,
            (self._relaxed.connection,),
            lock=self._write_lock,
            connect=self._open,
            patience_seconds=self._patience_seconds,
        )
        try:
            with self._scrubbing:
                if erasure.run(has_removed_rows):
                    with self.write_transaction() as items:
                        items.execute(ALL_OVERWRITTEN)
        except (sqlite3.Error, OSError) as error:
            raise explain_sqlite_error(self.path, error) from error

    def alive(self, now: datetime) -> None:
        """Record that this process lives, as the lock file's modification time, without a write.

        Looks after the files beside the database, too.
        """
        with suppress(OSError):
            os.utime(self._lock_file, (now.timestamp(), now.timestamp()))
        with self._write_lock:
            self._guard.look()

    def close(self) -> None:
        """Write what is kept in memory, close every connection and release the file lock."""
        with suppress(OpenCrabError):
            self.flush()
        while True:
            try:
                self._readers.get_nowait().connection.close()
            except Empty:
                break
        with self._write_lock:
            self._relaxed.connection.close()
            self._writer.close()
            self._guard.close()
            os.close(self._file)
        os.close(self._lock_file)

    def _prepare(self) -> None:
        try:
            marker = read_sqlite_marker(self.path)
            if not self.path.exists():
                make_database_file(self.path, durable=self._durable, marker=marker)
            require_sound_sqlite_file(
                self.path, patience_seconds=self._patience_seconds, marker=marker
            )
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise explain_sqlite_error(self.path, error) from error
        except OSError as error:
            raise Unavailable(
                f"database file {str(self.path)!r} cannot be used: {error.strerror}",
                cure="check that the directory exists, is writable and has space",
            ) from error

    def _guarded(self) -> CommitGuard:
        try:
            return CommitGuard(self.path, self._writer, durable=self._durable)
        except (sqlite3.Error, OSError) as error:
            self._writer.close()
            raise explain_sqlite_error(self.path, error) from error

    def _open(self, *, waits: bool = True) -> sqlite3.Connection:
        try:
            return connect_sqlite_database(
                self.path,
                durable=self._durable,
                patience_seconds=self._patience_seconds,
                waits=waits,
            )
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise explain_sqlite_error(self.path, error) from error
