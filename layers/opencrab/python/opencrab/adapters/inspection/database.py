"""A look at a database file from outside: sound, who holds it, when it lived, what waits in it.

It never writes, and needs no lock: it serves whoever wants to know why OpenCrab does not run.
"""

import fcntl
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from opencrab.adapters.sqlite.file import (
    explain_sqlite_error,
    missing_sqlite_file_error,
    require_sound_sqlite_file,
    sqlite_lock_path,
)
from opencrab.adapters.sqlite.home import FILE
from opencrab.adapters.sqlite.marker import read_sqlite_marker

_LOCKS = Path("/proc/locks")
_WAITING = "SELECT queue, count(*), min(visible_at) FROM queue WHERE visible_at<=? GROUP BY queue"
_DUE = "SELECT count(*) FROM item WHERE due_list IS NOT NULL AND due_list NOT IN ('turn', 'outbox')"
_DEAD = "SELECT pk, body FROM item WHERE pk>='DEAD#' AND pk<'DEAD$' ORDER BY sk DESC"
_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True)
class PendingQueue:
    """Messages of a queue that nobody has taken, and since when the oldest could be."""

    queue: str
    count: int
    since: datetime


def database_file_for_inspection(data: Path) -> Path:
    """Return the database file of a data folder."""
    return data / FILE


def inspect_data_folder_database(data: Path) -> int | None:
    """Return the size of a sound database in bytes, None if there never was one.

    Raises DamagedDatabase or Unavailable, with what to do.
    """
    path = database_file_for_inspection(data)
    marker = read_sqlite_marker(path)
    if not path.exists():
        if marker is not None and marker.commits:
            raise missing_sqlite_file_error(path, marker.commits)
        return None
    try:
        require_sound_sqlite_file(path, patience_seconds=_PATIENCE_SECONDS, marker=marker)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise explain_sqlite_error(path, error) from error
    return path.stat().st_size


def inspect_holding_process(data: Path) -> int | None:
    """Return the id of the process that runs on a data folder, 0 if it cannot be told; or None."""
    try:
        handle = os.open(
            sqlite_lock_path(database_file_for_inspection(data)), os.O_RDONLY | os.O_CLOEXEC
        )
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _holder(os.fstat(handle))
    finally:
        os.close(handle)
    return None


def inspect_last_alive_time(data: Path) -> datetime | None:
    """Return when a process last ran on a data folder, by the clock of that time."""
    with suppress(OSError):
        return datetime.fromtimestamp(
            sqlite_lock_path(database_file_for_inspection(data)).stat().st_mtime, UTC
        )
    return None


def inspect_waiting_messages(data: Path, now: datetime) -> tuple[PendingQueue, ...]:
    """Return the queues in which messages wait that could be taken; raises Unavailable."""
    rows = _read(data, _WAITING, (int(now.timestamp() * 1_000),))
    return tuple(
        PendingQueue(queue, count, datetime.fromtimestamp(at / 1_000, UTC))
        for queue, count, at in rows
    )


def inspect_timed_items(data: Path) -> int:
    """Return how many heartbeats, schedules and other items wait for their time."""
    return int(_read(data, _DUE)[0][0])


def inspect_dead_letters(data: Path) -> tuple[str, ...]:
    """Return the bodies of all dead letters, newest first, as they are stored."""
    return tuple(body for _, body in _read(data, _DEAD))


def _read(data: Path, statement: str, facts: tuple[object, ...] = ()) -> list[Any]:
    path = database_file_for_inspection(data)
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE_SECONDS)) as connection:
            return connection.execute(statement, facts).fetchall()
    except sqlite3.Error as error:
        raise explain_sqlite_error(path, error) from error


def _holder(status: os.stat_result) -> int:
    """Return the process that holds a lock on a file, as Linux says; 0 where nobody does."""
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError, IndexError):
        for row in _LOCKS.read_text(encoding="utf-8").splitlines():
            words = row.split()
            if "FLOCK" in words and place in words:
                return int(words[words.index(place) - 1])
    return 0
