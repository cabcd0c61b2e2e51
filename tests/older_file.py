"""A database file with the layout from before ADR 0041, which goes on working as it is."""

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

from opencrab.adapters.sqlite.file import make_database_file

PAGE_BYTES = 4_096

_ITEMS = """
CREATE TABLE older (
    pk TEXT NOT NULL, sk TEXT NOT NULL, body TEXT NOT NULL,
    listing TEXT, due_list TEXT, due_at INTEGER, expires_at INTEGER,
    PRIMARY KEY (pk, sk)
) WITHOUT ROWID;
DROP TABLE item;
ALTER TABLE older RENAME TO item;
CREATE INDEX item_listing ON item (listing, pk) WHERE listing IS NOT NULL;
CREATE INDEX item_due ON item (due_list, due_at) WHERE due_list IS NOT NULL;
CREATE INDEX item_expires ON item (expires_at) WHERE expires_at IS NOT NULL;
"""


def make_older_file(path: Path) -> None:
    """Make an empty file: larger pages, and items that lie in the order of their keys."""
    path.write_bytes(_older_file())


@cache
def _older_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "older.db"
        make_database_file(path, durable=False)
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            file.executescript(_ITEMS)
            file.execute("PRAGMA journal_mode=DELETE")
            file.execute(f"PRAGMA page_size={PAGE_BYTES}")
            file.execute("VACUUM")
            file.execute("PRAGMA journal_mode=WAL")
        return path.read_bytes()
