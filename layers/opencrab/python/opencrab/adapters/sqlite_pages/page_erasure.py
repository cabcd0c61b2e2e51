"""Erases removed rows from a SQLite file that is in use: they are in no file any more.

Whoever writes meanwhile waits only for one step, which clears a bounded number of pages.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from opencrab.adapters.sqlite_pages.page_space import DatabasePages, sqlite_pages_in_log
from opencrab.domain.errors import Unavailable

STEP_PAGES = 128
"""The pages that one step clears while others wait."""

_LOOKED_AT = 2_000
"""The pages that one step reads for that: most of those that others wrote need nothing."""

_RELEASED_BYTES, _RELEASES = 262_144, 200
_MOST_FREE = 4
"""One free page in four is kept: most are used again."""

_BUSY_MS = 20
_WAIT_SECONDS = 0.02


class _Items(Protocol):
    @property
    def connection(self) -> sqlite3.Connection: ...


Transaction = Callable[[], AbstractContextManager[_Items]]
"""Opens a write transaction."""


@dataclass
class PageErasure:
    """The erasure in one file; `lock` is held by whoever writes, with `writer` or one of `others`.

    `descriptor` is the file, open for reading and writing. It may be closed only after all
    connections of this process: to close it earlier would release SQLite's own locks.
    """

    path: Path
    descriptor: int
    writer: sqlite3.Connection
    others: tuple[sqlite3.Connection, ...]
    lock: AbstractContextManager[object]
    connect: Callable[[], sqlite3.Connection]
    patience_seconds: float

    def __post_init__(self) -> None:
        self._pause = threading.Event()
        self._log = self.path.with_name(f"{self.path.name}-wal")
        page_bytes = self.writer.execute("PRAGMA page_size").fetchone()[0]
        self.file = DatabasePages(self.descriptor, page_bytes)

    def run(self, has_removed_rows: Callable[[sqlite3.Connection], bool]) -> bool:
        """Clear what was removed until now from the file and its log; raise Unavailable.

        Only one thread at a time may do so.

        A file without auto-vacuum was made by an older version, whose free pages may contain
        removed rows: once, it is written anew as a whole, while all others wait. So is a file that
        `has_removed_rows`, which an older version wrote to since. Returns whether that was done.
        """
        with closing(self.connect()) as reader:
            has_map = bool(reader.execute("PRAGMA auto_vacuum").fetchone()[0])
            if anew := not has_map or has_removed_rows(reader):
                with self.lock:
                    self.writer.execute("PRAGMA auto_vacuum=INCREMENTAL")
                    self.writer.execute("VACUUM")
            reader.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._step(reader, set())
            # The reader keeps the file as it is: until the next step all writes go to the log.
            left = set(self.file.find())
            while left:
                self._step(reader, left)
                # Here nobody waits; emptying the log would do it while others wait.
                os.fsync(self.file.descriptor)
            return anew

    def _step(self, reader: sqlite3.Connection, left: set[int]) -> None:
        """Empty the log, then clear some of the pages that are left, as soon as that is possible.

        A page that was written since the last step may have been moved, so it is left, too. The
        reader begins to read at the end of each step, so that the log still names these pages.
        """
        until = time.monotonic() + self.patience_seconds
        while True:
            with self.lock:
                left |= self._pages_in_log()
                _end_reading(reader)
                try:
                    if self._empty_log():
                        self._clear(left)
                        return
                finally:
                    _begin_reading(reader)
            if time.monotonic() > until:
                raise Unavailable(
                    f"database file {str(self.path)!r} is being read by another process, so "
                    "removed data cannot be purged",
                    cure="try again in a few seconds",
                )
            self._pause.wait(_WAIT_SECONDS)

    def _empty_log(self) -> bool:
        self.writer.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        try:
            busy = self.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            self.writer.execute(f"PRAGMA busy_timeout={int(self.patience_seconds * 1_000)}")
        return not busy

    def _clear(self, left: set[int]) -> None:
        # No other process may write between the log was emptied and the last page is cleared.
        self.writer.execute("BEGIN IMMEDIATE")
        try:
            if not self._log.stat().st_size:
                cleared = 0
                for _ in range(min(_LOOKED_AT, len(left))):
                    cleared += self.file.clear(left.pop())
                    if cleared == STEP_PAGES:
                        return
        finally:
            self.writer.execute("ROLLBACK")
            # The writer would write the pages that it remembers back as they were. Emptying the log
            # makes the others forget theirs; SQLite does not promise that, so they are told to.
            for each in (self.writer, *self.others):
                each.execute("PRAGMA shrink_memory")

    def _pages_in_log(self) -> set[int]:
        descriptor = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return sqlite_pages_in_log(descriptor, self.file.page_bytes)
        finally:
            os.close(descriptor)


def release_free_sqlite_pages(transaction: Transaction) -> None:
    """Give free pages back to the disk, if many are free, a few in each transaction."""
    for _ in range(_RELEASES):
        with transaction() as items:
            if not _release_some(items.connection):
                return


def _release_some(connection: sqlite3.Connection) -> bool:
    free, pages, page_bytes = (
        connection.execute(f"PRAGMA {each}").fetchone()[0]
        for each in ("freelist_count", "page_count", "page_size")
    )
    released = _RELEASED_BYTES // page_bytes
    if free * _MOST_FREE <= pages or free < released:
        return False
    for _ in range(released):
        # SQLite gives back one page in each step, and Python steps a statement without rows once.
        connection.execute("PRAGMA incremental_vacuum(1)")
    left = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return bool(left < free)


def _begin_reading(reader: sqlite3.Connection) -> None:
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _end_reading(reader: sqlite3.Connection) -> None:
    if reader.in_transaction:
        reader.execute("ROLLBACK")
