"""Items of the SQLite file, and the transactions that read and write them: rows by two keys.

Everything that one transaction passes lies here, up to its commit and those who wait for it: each
step of a turn comes this way many times.
"""

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from queue import Empty, LifoQueue
from zlib import crc32

from opencrab.adapters.sqlite.file import (
    DamagedDatabase,
    explain_sqlite_error,
    is_sqlite_disk_fault,
)
from opencrab.adapters.sqlite.marker import COUNT_COMMIT, Commits
from opencrab.adapters.sqlite.transaction.write_batch import (
    AlreadyThere,
    FeedItem,
    ItemRow,
    Place,
    WriteBatch,
)
from opencrab.domain.errors import OpenCrabError

FEED = "feed"
DOCUMENTS = "FACT#"
"""How the partitions of documents begin."""

_ITEM = "SELECT pk, sk, body FROM item WHERE pk=? AND sk=?"
_IN_PLACE = (
    "ON CONFLICT (pk, sk) DO UPDATE SET body=excluded.body, listing=excluded.listing, "
    "due_list=excluded.due_list, due_at=excluded.due_at, expires_at=excluded.expires_at"
)
"""A row stays on its page and only indexes that know it are written; REPLACE would move it."""

_BODY_IN_PLACE = "ON CONFLICT (pk, sk) DO UPDATE SET body=excluded.body"
"""No index knows a body, so none is written."""

_STEP = 64

_COMPOUND = 400
"""SQLite takes no more than 500 parts in a compound SELECT."""


class SqliteItems:
    """Reads and writes of items on one connection, atomic inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.execute = connection.execute
        self.touched: set[str] = set()
        self.documents: list[Place] = []

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
        self._insert([ItemRow(pk, sk, body, listing, due, expires_at)], _IN_PLACE)

    def add(self, *rows: ItemRow) -> None:
        """Insert items, all of them or none; raise AlreadyThere if one exists."""
        self.write(WriteBatch(new=list(rows)))

    def write(self, batch: WriteBatch) -> None:
        """Write a batch; raise AlreadyThere, before anything is written, if a new item exists."""
        if batch.new:
            try:
                self._insert(batch.new)
            except sqlite3.IntegrityError as error:
                raise AlreadyThere(self._first_there(batch.new)) from error
        if batch.put:
            # One statement more would cost more than the index of listings.
            self._insert([*batch.put, *batch.bodies], _IN_PLACE)
        elif batch.bodies:
            self._insert(batch.bodies, _BODY_IN_PLACE)
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

    def _insert(self, rows: Sequence[ItemRow], conflict: str = "") -> None:
        values: list[str | int | None] = []
        for pk, sk, body, listing, due, expires_at, room in rows:
            # A row that keeps its size is overwritten where it lies; one that grows moves its
            # neighbours, and a commit writes the pages of all of them.
            values += (
                pk,
                sk,
                body.ljust(max(room, -(-len(body) // _STEP) * _STEP)) if room else body,
            )
            if pk.startswith(DOCUMENTS):
                self.documents.append((pk, sk))
            values.append(listing)
            values += (None, None) if due is None else (due[0], sqlite_milliseconds(due[1]))
            values.append(None if expires_at is None else sqlite_milliseconds(expires_at))
        marks = ",".join(["(?,?,?,?,?,?,?)"] * len(rows))
        self.execute(f"INSERT INTO item VALUES {marks} {conflict}", values)  # noqa: S608 - marks

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


class ReaderItems(SqliteItems):
    """Items on a connection that goes back to whom it is from at the end of a `with` block."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        give_back: Callable[["ReaderItems"], None],
    ) -> None:
        super().__init__(connection)
        self._path, self._give_back = path, give_back

    def __enter__(self) -> SqliteItems:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Give the connection back; raise an error of SQLite as one that names the file."""
        self._give_back(self)
        if isinstance(error, sqlite3.Error | UnicodeDecodeError):
            raise explain_sqlite_error(self._path, error) from error


class ChangeTopic:
    """A counter that grows with each commit to one topic, and a condition to wait for that."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.generation = 0

    def advance(self) -> None:
        """Count a commit and wake all waiting threads."""
        with self._changed:
            self.generation += 1
            self._changed.notify_all()

    def wait(self, generation: int, seconds: float) -> bool:
        """Block until the counter differs from `generation`; False after the timeout in seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self.generation != generation, seconds)


class CountedCommits:
    """Counts a writer's commits, in the database and in its marker; callers hold the write lock."""

    def __init__(self, path: Path, counted: Commits, descriptor: int) -> None:
        self._path, self._file = path, path.stat()
        self._counted, self._commits = counted, counted.commits
        self._descriptor = descriptor
        self._lost: DamagedDatabase | None = None

    def commit(self, connection: sqlite3.Connection, *, counted: bool = True) -> None:
        """Commit; raises DamagedDatabase, with nothing committed, once a file is lost.

        Not `counted` are those of which nobody was told: a power failure may take them.
        """
        if self._lost is not None:
            raise self._lost
        try:
            found = os.stat(self._path)  # noqa: PTH116 - a third of the time of Path.stat
        except OSError:
            found = None
        if found is None or found.st_ino != self._file.st_ino or found.st_dev != self._file.st_dev:
            connection.execute("ROLLBACK")
            raise self._lose()
        if not counted:
            connection.execute("COMMIT")
            return
        connection.execute(COUNT_COMMIT, (self._commits + 1,))
        connection.execute("COMMIT")
        # Only now: a marker that leads would make a sound database look damaged.
        self._commits += 1
        write_sqlite_marker(self._descriptor, self._counted._replace(commits=self._commits))

    def _lose(self) -> DamagedDatabase:
        """Note that the file was lost, and return the error."""
        raise NotImplementedError


class SqliteTransactions:
    """The transactions of an open file: one writer behind a lock, and pooled readers."""

    path: Path
    _guard: CountedCommits
    _writes: SqliteItems
    _relaxed: SqliteItems
    _open: Callable[[], sqlite3.Connection]

    def __init__(self, most_documents: int) -> None:
        self._write_lock = threading.Lock()
        self._fault: OpenCrabError | None = None
        self._readers: LifoQueue[ReaderItems] = LifoQueue()
        self._topics: dict[str, ChangeTopic] = {}
        self._documents: deque[Place] = deque(maxlen=most_documents)
        self._documents_stored = 0

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
                writes.documents.clear()
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
                # Once they are committed, and before anybody learns of it.
                self._documents.extend(writes.documents)
                self._documents_stored += len(writes.documents)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                _roll_back(connection)
                explained = explain_sqlite_error(self.path, error)
                if is_sqlite_disk_fault(error):
                    self._fault = explained
                raise explained from error
            except BaseException:
                _roll_back(connection)
                raise
        # Only now: whoever is woken before the commit finds nothing, and sleeps on.
        for name in touched:
            if (topic := self._topics.get(name)) is not None:
                topic.advance()

    def read_transaction(self) -> ReaderItems:
        """Borrow a reader connection for a `with` block; it sees all earlier commits."""
        try:
            return self._readers.get_nowait()
        except Empty:
            return ReaderItems(self._open(), self.path, self._readers.put)


def write_sqlite_marker(descriptor: int, commits: Commits) -> None:
    """Record a number of commits; a failure is ignored, since a marker may lag behind."""
    said = f"opencrab-commit {commits.database_id} {commits.commits:020d}".encode()
    with suppress(OSError):
        os.pwrite(descriptor, b"%b %08x\n" % (said, crc32(said)), 0)


def _roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def sqlite_milliseconds(moment: datetime) -> int:
    """Return a time as integer milliseconds since 1970."""
    return int(moment.timestamp() * 1000)
