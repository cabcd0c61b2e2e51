"""The demo world's store: one SQLite file with its state, key, mail and ledger.

What a message changes, that it was handled, and what the world answers is one transaction: a killed
world neither forgets nor repeats anything.
"""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from opencrab.domain.errors import Unavailable
from opencrab.domain.world.demo.state import DemoMessage, DemoState

FILE, LOCK = "world.db", "world.lock"

_TABLES = """
CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS identity (one INTEGER PRIMARY KEY CHECK (one = 1), private TEXT, public TEXT);
CREATE TABLE IF NOT EXISTS handled (nonce TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mail (number INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL,
  raw BLOB, digest TEXT, done INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS open_mail ON mail (number) WHERE done = 0;
CREATE TABLE IF NOT EXISTS ledger (number INTEGER PRIMARY KEY AUTOINCREMENT, key_id TEXT NOT NULL,
  entry INTEGER NOT NULL, change INTEGER NOT NULL, balance INTEGER NOT NULL, UNIQUE (key_id, entry));
"""  # noqa: E501  - a table is one statement


@dataclass(frozen=True)
class WorldMail:
    """A message of the world that no installation has acknowledged; `raw` is it sealed."""

    number: int
    message: DemoMessage
    raw: bytes | None


class DemoStore:
    """The file of one demo world; it is created with its folder, readable by its owner only.

    Only one process opens it, as each keeps the state in memory; raises Unavailable for a second.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._held = _hold(folder)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            folder / FILE, isolation_level=None, timeout=30, check_same_thread=False
        )
        (folder / FILE).chmod(0o600)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        os.close(self._held)

    def identity(self) -> tuple[str, str] | None:
        """Return the world's private and public key, None before they were made."""
        found = self._connection.execute("SELECT private, public FROM identity").fetchone()
        return None if found is None else (str(found[0]), str(found[1]))

    def keep_identity(self, private: str, public: str) -> None:
        """Store the world's keys, once."""
        self._connection.execute("INSERT INTO identity VALUES (1, ?, ?)", (private, public))

    def state(self) -> DemoState | None:
        """Return the world as it is stored, None before it began."""
        found = self._connection.execute("SELECT body FROM state").fetchone()
        return None if found is None else DemoState.model_validate_json(found[0])

    def digest_of_handled(self, nonce: str) -> str | None:
        """Return the digest of the message that was handled under a nonce, or None."""
        found = self._connection.execute(
            "SELECT digest FROM handled WHERE nonce=?", (nonce,)
        ).fetchone()
        return None if found is None else str(found[0])

    def commit(
        self,
        state: DemoState,
        messages: Sequence[DemoMessage],
        handled: tuple[str, str] | None = None,
    ) -> None:
        """Store a state, the messages that tell of it, and what was handled, in one transaction."""
        with self._lock, closing(self._connection.cursor()) as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            try:
                if handled is not None:
                    cursor.execute("INSERT INTO handled VALUES (?, ?)", handled)
                cursor.execute("INSERT OR REPLACE INTO state VALUES (1, ?)", (_json(state),))
                for message in messages:
                    cursor.execute("INSERT INTO mail (body) VALUES (?)", (_json(message),))
                    account = message.body.get("account")
                    if account is not None:
                        row = (message.to, account["entry"], account["change"], account["balance"])
                        cursor.execute(
                            "INSERT INTO ledger (key_id, entry, change, balance)"
                            " VALUES (?, ?, ?, ?)",
                            row,
                        )
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise

    def open_mail(self, limit: int) -> list[WorldMail]:
        """Return the oldest messages that were not acknowledged."""
        rows = self._connection.execute(
            "SELECT number, body, raw FROM mail WHERE done=0 ORDER BY number LIMIT ?", (limit,)
        ).fetchall()
        return [WorldMail(n, DemoMessage.model_validate_json(body), raw) for n, body, raw in rows]

    def keep_sealed(self, number: int, raw: bytes, digest: str) -> None:
        """Store a message as it is sent, so that it is resent with the same bytes."""
        self._connection.execute(
            "UPDATE mail SET raw=?, digest=? WHERE number=?", (raw, digest, number)
        )

    def mark_done(self, digest: str) -> None:
        """Mark a message as acknowledged, by the digest of its frame."""
        self._connection.execute(
            "UPDATE mail SET done=1, raw=NULL WHERE digest=? AND done=0", (digest,)
        )

    def ledger(self, key_id: str) -> list[tuple[int, int, int]]:
        """Return entry, change and balance of all entries of a citizen's account, in order."""
        rows = self._connection.execute(
            "SELECT entry, change, balance FROM ledger WHERE key_id=? ORDER BY entry", (key_id,)
        ).fetchall()
        return [(int(entry), int(change), int(balance)) for entry, change, balance in rows]


def _hold(folder: Path) -> int:
    """Lock the folder for this object; the kernel releases the lock when the process ends."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise Unavailable(
            f"the demo world in {str(folder)!r} runs in another process already",
            cure="stop it, or choose another folder with --folder",
        ) from error
    return handle


def _json(value: DemoState | DemoMessage) -> str:
    return value.model_dump_json(exclude_defaults=True)
