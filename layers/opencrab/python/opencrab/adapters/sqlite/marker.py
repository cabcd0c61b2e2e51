"""The marker of the last commit: a file beside the database that says what the database must hold.

It is written after each commit and not waited for, so it may lag behind the database and never
leads it: a database with fewer commits than its marker has lost some. After a crash or a power
failure there is the old marker, the new one, or one that cannot be read, which claims nothing.
"""

import os
import re
import sqlite3
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

SUFFIX = ".last-commit"

COUNT_TABLE = "commit_count"
COUNT_SCHEMA = """
CREATE TABLE commit_count (
    row INTEGER PRIMARY KEY CHECK (row=1), database_id TEXT NOT NULL, commits INTEGER NOT NULL,
    overwriting INTEGER
);
INSERT INTO commit_count VALUES (1, lower(hex(randomblob(8))), 0, 0);
"""
"""`overwriting` equals `commits` while all commits were by releases that overwrite removed rows.

Earlier releases do not know it, so that it stays behind when one of them wrote (ADR 0037).
"""

COUNT_COMMIT = """
UPDATE commit_count SET commits=?1,
    overwriting=CASE WHEN overwriting=commits THEN ?1 ELSE overwriting END WHERE row=1
"""
ALL_OVERWRITTEN = "UPDATE commit_count SET overwriting=commits WHERE row=1"

_READ = "SELECT database_id, commits FROM commit_count WHERE row=1"
_KNOWN = "PRAGMA table_info(commit_count)"
_OVERWRITING = "SELECT overwriting=commits FROM commit_count WHERE row=1"
_ADD_OVERWRITING = "ALTER TABLE commit_count ADD COLUMN overwriting INTEGER"
_TEXT = re.compile(r"(opencrab-commit ([0-9a-f]{16}) ([0-9]{20})) ([0-9a-f]{8})\n", re.ASCII)
_MOST = 128


class Commits(NamedTuple):
    """Which database it is, and how many commits it has."""

    database_id: str
    commits: int


def sqlite_marker_path(path: Path) -> Path:
    """Return the place of a database file's marker."""
    return path.with_name(f"{path.name}{SUFFIX}")


def read_sqlite_marker(path: Path) -> Commits | None:
    """Read the marker of a database file; None if there is none or it cannot be understood."""
    try:
        descriptor = os.open(sqlite_marker_path(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        content = os.read(descriptor, _MOST)
    finally:
        os.close(descriptor)
    found = _TEXT.fullmatch(content.decode("ascii", "replace"))
    if found is None or f"{crc32(found[1].encode()):08x}" != found[4]:
        return None
    return Commits(found[2], int(found[3]))


def read_sqlite_commits(connection: sqlite3.Connection) -> Commits | None:
    """Read a database's own count of commits; None if it was last written by an older OpenCrab."""
    if connection.execute(_KNOWN).fetchone() is None:
        return None
    row = connection.execute(_READ).fetchone()
    return None if row is None else Commits(str(row[0]), int(row[1]))


def count_sqlite_commits(connection: sqlite3.Connection) -> Commits:
    """Read a database's count of commits, and begin to count where nobody did."""
    found = read_sqlite_commits(connection)
    if found is None:
        drop = f"DROP TABLE IF EXISTS {COUNT_TABLE};"
        connection.executescript(f"BEGIN IMMEDIATE; {drop} {COUNT_SCHEMA} COMMIT;")
        found = read_sqlite_commits(connection)
    if found is None:
        raise sqlite3.DatabaseError("its commits cannot be counted")
    if "overwriting" not in {name for _, name, *_ in connection.execute(_KNOWN)}:
        connection.execute(_ADD_OVERWRITING)
    return found


def has_removed_rows(connection: sqlite3.Connection) -> bool:
    """Check whether a release wrote that may leave what it removes in free space."""
    found = connection.execute(_OVERWRITING).fetchone()
    return found is None or not found[0]
