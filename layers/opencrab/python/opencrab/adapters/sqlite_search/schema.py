"""The file of an agent's index: what is in it, how it is opened, and when it is not trusted.

An index is a copy of what the journal and the facts say. So nothing here is repaired: a file that
is not whole, or not this agent's, or made in another way, is refused, and the copy begins anew.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.errors import Unavailable
from opencrab.domain.memory.search_row import RowKind

TOKENIZER = 2
"""Changes whenever texts are cut into terms in another way; an index of another one is refused."""

_APPLICATION = 0x0C4AB51D
_VERSION = 2
_HEAD = 100

_PATIENCE_SECONDS = 10.0
"""The timeout for a lock that another process holds."""

_CHECKED_BYTES = 16 * 1024 * 1024
"""Larger files are looked into only as far as they are used: whoever fetched one has its hash."""

KINDS = {
    RowKind.SPEECH: 0,
    RowKind.INSTRUCTION: 1,
    RowKind.INNER_VOICE: 2,
    RowKind.MEMORY: 3,
    RowKind.EXPERIENCE: 4,
    RowKind.SUMMARY: 5,
}
HEARINGS = {Hearing.SESSION: 0, Hearing.PUBLIC: 1, Hearing.GUILD: 2, Hearing.PRIVATE: 3}
SPEECH = KINDS[RowKind.SPEECH]
TIMED, TAINTED = 1, 2
"""Flags of a row: its text tells a time; its words came from outside."""

# Whatever repeats from row to row is a number in `name`. `spoke` says who spoke in which session.
_SCHEMA = f"""
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE line (session TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE kept (kind TEXT PRIMARY KEY, last TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE mark (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE spoke (
    person INTEGER NOT NULL, session INTEGER NOT NULL, PRIMARY KEY (person, session)
) WITHOUT ROWID;
CREATE TABLE row (
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, sequence INTEGER NOT NULL,
    kind INTEGER NOT NULL, hearing INTEGER NOT NULL, guild INTEGER, person INTEGER NOT NULL,
    speaker INTEGER NOT NULL, flags INTEGER NOT NULL, at INTEGER NOT NULL, importance REAL,
    ref TEXT, text TEXT NOT NULL
);
CREATE UNIQUE INDEX row_line ON row (session, sequence) WHERE ref IS NULL;
CREATE INDEX row_at ON row (at);
CREATE UNIQUE INDEX row_kept ON row (kind, ref) WHERE ref IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', tokenize='porter unicode61 remove_diacritics 2'
);
PRAGMA application_id={_APPLICATION};
PRAGMA user_version={_VERSION};
"""


# Vectors of rows, there only when they are configured.
VECTORS = (
    "CREATE TABLE vector (row INTEGER PRIMARY KEY, bits BLOB NOT NULL, body BLOB NOT NULL)",
    "CREATE TRIGGER vector_gone AFTER DELETE ON row"
    " BEGIN DELETE FROM vector WHERE vector.row = old.id; END",
)

_DAMAGE = (
    "SQLITE_CORRUPT",
    "SQLITE_NOTADB",
    "SQLITE_CONSTRAINT",
    "SQLITE_MISMATCH",
    "SQLITE_SCHEMA",
    "SQLITE_READONLY_DBMOVED",
)
_GONE = ("SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_READONLY")
"""What is said of a file that was removed while it was open, with its folder or without."""

_TELLING = (
    "no such table",
    "no such column",
    "has no column",
    "vtable constructor failed",
    "Could not decode to UTF-8",
)
"""What errors without a name of their own say when it is the file that is wrong."""


class CorruptIndex(ValueError):
    """An index contains values that OpenCrab never writes."""


class DamagedIndex(Unavailable):
    """The file of an index is damaged: delete it, and the index is rebuilt."""

    code = "damaged"


def open_sqlite_search_index(
    agent_id: str, path: Path | None, source: str = "", *, live: bool = False
) -> sqlite3.Connection:
    """Open or create an agent's index; raise DamagedIndex for an unsound file.

    `source` names the database that the index copies: an index of another one is refused. A `live`
    one has a write-ahead log: it survives a power failure, and other processes may use it too.
    """
    fresh = path is None or not path.exists()
    if path is not None and not fresh:
        _look_at(path)
    with translate_sqlite_search_errors(path, fresh=fresh):
        connection = _open_connection(path, live=live)
        try:
            if fresh:
                _fill(connection, agent_id)
                _set_source(connection, source)
            else:
                _inspect(connection, agent_id, path)
                _check_source(connection, source, path)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def translate_sqlite_search_errors(path: Path | None, *, fresh: bool = False) -> Iterator[None]:
    """Translate SQLite's errors: damage to DamagedIndex, all others to Unavailable.

    A `fresh` file is not there yet, so it was not removed.
    """
    try:
        yield
    except (UnicodeDecodeError, CorruptIndex) as error:
        raise _damaged_search_index(path, str(error)) from error
    except sqlite3.Error as error:
        name, text = getattr(error, "sqlite_errorname", "") or "", str(error)
        if name.startswith(_DAMAGE) or any(told in text for told in _TELLING):
            raise _damaged_search_index(path, text) from error
        is_gone = path is not None and not fresh and not path.exists()
        if is_gone and name.startswith(_GONE):
            raise _damaged_search_index(path, "it was removed") from error
        raise _unusable(path, error) from error


@contextmanager
def translate_sqlite_search_file_errors(path: Path) -> Iterator[None]:
    """Translate errors of the file system: what cannot be used is no damage."""
    try:
        yield
    except OSError as error:
        raise _unusable(path, error) from error


@contextmanager
def translate_sqlite_search_decoding_errors() -> Iterator[None]:
    """Turn errors in decoding stored values into CorruptIndex."""
    try:
        yield
    except CorruptIndex:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        raise CorruptIndex(f"it contains invalid values: {error!r:.200}") from error


def _unusable(path: Path | None, error: Exception) -> Unavailable:
    return Unavailable(
        f"the index {_index_label(path)} cannot be used: {error}",
        cure="check that its directory exists, is writable and has space",
    )


def _damaged_search_index(path: Path | None, detail: str) -> DamagedIndex:
    """Return the error for a damaged file, with the cause and what to do."""
    return DamagedIndex(
        f"the index {_index_label(path)} is damaged: {detail}",
        cure="delete the file: the index is rebuilt from the journal",
    )


def _index_label(path: Path | None) -> str:
    return "in memory" if path is None else repr(str(path))


def _open_connection(path: Path | None, *, live: bool) -> sqlite3.Connection:
    """Open a connection; one to a private copy does without fsync, as the copy can be rebuilt."""
    connection = sqlite3.connect(
        path or ":memory:",
        isolation_level=None,
        check_same_thread=False,
        timeout=_PATIENCE_SECONDS,
    )
    try:
        # A commit in WAL mode waits for no disk; after a power failure the newest may be missing,
        # together with the record of how far the index had come.
        connection.execute(f"PRAGMA synchronous={'NORMAL' if live else 'OFF'}")
        if live:
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA cache_size=-16000")
    except BaseException:
        connection.close()
        raise
    return connection


def _fill(connection: sqlite3.Connection, agent_id: str) -> None:
    connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
    connection.executemany(
        "INSERT INTO about VALUES (?, ?)",
        [("agent", agent_id), ("tokenizer", str(TOKENIZER))],
    )


def _look_at(path: Path) -> None:
    """Raise DamagedIndex for an empty or truncated file, which SQLite would open without error."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if len(head) < _HEAD or not head.startswith(b"SQLite format 3\0"):
        raise _damaged_search_index(path, "it is not a database")
    size = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big")
    if path.stat().st_size < (65_536 if size == 1 else size) * pages:
        raise _damaged_search_index(path, "the file is truncated")


@cache
def _expected_schema() -> frozenset[tuple[str, str, str]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(_SCHEMA)
        return _things(connection)
    finally:
        connection.close()


@cache
def _with_vectors() -> frozenset[tuple[str, str, str]]:
    """Return the expected schema with vectors; SQLite stores statements verbatim."""
    table, trigger = VECTORS
    return _expected_schema() | {("table", "vector", table), ("trigger", "vector_gone", trigger)}


def _things(connection: sqlite3.Connection) -> frozenset[tuple[str, str, str]]:
    """Return tables, indexes and triggers with their statements.

    The shadow tables of FTS5 count by name only, since their statements are SQLite's own.
    """
    found = connection.execute("SELECT type, name, sql FROM main.sqlite_master")
    return frozenset(
        (kind, name, "" if name.startswith("words_") else sql or "") for kind, name, sql in found
    )


def _check_source(connection: sqlite3.Connection, source: str, path: Path | None) -> None:
    """Refuse an index of another database; one that names none is taken as of this one.

    After a restore, line numbers are used again: what an index of the old table has read says
    nothing about the new one.
    """
    found = connection.execute("SELECT value FROM about WHERE key = 'source'").fetchone()
    if found is None:
        _set_source(connection, source)
    elif source and found[0] != source:
        raise _damaged_search_index(path, f"it was built from {found[0]!r}, not from {source!r}")


def _set_source(connection: sqlite3.Connection, source: str) -> None:
    if source:
        connection.execute("INSERT INTO about VALUES ('source', ?)", (source,))


def _inspect(connection: sqlite3.Connection, agent_id: str, path: Path | None) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if (application, version) != (_APPLICATION, _VERSION):
        raise _damaged_search_index(path, f"index version is {version}, not {_VERSION}")
    things = _things(connection)
    if things not in {_expected_schema(), _with_vectors()}:
        named = ", ".join(sorted({name for _, name, _ in things ^ _expected_schema()}))
        raise _damaged_search_index(path, f"unexpected schema: {named:.200}")
    about = dict(connection.execute("SELECT key, value FROM about"))
    try:
        connection.execute("SELECT rowid FROM words LIMIT 1").fetchone()
    except sqlite3.OperationalError as error:
        raise _damaged_search_index(path, str(error)) from error
    if about.get("agent") != agent_id:
        raise _damaged_search_index(path, f"it belongs to an agent other than {agent_id!r}")
    if about.get("tokenizer") != str(TOKENIZER):
        raise _damaged_search_index(path, f"it was built with tokenizer {about.get('tokenizer')}")
    if path is not None and path.stat().st_size <= _CHECKED_BYTES:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise _damaged_search_index(path, verdict)
