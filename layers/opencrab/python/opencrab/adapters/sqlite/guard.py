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
from zlib import crc32

from opencrab.adapters.sqlite.file import RESCUED, DamagedDatabase, sqlite_write_ahead_log
from opencrab.adapters.sqlite.marker import (
    COUNT_COMMIT,
    Commits,
    count_sqlite_commits,
    sqlite_marker_path,
)


@dataclass(frozen=True)
class MarkerFile:
    """An open marker."""

    path: Path
    database_id: str
    descriptor: int

    @classmethod
    def create(cls, database: Path, commits: Commits, *, durable: bool) -> "MarkerFile":
        """Create or replace a database's marker in one step; raises OSError."""
        path = sqlite_marker_path(database)
        new = path.with_name(f"{path.name}.new")
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        marker = cls(path, commits.database_id, os.open(new, flags, 0o600))
        try:
            marker.write(commits.commits)
            if durable:
                os.fsync(marker.descriptor)
            new.replace(path)
        except BaseException:
            marker.close()
            raise
        return marker

    def write(self, commits: int) -> None:
        """Record a number of commits; a failure is ignored, since a marker may lag behind."""
        said = f"opencrab-commit {self.database_id} {commits:020d}".encode()
        with suppress(OSError):
            os.pwrite(self.descriptor, b"%b %08x\n" % (said, crc32(said)), 0)

    def is_there(self) -> bool:
        """Check whether the file still has its name."""
        try:
            return os.path.samestat(self.path.lstat(), os.fstat(self.descriptor))
        except OSError:
            return False

    def close(self) -> None:
        """Close the file."""
        os.close(self.descriptor)


class CommitGuard:
    """Counts a writer's commits, in the database and in its marker; callers hold the write lock."""

    def __init__(self, path: Path, writer: sqlite3.Connection, *, durable: bool) -> None:
        self._path = path
        self._writer = writer
        self._durable = durable
        counted = count_sqlite_commits(writer)
        self._counted = counted
        self._commits = counted.commits
        self._lost: DamagedDatabase | None = None
        self._file = path.stat()
        self._log = _status(sqlite_write_ahead_log(path))
        self._marker = MarkerFile.create(path, counted, durable=durable)

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
        self._marker.write(self._commits)

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
                self._marker = marker

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
