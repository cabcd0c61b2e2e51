"""The SQLite file: one writer behind a lock, pooled readers, items by partition and sort key.

Everything that DynamoDB would keep as an item is a row of `item`; a transaction here is one
conditional transaction there. It knows nothing of agents or turns.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from queue import Empty, LifoQueue
from typing import NamedTuple

from opencrab.adapters.sqlite.file import (
    connect_database,
    explain_sqlite_error,
    hold_database_file,
    inspect_database_file,
    make_database_file,
)
from opencrab.domain.errors import Unavailable

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
_LAST_KEY = "SELECT sk FROM item WHERE pk=? AND sk>=? AND sk<? ORDER BY sk DESC LIMIT 1"
_COMPOUND = 400
"""SQLite takes no more than 500 parts in a compound SELECT."""

Place = tuple[str, str]
"""Partition key and sort key."""


class ItemRow(NamedTuple):
    """An item as it is written; one that is due is in that list, at its time."""

    pk: str
    sk: str
    body: str
    listing: str | None = None
    due: tuple[str, datetime] | None = None
    expires_at: datetime | None = None


class FeedItem(NamedTuple):
    """An entry of the change feed; without a time of its own it has that of the newest one."""

    at: datetime | None
    kind: str
    session_id: str
    turn_id: str | None
    body: str


@dataclass
class WriteBatch:
    """What a transaction writes: items that must be new, items, whole partitions that expire."""

    new: list[ItemRow] = field(default_factory=list)
    put: list[ItemRow] = field(default_factory=list)
    removed: list[Place] = field(default_factory=list)
    expiring: list[tuple[str, datetime]] = field(default_factory=list)
    feed: list[FeedItem] = field(default_factory=list)


class AlreadyThere(Exception):
    """An item that must be new is stored already."""

    def __init__(self, place: Place) -> None:
        super().__init__("/".join(place))
        self.place = place


class Items:
    """Reads and writes of items on one connection; inside a transaction they belong together."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.execute = connection.execute
        self.touched: set[str] = set()

    def get(self, pk: str, sk: str) -> str | None:
        """An item's body, or None."""
        row = self.execute("SELECT body FROM item WHERE pk=? AND sk=?", (pk, sk)).fetchone()
        return row[0] if row else None

    def several(self, places: Sequence[Place]) -> dict[Place, str]:
        """Bodies of those items that there are, in one statement for 400."""
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
        """Sort keys and bodies with low <= sk < high."""
        order = "DESC" if newest_first else "ASC"
        return self.execute(
            f"SELECT sk, body FROM item WHERE pk=? AND sk>=? AND sk<? ORDER BY sk {order} LIMIT ?",  # noqa: S608 - order is a constant
            (pk, low, high, limit),
        ).fetchall()

    def last_key(self, pk: str, low: str, high: str) -> str | None:
        """The greatest sort key with low <= sk < high."""
        row = self.execute(_LAST_KEY, (pk, low, high)).fetchone()
        return row[0] if row else None

    def listed(self, listing: str, *, after: str, limit: int) -> list[str]:
        """Bodies of a listing in order of their partition keys."""
        rows = self.execute(
            "SELECT body FROM item WHERE listing=? AND pk>? ORDER BY pk LIMIT ?",
            (listing, after, limit),
        )
        return [row[0] for row in rows]

    def overdue(self, due_list: str, now: datetime, limit: int) -> list[str]:
        """Bodies of a due list whose time is before now, oldest first."""
        rows = self.execute(
            "SELECT body FROM item WHERE due_list=? AND due_at<=? ORDER BY due_at LIMIT ?",
            (due_list, to_milliseconds(now), limit),
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
        """Write an item, whether or not it is there."""
        self._insert("INSERT OR REPLACE", [ItemRow(pk, sk, body, listing, due, expires_at)])

    def add(self, *rows: ItemRow) -> None:
        """Write items that are not there yet: all, or none and AlreadyThere."""
        self.write(WriteBatch(new=list(rows)))

    def write(self, batch: WriteBatch) -> None:
        """Write all of a batch; raises AlreadyThere before anything of it is written."""
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
                "UPDATE item SET expires_at=? WHERE pk=?", (to_milliseconds(expires_at), pk)
            )
        if batch.feed:
            self._tell(batch.feed)

    def delete(self, pk: str, sk: str) -> None:
        """Remove an item, if it is there."""
        self.execute("DELETE FROM item WHERE pk=? AND sk=?", (pk, sk))

    def _first_there(self, rows: Sequence[ItemRow]) -> Place:
        # SQLite undoes the whole statement, but does not tell which of its rows was the one.
        places = [(row.pk, row.sk) for row in rows]
        found = self.several(places)
        return next((place for place in places if place in found), places[0])

    def _insert(self, verb: str, rows: Sequence[ItemRow]) -> None:
        values: list[str | int | None] = []
        for pk, sk, body, listing, due, expires_at in rows:
            values += (pk, sk, body, listing)
            values += (None, None) if due is None else (due[0], to_milliseconds(due[1]))
            values.append(None if expires_at is None else to_milliseconds(expires_at))
        marks = ",".join(["(?,?,?,?,?,?,?)"] * len(rows))
        self.execute(f"{verb} INTO item VALUES {marks}", values)

    def _tell(self, entries: Sequence[FeedItem]) -> None:
        self.touched.add(FEED)
        values: list[str | int | None] = []
        newest: int | None = None
        for at, *rest in entries:
            if at is not None:
                newest = to_milliseconds(at)
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


class ChangeTopic:
    """A number that grows with each commit that touched one thing, and a way to wait for that."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.generation = 0

    def advance(self) -> None:
        """Tell that it was touched."""
        with self._changed:
            self.generation += 1
            self._changed.notify_all()

    def wait(self, generation: int, seconds: float) -> bool:
        """Block until it was touched after a generation; False after the wait."""
        with self._changed:
            return self._changed.wait_for(lambda: self.generation != generation, seconds)


class Database:
    """One open file. `durable=False` trades crash safety for speed, for tests only.

    Another program that holds the file is waited for, for `patience_seconds`. `last_alive` is when
    the process that held it before last said that it lives, as `alive` does.
    """

    def __init__(self, path: Path, *, durable: bool = True, patience_seconds: float = 5.0) -> None:
        self.path = path
        self._durable = durable
        self._patience_seconds = patience_seconds
        self._write_lock = threading.Lock()
        self._readers: LifoQueue[Items] = LifoQueue()
        self._topics: dict[str, ChangeTopic] = {}
        self._lock_file = hold_database_file(path)
        self.last_alive = datetime.fromtimestamp(os.fstat(self._lock_file).st_mtime, UTC)
        try:
            self._prepare()
            self._writer = self._open()
            self._writes = Items(self._writer)
        except BaseException:
            os.close(self._lock_file)
            raise

    @contextmanager
    def writing(self) -> Iterator[Items]:
        """One transaction: all of it, or nothing when the block raises."""
        with self._write_lock:
            try:
                self._writes.touched.clear()
                # The file's lock is taken before the first read. A transaction that reads first and
                # then finds that others wrote is refused, and would have to begin anew (ADR 0006).
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writes
                self._writer.execute("COMMIT")
                touched = tuple(self._writes.touched)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                self._roll_back()
                raise explain_sqlite_error(self.path, error) from error
            except BaseException:
                self._roll_back()
                raise
        # Only now: whoever is woken before the commit finds nothing, and sleeps on.
        for topic in touched:
            self.topic(topic).advance()

    @contextmanager
    def reading(self) -> Iterator[Items]:
        """One reader; what was committed before is visible."""
        try:
            items = self._readers.get_nowait()
        except Empty:
            items = Items(self._open())
        try:
            yield items
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise explain_sqlite_error(self.path, error) from error
        finally:
            self._readers.put(items)

    def topic(self, name: str) -> ChangeTopic:
        """What wakes those who wait for one kind of change, and nobody else."""
        return self._topics.get(name) or self._topics.setdefault(name, ChangeTopic())

    def purge(self, now: int, feed_before: int) -> None:
        """Remove what has expired; a bounded amount each time, in transactions of a few ms."""
        for _ in range(_PURGES):
            if self._purge_some(now, feed_before) < _PURGED_AT_ONCE:
                return

    def _purge_some(self, now: int, feed_before: int) -> int:
        """How many rows went from the table that lost most."""
        with self.writing() as items:
            return max(
                items.execute(statement, (moment, _PURGED_AT_ONCE)).rowcount
                for statement, moment in (
                    (_PURGE_ITEMS, now),
                    (_PURGE_SENT, now),
                    (_PURGE_FEED, feed_before),
                )
            )

    def rewrite(self) -> None:
        """Write the file anew with nothing but what it holds, and empty its log.

        Whatever was removed or replaced before stays readable in free pages until then.
        """
        with self._write_lock:
            try:
                self._writer.execute("VACUUM")
                busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.Error as error:
                raise explain_sqlite_error(self.path, error) from error
        if busy:
            raise Unavailable(
                f"database file {str(self.path)!r} is being read by another process, so removed "
                "data cannot be purged",
                cure="try again in a few seconds",
            )

    def alive(self, now: datetime) -> None:
        """Say that this process lives: a file's time, which no crash of ours undoes, no write."""
        with suppress(OSError):
            os.utime(self._lock_file, (now.timestamp(), now.timestamp()))

    def close(self) -> None:
        """Close every connection and give up the file."""
        while True:
            try:
                self._readers.get_nowait().connection.close()
            except Empty:
                break
        with self._write_lock:
            self._writer.close()
        os.close(self._lock_file)

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    def _prepare(self) -> None:
        try:
            if not self.path.exists():
                make_database_file(self.path, durable=self._durable)
            inspect_database_file(self.path, patience_seconds=self._patience_seconds)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise explain_sqlite_error(self.path, error) from error
        except OSError as error:
            raise Unavailable(
                f"database file {str(self.path)!r} cannot be used: {error.strerror}",
                cure="check that the directory exists, is writable and has space",
            ) from error

    def _open(self) -> sqlite3.Connection:
        try:
            return connect_database(
                self.path, durable=self._durable, patience_seconds=self._patience_seconds
            )
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise explain_sqlite_error(self.path, error) from error


def to_milliseconds(moment: datetime) -> int:
    """A time as integer milliseconds since 1970."""
    return int(moment.timestamp() * 1000)
