"""Copies of a database that is in use, checks of one that is not, and the loss of its newest part.

A copy is one read transaction: whoever writes meanwhile does not wait, and is not in it.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from opencrab.adapters.sqlite.file import (
    explain_sqlite_error,
    hold_database_file,
    require_sound_sqlite_file,
    sqlite_lock_path,
    sqlite_write_ahead_log,
)
from opencrab.adapters.sqlite.guard import MarkerFile
from opencrab.adapters.sqlite.marker import (
    Commits,
    count_sqlite_commits,
    read_sqlite_commits,
    read_sqlite_marker,
    sqlite_marker_path,
)
from opencrab.domain.errors import Unavailable

PATIENCE_SECONDS = 5.0
_POINTER = re.compile(r'"kind":"pointer"[^{}]*?"sha256":"([0-9a-f]{64})"')
_POINTERS = """SELECT body FROM item WHERE body LIKE '%"kind":"pointer"%'"""


def copy_sqlite_database(path: Path, into: Path) -> Commits:
    """Copy a sound database to a new file and fsync it; the number of commits that it holds.

    Raises DamagedDatabase if the database, or the copy, is not sound.
    """
    check_sqlite_database(path)
    # The source was just read as a whole: what fails now is, as a rule, the disk of the copy.
    with _explain_errors(into), closing(_reader(path)) as source:
        os.close(os.open(into, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(into, isolation_level=None)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
            found = count_sqlite_commits(copy)
    handle = os.open(into, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
    check_sqlite_database(into, alone=True)
    return found


def check_sqlite_database(path: Path, *, alone: bool = False) -> Commits | None:
    """Look through the whole database and compare it with its marker; its number of commits.

    None if an older OpenCrab wrote it. With `alone`, nobody else has the file open, and nothing is
    made beside it. Raises DamagedDatabase.
    """
    # Before the database: a process that runs may go on, and then the marker would lead.
    marker = None if alone else read_sqlite_marker(path)
    with _explain_errors(path):
        require_sound_sqlite_file(
            path, patience_seconds=PATIENCE_SECONDS, marker=marker, whole=True, alone=alone
        )
        with closing(_reader(path, alone=alone)) as connection:
            return read_sqlite_commits(connection)


def blobs_of_sqlite_database(path: Path, *, alone: bool = False) -> frozenset[str]:
    """Return the hashes of all blobs that the journal points to."""
    with _explain_errors(path), closing(_reader(path, alone=alone)) as connection:
        found = (_POINTER.findall(body) for (body,) in connection.execute(_POINTERS))
        return frozenset(digest for digests in found for digest in digests)


def finish_restored_sqlite_database(path: Path, stopped_at: datetime) -> None:
    """Give a restored database its marker, and the lock file of a process that ended then."""
    with _explain_errors(path):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            commits = count_sqlite_commits(connection)
        MarkerFile.create(path, commits, durable=True).close()
        lock = sqlite_lock_path(path)
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT, 0o600))
        os.utime(lock, (stopped_at.timestamp(), stopped_at.timestamp()))


def accept_lost_sqlite_commits(path: Path) -> int | None:
    """Make the marker say what the database holds; how many commits that gives up.

    None if that cannot be known. Raises DamagedDatabase for a database that is not sound, and
    Unavailable while a process has it open.
    """
    handle = hold_database_file(path)
    try:
        marker = read_sqlite_marker(path)
        if path.exists():
            return _accept(path, marker)
        log = sqlite_write_ahead_log(path)
        if log.exists() and log.stat().st_size:
            raise Unavailable(
                f"database file {str(path)!r} is missing, but {log.name!r} is there",
                cure=f"put the database back, or move {log.name!r} to another folder first",
            )
        sqlite_marker_path(path).unlink(missing_ok=True)
        return None if marker is None else marker.commits
    finally:
        os.close(handle)


def _accept(path: Path, marker: Commits | None) -> int | None:
    with _explain_errors(path):
        require_sound_sqlite_file(path, patience_seconds=PATIENCE_SECONDS, whole=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            found = count_sqlite_commits(connection)
        MarkerFile.create(path, found, durable=True).close()
    if marker is None or marker.database_id != found.database_id:
        return None
    return max(marker.commits - found.commits, 0)


def _reader(path: Path, *, alone: bool = False) -> sqlite3.Connection:
    """Open a connection that only reads."""
    mode = "mode=ro&immutable=1" if alone else "mode=ro"
    address = f"{path.absolute().as_uri()}?{mode}"
    return sqlite3.connect(address, uri=True, timeout=PATIENCE_SECONDS, isolation_level=None)


@contextmanager
def _explain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
        raise explain_sqlite_error(path, error) from error
