"""The database file before anything writes to it: held by one process, made whole, found sound.

A file appears under its name only when it is complete. So a file that is empty, foreign or damaged
is never ours to repair: it is refused with every byte as it was.
"""

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from opencrab.adapters.sqlite.marker import (
    COUNT_SCHEMA,
    Commits,
    read_sqlite_commits,
    sqlite_marker_path,
)
from opencrab.domain.errors import Unavailable

SCHEMA_VERSION = 1

RESCUED = ".rescued"
"""The suffix of what is saved of a database file that was removed while it was open."""

_QUICK_CHECK_BYTES = 64 * 1024 * 1024
_TABLES = {"feed", "item", "queue", "sent"}

PAGE_BYTES = 1_024
"""The page size of new files. A commit writes whole pages, and a turn changes a few rows on many:
with SQLite's usual 4,096 it writes three times as much (ADR 0041). Older files keep theirs."""

_LOG_BYTES = 4_000_000
"""How large the write-ahead log gets before it is brought into the file."""

_SCHEMA = """
CREATE TABLE item (
    pk TEXT NOT NULL, sk TEXT NOT NULL, body TEXT NOT NULL,
    listing TEXT, due_list TEXT, due_at INTEGER, expires_at INTEGER,
    PRIMARY KEY (pk, sk)
);
CREATE INDEX item_listing ON item (listing, pk) WHERE listing IS NOT NULL;
CREATE INDEX item_due ON item (due_list, due_at) WHERE due_list IS NOT NULL;
CREATE INDEX item_expires ON item (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE queue (
    position INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, grp TEXT NOT NULL,
    body TEXT NOT NULL, visible_at INTEGER, receipt TEXT, count INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX queue_ready ON queue (queue, visible_at) WHERE visible_at IS NOT NULL;
CREATE INDEX queue_group ON queue (queue, grp, position);
CREATE UNIQUE INDEX queue_receipt ON queue (receipt) WHERE receipt IS NOT NULL;
CREATE TABLE sent (
    queue TEXT NOT NULL, deduplication TEXT NOT NULL, until INTEGER NOT NULL,
    PRIMARY KEY (queue, deduplication)
) WITHOUT ROWID;
CREATE INDEX sent_until ON sent (until);
CREATE TABLE feed (
    position INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL,
    session_id TEXT NOT NULL, turn_id TEXT, body TEXT NOT NULL
);
"""


class DamagedDatabase(Unavailable):
    """The database file is damaged; nothing was or will be written to it."""

    code = "damaged"


def hold_database_file(path: Path) -> int:
    """Lock the file for this process; the kernel releases the lock when the process ends.

    Returns the lock file's descriptor; raises Unavailable if another process holds the lock.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(sqlite_lock_path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(
            f"data directory {str(path.parent)!r} cannot be used: {error.strerror}",
            cure="choose a writable directory with --data",
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise Unavailable(
            f"another OpenCrab is running on {str(path)!r}",
            cure="stop it, or choose another directory with --data",
        ) from error
    return handle


def connect_sqlite_database(
    path: Path,
    *,
    durable: bool,
    patience_seconds: float,
    creating: bool = False,
    waits: bool = True,
) -> sqlite3.Connection:
    """Open a read-write connection in WAL mode; call it after `inspect_database_file`.

    Without `creating` a file that was removed meanwhile is not made again, empty. Without `waits`
    a commit of a `durable` file does not wait for the disk, but checkpoints do.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'rwc' if creating else 'rw'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=patience_seconds,
    )
    try:
        # In WAL mode only FULL waits for the disk in each commit: with NORMAL the newest ones would
        # be gone when the power fails, although their senders were answered (ADR 0006).
        # First, since the change to WAL is itself written as durably as this says.
        synchronous = "OFF" if not durable else "FULL" if waits else "NORMAL"
        connection.execute(f"PRAGMA synchronous={synchronous}")
        if creating:
            connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
        connection.execute("PRAGMA journal_mode=WAL")
        # Not FAST, which leaves the content of free pages.
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA cache_size=-512")
        pages = _LOG_BYTES // connection.execute("PRAGMA page_size").fetchone()[0]
        connection.execute(f"PRAGMA wal_autocheckpoint={pages}")
    except BaseException:
        connection.close()
        raise
    return connection


def make_database_file(path: Path, *, durable: bool, marker: Commits | None = None) -> None:
    """Create an empty database file atomically, where there is none.

    Raises DamagedDatabase if its marker or its write-ahead log say that there was one.
    """
    if marker is not None and marker.commits:
        raise missing_sqlite_file_error(path, marker.commits)
    wal = sqlite_write_ahead_log(path)
    if wal.exists() and wal.stat().st_size:
        raise DamagedDatabase(
            f"database file {str(path)!r} is missing, but its write-ahead log {wal.name!r} exists",
            cure="put the database back beside its log, or restore a backup with "
            "`opencrab admin restore DIR --data NEW`",
        )
    new = _beside(path, ".new")
    for leftover in (new, _beside(new, "-wal"), _beside(new, "-shm")):
        leftover.unlink(missing_ok=True)
    with closing(
        connect_sqlite_database(new, durable=durable, patience_seconds=0, creating=True)
    ) as connection:
        schema = f"{_SCHEMA} {COUNT_SCHEMA}"
        connection.executescript(f"BEGIN; {schema} PRAGMA user_version={SCHEMA_VERSION}; COMMIT;")
    new.replace(path)
    if durable:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def require_sound_sqlite_file(
    path: Path,
    *,
    patience_seconds: float,
    marker: Commits | None = None,
    whole: bool = False,
    alone: bool = False,
) -> None:
    """Raise DamagedDatabase unless the file is a sound OpenCrab database; never write to it.

    With `marker` it must be that database, with as many commits or more. A large file is looked
    through only with `whole`. With `alone` nobody else has it open.
    """
    size = path.stat().st_size
    if size == 0:
        raise _damaged_file_error(path, "it is empty")
    address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    with closing(sqlite3.connect(address, uri=True, timeout=patience_seconds)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise DamagedDatabase(
                f"database file {str(path)!r} was written by a newer version of OpenCrab "
                f"(schema {version}, this one knows {SCHEMA_VERSION})",
                cure="start the newer version, or use another --data directory",
            )
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        if not {name for (name,) in tables} >= _TABLES:
            raise _damaged_file_error(path, "it is not an OpenCrab database")
        if whole or size <= _QUICK_CHECK_BYTES:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise _damaged_file_error(path, verdict)
        if marker is not None:
            _check_commits(path, read_sqlite_commits(connection), marker)


def _check_commits(path: Path, found: Commits | None, marker: Commits) -> None:
    recorded = f"{sqlite_marker_path(path).name!r} records {marker.commits}"
    if found is None or found.database_id != marker.database_id:
        raise _lost_commits_error(path, f"is not the one of which {recorded} commits")
    if found.commits < marker.commits:
        raise _lost_commits_error(
            path, f"has {found.commits} commits, but {recorded}: the newest ones are lost"
        )


def is_sqlite_disk_fault(error: Exception) -> bool:
    """Check whether an error says that the disk is full or broken."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.startswith(("SQLITE_FULL", "SQLITE_IOERR"))


def explain_sqlite_error(
    path: Path, error: sqlite3.Error | UnicodeDecodeError | OSError
) -> Unavailable:
    """Map an SQLite error to one that names the file and what to do.

    Text that is not UTF-8 counts as damage, since OpenCrab writes only UTF-8.
    """
    if isinstance(error, UnicodeDecodeError):
        return _damaged_file_error(path, "its text is not readable")
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return _damaged_file_error(path, str(error))
    if name.startswith("SQLITE_FULL"):
        return Unavailable(
            f"the disk that holds {str(path)!r} is full; nothing was changed",
            cure="free some space, then try again",
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Unavailable(
            f"database file {str(path)!r} is locked by another program",
            cure="close the program that has it open (for example a database browser)",
        )
    if name.startswith("SQLITE_IOERR"):
        return Unavailable(
            f"database file {str(path)!r} cannot be used: {error}",
            cure="the disk or its file system failed: read the system's log, and copy the folder "
            "to another disk",
        )
    return Unavailable(
        f"database file {str(path)!r} cannot be used: {error}",
        cure="check that the directory exists, is writable and has space",
    )


def sqlite_lock_path(path: Path) -> Path:
    """Return the place of a database file's lock file."""
    return _beside(path, ".lock")


def sqlite_write_ahead_log(path: Path) -> Path:
    """Return the place of a database file's write-ahead log."""
    return _beside(path, "-wal")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}{suffix}")


def _damaged_file_error(path: Path, detail: str) -> DamagedDatabase:
    return DamagedDatabase(
        f"database file {str(path)!r} is damaged: {detail}",
        cure="stop, keep a copy of the whole folder, then restore a backup or use another --data "
        "directory; OpenCrab never overwrites it",
    )


def missing_sqlite_file_error(path: Path, commits: int) -> DamagedDatabase:
    """Return the error for a database file that had commits and is gone; its cure loses least."""
    marker = sqlite_marker_path(path).name
    return DamagedDatabase(
        f"database file {str(path)!r} is missing, but {marker!r} records {commits} commits",
        cure=_rescue_cure(path)
        or "put it back with its write-ahead log, or restore a backup with `opencrab admin "
        "restore DIR --data NEW`; to begin with nothing, all data lost: "
        f"`opencrab admin verify {path.parent} --accept`",
    )


def _rescue_cure(path: Path) -> str | None:
    """Return how to use the newest rescued file beside a database file; None without one."""
    rescued = max(path.parent.glob(f"{path.name}{RESCUED}*"), key=_age, default=None)
    if rescued is None:
        return None
    if not path.exists():
        return (
            f"rename {rescued.name!r}, which holds what was acknowledged when the file was "
            f"removed, to {path.name!r}, and start again"
        )
    log = sqlite_write_ahead_log(path).name
    return (
        f"move {path.name!r}, and {log!r} if that is there, to another folder, then rename "
        f"{rescued.name!r}, which holds what was acknowledged when the file was removed, to "
        f"{path.name!r}, and start again"
    )


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _lost_commits_error(path: Path, detail: str) -> DamagedDatabase:
    folder = path.parent
    return DamagedDatabase(
        f"database file {str(path)!r} {detail}",
        cure=_rescue_cure(path)
        or f"put the missing file back (the database and its {sqlite_write_ahead_log(path).name!r} "
        f"belong together), or restore a backup with `opencrab admin restore DIR --data NEW`; to "
        f"go on without what is lost: `opencrab admin verify {folder} --accept`",
    )
