"""What a power failure leaves: a copy of everything as it was at the last wait for the disk.

A commit that does not wait is in the copy of the next one that does. Files are copied as they are
now, so that a renamed one may be there although what came before it is not.
"""

import shutil
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.file import sqlite_write_ahead_log
from opencrab.adapters.sqlite.home import FILE

_FULL = 2


@dataclass
class Power:
    """Watches a durable database; `fail` answers the folder that a failure now would leave."""

    database: Database
    folder: Path
    kept: Path
    waits: int = 0
    _copies: int = 0
    _written: bool = False
    _last: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._keep()
        for connection in (self.database._writer, self.database._relaxed.connection):
            self._watch(connection)

    def fail(self) -> Path:
        """Copy what is on the disk now to a folder of its own."""
        self._settle()
        self._copies += 1
        left = self.kept / str(self._copies)
        ignored = shutil.ignore_patterns(f"{FILE}*")
        shutil.copytree(self.folder, left, ignore=ignored)
        for name, content in self._last.items():
            (left / name).write_bytes(content)
        # Nobody waits for the marker, and it may be the newest all the same.
        shutil.copy(self.folder / f"{FILE}.last-commit", left)
        return left

    def _watch(self, connection: sqlite3.Connection) -> None:
        waits = connection.execute("PRAGMA synchronous").fetchone()[0] >= _FULL
        before = 0

        def said(statement: str) -> None:
            nonlocal before
            if statement.startswith("BEGIN IMMEDIATE"):
                self._settle()
                before = connection.total_changes
            if statement == "COMMIT" and waits and connection.total_changes > before:
                self._written = True

        connection.set_trace_callback(said)

    def _settle(self) -> None:
        """Keep the files if the last thing that happened to them was a wait for the disk."""
        if self._written:
            self.waits += 1
            self._keep()
        self._written = False

    def _keep(self) -> None:
        places = (self.folder / FILE, sqlite_write_ahead_log(self.folder / FILE))
        self._last = {each.name: each.read_bytes() for each in places if each.exists()}
