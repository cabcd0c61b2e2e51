"""The SQLite file: one writer behind a lock, pooled readers, items by partition and sort key.

Everything that DynamoDB would keep as an item is a row of `item`; a transaction here is one
conditional transaction there. It knows nothing of agents or turns.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from queue import Empty, LifoQueue

from opencrab.adapters.sqlite.file import (
    connect_sqlite_database,
    explain_sqlite_error,
    hold_database_file,
    is_disk_fault,
    make_database_file,
    require_sound_sqlite_file,
)
from opencrab.adapters.sqlite.guard import CommitGuard
from opencrab.adapters.sqlite.marker import ALL_OVERWRITTEN, has_removed_rows, read_sqlite_marker
from opencrab.adapters.sqlite.transaction.topic import ChangeTopic
from opencrab.adapters.sqlite.write_batch import (
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
    "DELETE FROM feed WHERE at<=? AND position IN "
    "(SELECT position FROM feed WHERE position>0 ORDER BY position LIMIT ?)"
)
"""The feed has no index of times: its oldest entries are its first."""


FEED = "feed"

_ITEM = "SELECT pk, sk, body FROM item WHERE pk=? AND sk=?"
_COMPOUND = 400
"""SQLite takes no more than 500 parts in a compound SELECT."""


class SqliteItems:
    """Reads and writes of items on one connection, atomic inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.execute = connection.execute
        self.touched: set[str] = set()

    def get(self, pk: str, sk: str) -> str | None:
        """Return an item's body by its key; None if it does not exist."""
        row = self.execute("SELECT body FROM item WHERE pk=? AND sk=?", (pk, sk)).fetchone()
        return row[0] if row else None

    def get_many(self, places: Sequence[Place]) -> dict[Place, str]:
        """Return the bodies of those items that exist, with one statement per 400 keys."""
        found: dict[Place, str] = {}
        for start in range(0, len(places), _COMPOUND):
            some = places[start : start + _COMPOUND]
            statement = " UNION ALL ".join([_ITEM] * len(some))
            rows = self.execute(statement, tuple(chain.from_iterable(some)))
            found |= {(pk, sk): body for pk, sk, body in rows}
        return found

    def between(
        self, pk: str, low: str, high: str, *, limit: int = -1, newest_first: bool = False
    ) -> list[tuple[str, str]]:
        """Return sort keys and bodies with low <= sk < high; a limit of -1 means no limit."""
        order = "DESC" if newest_first else "ASC"
        return self.execute(
            f"SELECT sk, body FROM item WHERE pk=? AND sk>=? AND sk<? ORDER BY sk {order} LIMIT ?",  # noqa: S608 - order is a constant
            (pk, low, high, limit),
        ).fetchall()

    def query_listing(self, listing: str, *, after: str, limit: int) -> list[str]:
        """Return the bodies of a listing, in order of their partition keys."""
        rows = self.execute(
            "SELECT body FROM item WHERE listing=? AND pk>? ORDER BY pk LIMIT ?",
            (listing, after, limit),
        )
        return [row[0] for row in rows]

    def query_due(self, due_list: str, now: datetime, limit: int) -> list[str]:
        """Return the bodies of a due list whose time is not after now, oldest first."""
        rows = self.execute(
            "SELECT body FROM item WHERE due_list=? AND due_at<=? ORDER BY due_at LIMIT ?",
            (due_list, sqlite_milliseconds(now), limit),
        )
        return [row[0] for row in rows]

    def put(
        self,
        pk: str,
        sk: str,
        body: str,
        *,
        listing: str | None = None,
        due: tuple[str, datetime] | None = None,
        expires_at: datetime | None = None,
    ) -> None:
        """Write an item, replacing one with the same key."""
        self._insert("INSERT OR REPLACE", [ItemRow(pk, sk, body, listing, due, expires_at)])

    def add(self, *rows: ItemRow) -> None:
        """Insert items, all of them or none; raise AlreadyThere if one exists."""
        self.write(WriteBatch(new=list(rows)))

    def write(self, batch: WriteBatch) -> None:
        """Write a batch; raise AlreadyThere, before anything is written, if a new item exists."""
        if batch.new:
            try:
                self._insert("INSERT", batch.new)
            except sqlite3.IntegrityError as error:
                raise AlreadyThere(self._first_there(batch.new)) from error
        if batch.put:
            self._insert("INSERT OR REPLACE", batch.put)
        for pk, sk in batch.removed:
            self.delete(pk, sk)
        for pk, expires_at in batch.expiring:
            # After the rows of this batch are there: a partition expires as a whole.
            self.execute(
                "UPDATE item SET expires_at=? WHERE pk=?", (sqlite_milliseconds(expires_at), pk)
            )
        if batch.feed:
            self._tell(batch.feed)

    def delete(self, pk: str, sk: str) -> None:
        """Delete an item, if it exists."""
        self.execute("DELETE FROM item WHERE pk=? AND sk=?", (pk, sk))

    def _first_there(self, rows: Sequence[ItemRow]) -> Place:
        # SQLite undoes the whole statement, but does not tell which of its rows was the one.
        places = [(row.pk, row.sk) for row in rows]
        found = self.get_many(places)
        return next((place for place in places if place in found), places[0])

    def _insert(self, verb: str, rows: Sequence[ItemRow]) -> None:
        values: list[str | int | None] = []
        for pk, sk, body, listing, due, expires_at in rows:
            values += (pk, sk, body, listing)
            values += (None, None) if due is None else (due[0], sqlite_milliseconds(due[1]))
            values.append(None if expires_at is None else sqlite_milliseconds(expires_at))
        marks = ",".join(["(?,?,?,?,?,?,?)"] * len(rows))
        self.execute(f"{verb} INTO item VALUES {marks}", values)

    def _tell(self, entries: Sequence[FeedItem]) -> None:
        self.touched.add(FEED)
        values: list[str | int | None] = []
        newest: int | None = None
        for at, *rest in entries:
            if at is not None:
                newest = sqlite_milliseconds(at)
            elif newest is None:
                newest = self._newest_at()
            values += (newest, *rest)
        # SQLite takes the rows in this order, and so do the readers of the feed.
        marks = ",".join(["(?,?,?,?,?)"] * len(entries))
        self.execute(
            f"INSERT INTO feed (at, kind, session_id, turn_id, body) VALUES {marks}",  # noqa: S608 - question marks
            values,
        )

    def _newest_at(self) -> int:
        row = self.execute("SELECT at FROM feed ORDER BY position DESC LIMIT 1").fetchone()
        return row[0] if row else 0


class Database:
    """One open SQLite file. `durable=False` trades crash safety for speed, for tests only.

    `patience_seconds` is the timeout for a lock that another program holds. `last_alive` is when
    the process that held the file before last called `alive`. `flush` writes what an adapter keeps
    in memory.
    """

    def __init__(self, path: Path, *, durable: bool = True, patience_seconds: float = 5.0) -> None:
        self.path = path
        self._durable = durable
        self._patience_seconds = patience_seconds
        self._write_lock, self._scrubbing = threading.Lock(), threading.Lock()
        self._fault: OpenCrabError | None = None
        self.flush: Callable[[], None] = lambda: None
        self._readers: LifoQueue[SqliteItems] = LifoQueue()
        self._topics: dict[str, ChangeTopic] = {}
        self._lock_file = hold_database_file(path)
        self.last_alive = datetime.fromtimestamp(os.fstat(self._lock_file).st_mtime, UTC)
        try:
            self._prepare()
            self._writer = self._open()
            self._writes = SqliteItems(self._writer)
            self._guard = self._guarded()
            self._relaxed = SqliteItems(self._open(waits=False)) if durable else self._writes
            # Closed last: to close it earlier would release SQLite's own locks.
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except BaseException:
            os.close(self._lock_file)
            raise

    @contextmanager
    def write_transaction(self, *, relaxed: bool = False) -> Iterator[SqliteItems]:
        """Open a write transaction, which is rolled back if the block raises.

        A `relaxed` one does not wait for the disk; the next one that does brings it there, too.
        After a power failure it may be missing, as if the process had died before it (ADR 0039).
        """
        with self._write_lock:
            writes = self._relaxed if relaxed else self._writes
            connection = writes.connection
            try:
                writes.touched.clear()
                # The file's lock is taken before the first read. A transaction that reads first and
                # then finds that others wrote is refused, and would have to begin anew (ADR 0006).
                connection.execute("BEGIN IMMEDIATE")
                changes = connection.total_changes
                yield writes
                if connection.total_changes == changes:
                    connection.execute("COMMIT")
                else:
                    self._guard.commit(connection, counted=not relaxed)
                    self._fault = None
                touched = tuple(writes.touched)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                _roll_back(connection)
                explained = explain_sqlite_error(self.path, error)
                if is_disk_fault(error):
                    self._fault = explained
                raise explained from error
            except BaseException:
                _roll_back(connection)
                raise
        # Only now: whoever is woken before the commit finds nothing, and sleeps on.
        for topic in touched:
            self.topic(topic).advance()

    @contextmanager
    def read_transaction(self) -> Iterator[SqliteItems]:
        """Borrow a reader connection, which sees all earlier commits."""
        try:
            items = self._readers.get_nowait()
        except Empty:
            items = SqliteItems(self._open())
        try:
            yield items
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise explain_sqlite_error(self.path, error) from error
        finally:
            self._readers.put(items)

    def fault(self) -> OpenCrabError | None:
        """Return the error of the last write if the disk was full or broken, else None."""
        return self._fault

    def topic(self, name: str) -> ChangeTopic:
        """Return the topic of one kind of change, created on first use."""
        return self._topics.get(name) or self._topics.setdefault(name, ChangeTopic())

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


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def sqlite_milliseconds(moment: datetime) -> int:
    """Return a time as integer milliseconds since 1970."""
    return int(moment.timestamp() * 1000)
