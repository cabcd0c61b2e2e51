"""API keys, idempotency and the change feed on SQLite."""

import json
from datetime import datetime, timedelta

from opencrab.adapters.sqlite.database import FEED, AlreadyThere, Database, ItemRow, to_milliseconds
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.errors import Conflict, NotFound
from opencrab.ports.access.idempotency import RememberedRequest
from opencrab.ports.conversation.feed import FeedEntry

IDEMPOTENCY = timedelta(days=1)


class SqliteKeys:
    """`ports.access.keys.Keys` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, key: ApiKey) -> None:
        with self._database.writing() as items:
            try:
                items.add(ItemRow(f"KEY#{key.hash}", "K", key.model_dump_json(), listing="key"))
            except AlreadyThere:
                raise Conflict("a key with this secret exists already") from None

    def find(self, digest: str) -> ApiKey | None:
        with self._database.reading() as items:
            body = items.get(f"KEY#{digest}", "K")
        return None if body is None else ApiKey.model_validate_json(body)

    def list(self) -> tuple[ApiKey, ...]:
        with self._database.reading() as items:
            bodies = items.listed("key", after="", limit=-1)
        keys = [ApiKey.model_validate_json(body) for body in bodies]
        return tuple(sorted(keys, key=lambda key: (key.created_at, key.id)))

    def revoke(self, key_id: str, now: datetime) -> ApiKey:
        for key in self.list():
            if key.id == key_id:
                revoked = key.replaced(revoked_at=key.revoked_at or now)
                with self._database.writing() as items:
                    body = revoked.model_dump_json()
                    items.put(f"KEY#{key.hash}", "K", body, listing="key")
                return revoked
        raise NotFound(f"there is no key {key_id!r}", cure="list them with `opencrab keys list`")


class SqliteIdempotency:
    """`ports.access.idempotency.Idempotency` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, key: str, request_hash: str, now: datetime) -> RememberedRequest | None:
        with self._database.writing() as items:
            row = items.execute(
                "SELECT body FROM item WHERE pk=? AND sk='I' AND expires_at>?",
                (f"IDEMPOTENCY#{key}", to_milliseconds(now)),
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
        with self._database.writing() as items:
            stored = items.get(f"IDEMPOTENCY#{key}", "I")
            if stored is not None:
                request_hash = json.loads(stored)[0]
                items.execute(
                    "UPDATE item SET body=? WHERE pk=? AND sk='I'",
                    (json.dumps([request_hash, status, body]), f"IDEMPOTENCY#{key}"),
                )


class SqliteFeed:
    """`ports.conversation.feed.ChangeFeed` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, *, after: int, limit: int) -> tuple[FeedEntry, ...]:
        with self._database.reading() as items:
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
        with self._database.reading() as items:
            row = items.execute("SELECT max(position) FROM feed").fetchone()
        return int(row[0] or 0)
