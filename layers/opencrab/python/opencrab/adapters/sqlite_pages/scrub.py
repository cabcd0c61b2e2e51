"""Scrubs a SQLite file in WAL mode that is in use: what was removed from it is in no file any more.

Whoever writes meanwhile waits only for one step, which clears a bounded number of pages.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

from opencrab.adapters.sqlite_pages.leftovers import PagedFile, pages_in_log
from opencrab.domain.errors import Unavailable

STEP_PAGES = 128
"""The pages that one step clears while others wait."""

_LOOKED_AT = 2_000
"""The pages that one step reads for that: most of those that others wrote need nothing."""

_RELEASED_PAGES = 64
_MOST_FREE = 4
"""One free page in four is kept: most are used again."""

_BUSY_MS = 20
_WAIT_SECONDS = 0.02


class FileScrub:
    """The scrub of one file; `lock` is held by whoever uses `writer`, the only one that writes.

    It keeps a file descriptor until `close`, which comes after all connections are closed: to close
    one earlier would release SQLite's own locks.
    """

    def __init__(
        self,
        path: Path,
        writer: sqlite3.Connection,
        lock: AbstractContextManager[object],
        connect: Callable[[], sqlite3.Connection],
        patience_seconds: float,
    ) -> None:
        self._path, self._log = path, path.with_name(f"{path.name}-wal")
        self._writer, self._lock, self._connect = writer, lock, connect
        self._patience_seconds = patience_seconds
        self._alone, self._pause = threading.Lock(), threading.Event()
        self.file = PagedFile(
            os.open(path, os.O_RDWR | os.O_CLOEXEC),
            writer.execute("PRAGMA page_size").fetchone()[0],
        )

    def run(self) -> None:
        """Clear what was removed until now from the file and its log; raise Unavailable.

        A file without auto-vacuum was made by an older version, whose free pages may contain
        removed rows: once, it is written anew as a whole, while all others wait.
        """
        with self._alone, closing(self._connect()) as reader:
            if reader.execute("PRAGMA auto_vacuum").fetchone()[0] == 0:
                with self._lock:
                    self._writer.execute("PRAGMA auto_vacuum=INCREMENTAL")
                    self._writer.execute("VACUUM")
            reader.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._step(reader, set())
            # The reader keeps the file as it is: until the next step all writes go to the log.
            left = set(self.file.find())
            while left:
                self._step(reader, left)
                # Here nobody waits; emptying the log would do it while others wait.
                os.fsync(self.file.descriptor)

    def close(self) -> None:
        """Close the file."""
        os.close(self.file.descriptor)

    def _step(self, reader: sqlite3.Connection, left: set[int]) -> None:
        """Empty the log, then clear some of the pages that are left, as soon as that is possible.

        A page that was written since the last step may have been moved, so it is left, too. The
        reader begins to read at the end of each step, so that the log still names these pages.
        """
        until = time.monotonic() + self._patience_seconds
        while True:
            with self._lock:
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
                    f"database file {str(self._path)!r} is being read by another process, so "
                    "removed data cannot be purged",
                    cure="try again in a few seconds",
                )
            self._pause.wait(_WAIT_SECONDS)

    def _empty_log(self) -> bool:
        self._writer.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        try:
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            self._writer.execute(f"PRAGMA busy_timeout={int(self._patience_seconds * 1_000)}")
        return not busy

    def _clear(self, left: set[int]) -> None:
        # No other process may write between the log was emptied and the last page is cleared.
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            if not self._log.stat().st_size:
                cleared = 0
                for _ in range(min(_LOOKED_AT, len(left))):
                    cleared += self.file.clear(left.pop())
                    if cleared == STEP_PAGES:
                        return
        finally:
            self._writer.execute("ROLLBACK")
            # The writer would write the pages that it remembers back as they were.
            self._writer.execute("PRAGMA shrink_memory")

    def _pages_in_log(self) -> set[int]:
        descriptor = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return pages_in_log(descriptor, self.file.page_bytes)
        finally:
            os.close(descriptor)


def release_some_pages(connection: sqlite3.Connection) -> bool:
    """Give some free pages back to the disk, if many are free; return whether it did."""
    free, pages = (
        connection.execute(f"PRAGMA {each}").fetchone()[0]
        for each in ("freelist_count", "page_count")
    )
    if free * _MOST_FREE <= pages or free < _RELEASED_PAGES:
        return False
    connection.execute(f"PRAGMA incremental_vacuum({_RELEASED_PAGES})").fetchall()
    left = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return bool(left < free)


def _begin_reading(reader: sqlite3.Connection) -> None:
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _end_reading(reader: sqlite3.Connection) -> None:
    if reader.in_transaction:
        reader.execute("ROLLBACK")
