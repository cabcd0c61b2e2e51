"""Keys in the SQLite file: what an earlier release reads of them is what it knows."""

import json
from pathlib import Path

from opencrab.adapters.sqlite.access import SqliteKeys
from opencrab.adapters.sqlite.database import Database
from tests.unit.adapters.dynamodb.access.test_key import KEY


def test_principal_and_grants_are_beside_the_row_that_the_release_before_reads(
    tmp_path: Path,
) -> None:
    database = Database(tmp_path / "opencrab.db", durable=False)
    keys = SqliteKeys(database)
    keys.put(KEY)
    with database.read_transaction() as items:
        (body,) = items.query_listing("key", after="", limit=-1)
        assert items.get(f"KEY#{KEY.hash}", "K") == body
    assert set(json.loads(body)) == {"id", "name", "scope", "hash", "created_at", "revoked_at"}
    assert keys.list() == (KEY,)
    database.close()
