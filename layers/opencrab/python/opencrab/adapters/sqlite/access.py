"""API keys, idempotency and the change feed on SQLite."""

import json
from datetime import datetime, timedelta

from opencrab.adapters.sqlite.database import (
    FEED,
    AlreadyThere,
    Database,
    ItemRow,
    SqliteItems,
    sqlite_milliseconds,
)
from opencrab.domain.access.principal import (
    ADDED_LATER,
    ApiKey,
    key_to_revoke,
    remaining_owner_key,
)
from opencrab.domain.errors import Conflict
from opencrab.ports.access.idempotency import RememberedRequest
from opencrab.ports.conversation.feed import FeedEntry

IDEMPOTENCY = timedelta(days=1)

_BESIDE = "P"
"""The row of a key's principal and grants, which earlier releases do not read."""


class SqliteKeys:
    """`ports.access.keys.Keys` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, key: ApiKey) -> None:
        with self._database.write_transaction() as items:
            try:
                items.add(*_rows(key))
            except AlreadyThere:
                raise Conflict(
                    f"API key {key.id!r} has the same secret as an existing key",
                    cure="create the key again, with another secret",
                ) from None

    def find(self, digest: str) -> ApiKey | None:
        pk = f"KEY#{digest}"
        with self._database.read_transaction() as items:
            found = items.get_many(((pk, "K"), (pk, _BESIDE)))
        return None if (pk, "K") not in found else _key(found[pk, "K"], found.get((pk, _BESIDE)))

    def list(self) -> tuple[ApiKey, ...]:
        with self._database.read_transaction() as items:
            return _all_keys(items)

    def revoke(self, key_id: str, now: datetime, *, keep_last_owner: bool = True) -> ApiKey:
        # Read in the transaction that writes: nobody revokes another owner in between.
        with self._database.write_transaction() as items:
            keys = _all_keys(items)
            key = key_to_revoke(keys, key_id)
            if keep_last_owner:
                remaining_owner_key(keys, key)
            revoked = key.replaced(revoked_at=key.revoked_at or now)
            row = _rows(revoked)[0]
            items.put(row.pk, row.sk, row.body, listing=row.listing)
            return revoked


def _all_keys(items: SqliteItems) -> tuple[ApiKey, ...]:
    bodies = items.query_listing("key", after="", limit=-1)
    stored = [ApiKey.from_stored(body) for body in bodies]
    beside = items.get_many([(f"KEY#{key.hash}", _BESIDE) for key in stored])
    keys = [_with(key, beside.get((f"KEY#{key.hash}", _BESIDE))) for key in stored]
    return tuple(sorted(keys, key=lambda key: (key.created_at, key.id)))


def _rows(key: ApiKey) -> list[ItemRow]:
    """Return the row of a key and, if it has a principal or grants, the row beside it."""
    pk = f"KEY#{key.hash}"
    rows = [ItemRow(pk, "K", key.model_dump_json(exclude=ADDED_LATER), listing="key")]
    beside = key.model_dump_json(include=ADDED_LATER, exclude_none=True)
    return rows if beside == "{}" else [*rows, ItemRow(pk, _BESIDE, beside)]


def _key(body: str, beside: str | None) -> ApiKey:
    return _with(ApiKey.from_stored(body), beside)


def _with(key: ApiKey, beside: str | None) -> ApiKey:
    """Return a key with what is stored beside it, validated."""
    if beside is None:
        return key
    return ApiKey.from_stored({**dict(key), **json.loads(beside)})


class SqliteIdempotency:
    """`ports.access.idempotency.Idempotency` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, key: str, request_hash: str, now: datetime) -> RememberedRequest | None:
        with self._database.write_transaction() as items:
            row = items.execute(
                "SELECT body FROM item WHERE pk=? AND sk='I' AND expires_at>?",
                (f"IDEMPOTENCY#{key}", sqlite_milliseconds(now)),
            ).fetchone()
            if row is not None:
                return RememberedRequest(*json.loads(row[0]))
            items.put(
                f"IDEMPOTENCY#{key}",
                "I",
                json.dumps([request_hash, None, None]),
                expires_at=now + IDEMPOTENCY,
            )
            return None

    def finish(self, key: str, status: int, body: str) -> None:
        with self._database.write_transaction() as items:
            stored = items.get(f"IDEMPOTENCY#{key}", "I")
            if stored is not None:
                request_hash = json.loads(stored)[0]
                items.execute(
                    "UPDATE item SET body=? WHERE pk=? AND sk='I'",
                    (json.dumps([request_hash, status, body]), f"IDEMPOTENCY#{key}"),
                )


class SqliteFeed:
    """`ports.conversation.feed.ChangeFeed` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, *, after: int, limit: int) -> tuple[FeedEntry, ...]:
        with self._database.read_transaction() as items:
            rows = items.execute(
                "SELECT position, kind, session_id, turn_id, body FROM feed "
                "WHERE position>? ORDER BY position LIMIT ?",
                (after, limit),
            ).fetchall()
        return tuple(FeedEntry(*row) for row in rows)

    def wait(self, *, after: int, seconds: float) -> bool:
        topic = self._database.topic(FEED)
        generation = topic.generation
        if self.position() > after:
            return True
        return topic.wait(generation, seconds)

    def position(self) -> int:
        with self._database.read_transaction() as items:
            row = items.execute("SELECT max(position) FROM feed").fetchone()
        return int(row[0] or 0)
