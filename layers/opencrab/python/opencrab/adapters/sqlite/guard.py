"""The guard of an open database: no commit is acknowledged once its files are not there any more.

A file that was removed or replaced while it is open can still be written to, and all of that is
gone with the process. So each commit looks whether the file has its name, and when it has lost it,
what the process can still read is saved beside it before anything else is refused.
"""

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from opencrab.adapters.sqlite.file import RESCUED, DamagedDatabase, sqlite_write_ahead_log
from opencrab.adapters.sqlite.marker import Commits, count_sqlite_commits, sqlite_marker_path
from opencrab.adapters.sqlite.transaction.items import CountedCommits, write_sqlite_marker


@dataclass(frozen=True)
class MarkerFile:
    """An open marker."""

    path: Path
    descriptor: int

    @classmethod
    def create(cls, database: Path, commits: Commits, *, durable: bool) -> "MarkerFile":
        """Create or replace a database's marker in one step; raises OSError."""
        path = sqlite_marker_path(database)
        new = path.with_name(f"{path.name}.new")
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        marker = cls(path, os.open(new, flags, 0o600))
        try:
            write_sqlite_marker(marker.descriptor, commits)
            if durable:
                os.fsync(marker.descriptor)
            new.replace(path)
        except BaseException:
            marker.close()
            raise
        return marker

    def is_there(self) -> bool:
        """Check whether the file still has its name."""
        try:
            return os.path.samestat(self.path.lstat(), os.fstat(self.descriptor))
        except OSError:
            return False

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)


class CommitGuard(CountedCommits):
    """Refuses every commit once the file or its log is lost, and saves what can still be read."""

    def __init__(self, path: Path, writer: sqlite3.Connection, *, durable: bool) -> None:
        self._writer = writer
        self._durable = durable
        counted = count_sqlite_commits(writer)
        self._log = _status(sqlite_write_ahead_log(path))
        self._marker = MarkerFile.create(path, counted, durable=durable)
        super().__init__(path, counted, self._marker.descriptor)

    def look(self) -> None:
        """Look after the write-ahead log and the marker; call it about once a second."""
        if self._lost is not None:
            return
        log = _status(sqlite_write_ahead_log(self._path))
        if self._log is not None and (log is None or not os.path.samestat(log, self._log)):
            self._lose_log()
        elif not self._marker.is_there():
            with suppress(OSError):
                marker = MarkerFile.create(
                    self._path,
                    self._counted._replace(commits=self._commits),
                    durable=self._durable,
                )
                self._marker.close()
                self._marker, self._descriptor = marker, marker.descriptor

    def close(self) -> None:
        """Close the marker."""
        self._marker.close()

    def _lose(self) -> DamagedDatabase:
        """Note that the file was lost, save what was in it, and return the error."""
        saved = self._save()
        cure = "stop OpenCrab and restore a backup with `opencrab admin restore`"
        if saved is not None:
            cure = (
                f"stop OpenCrab, rename {saved.name!r}, which holds everything that was "
                f"acknowledged, to {self._path.name!r}, and start again"
            )
        self._lost = DamagedDatabase(
            f"database file {str(self._path)!r} was removed or replaced while OpenCrab ran; "
            "nothing more is accepted",
            cure=cure,
        )
        return self._lost

    def _save(self) -> Path | None:
        """Copy what the open connection can still read to a new file; None if that fails."""
        names = (f"{self._path.name}{RESCUED}{number}" for number in ("", *range(2, 100)))
        places = (self._path.with_name(name) for name in names)
        place = next((each for each in places if not each.exists()), None)
        if place is None:
            return None
        try:
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(place)) as copy:
                self._writer.backup(copy)
        except (OSError, sqlite3.Error):
            return None
        return place

    def _lose_log(self) -> None:
        """Bring what only the removed log holds into the database file, and accept no more."""
        with suppress(sqlite3.Error):
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._lost = DamagedDatabase(
            f"the write-ahead log of database file {str(self._path)!r} was removed while OpenCrab "
            "ran; nothing more is accepted",
            cure="stop OpenCrab and start it again: what was acknowledged is in the database file",
        )


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
