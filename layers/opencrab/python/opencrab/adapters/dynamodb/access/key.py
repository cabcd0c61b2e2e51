"""API keys in the table, by the hash of their secret."""

from datetime import datetime

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb.item import SHARDS, Item, Schema, item_shard
from opencrab.adapters.dynamodb.table import (
    Cancelled,
    ConditionFailed,
    Table,
    check_item,
    item_absent,
    put_item,
)
from opencrab.domain.access.principal import (
    ADDED_LATER,
    ApiKey,
    key_to_revoke,
    remaining_owner_key,
)
from opencrab.domain.errors import Conflict, Unavailable

SCHEMA = Schema("key")
LIST = "key"
HEAD = "K"
REVOKING = 4
"""Tries to revoke a key."""


class DynamoKeys:
    """`ports.access.keys.Keys` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def put(self, key: ApiKey) -> None:
        try:
            self._table.write(put_item(api_key_to_dynamodb_item(key), item_absent()))
        except ConditionFailed as refusal:
            if refusal.item is None or api_key_from_dynamodb_item(refusal.item) != key:
                raise Conflict(
                    f"API key {key.id!r} has the same secret as an existing key",
                    cure="create the key again, with another secret",
                ) from None

    def find(self, digest: str) -> ApiKey | None:
        item = self._table.get(_partition(digest), HEAD)
        return None if item is None else api_key_from_dynamodb_item(item)

    def list(self) -> tuple[ApiKey, ...]:
        shards = (
            self._table.query_listing(f"{LIST}#{place}", "KEY#", None) for place in range(SHARDS)
        )
        names = [(item["pk"]["S"], HEAD) for keys in shards for item in keys]
        keys = map(api_key_from_dynamodb_item, self._table.get_many(names).values())
        return tuple(sorted(keys, key=lambda key: (key.created_at, key.id)))

    def revoke(self, key_id: str, now: datetime, *, keep_last_owner: bool = True) -> ApiKey:
        for tries in range(REVOKING):
            if tries:
                self._table.back_off(tries)
            keys = self.list()
            key = key_to_revoke(keys, key_id)
            revoked = key.replaced(revoked_at=key.revoked_at or now)
            writes = [put_item(api_key_to_dynamodb_item(revoked), _same_body(key))]
            other = remaining_owner_key(keys, key) if keep_last_owner else None
            if other is not None:
                writes.append(check_item(_partition(other.hash), HEAD, _same_body(other)))
            try:
                self._table.transact(*writes)
            except Cancelled:
                # Somebody revoked one of the two meanwhile: what is valid now decides.
                continue
            return revoked
        raise Unavailable(
            f"key {key_id!r} has too many concurrent updates; retries exhausted",
            cure="try again in a few seconds",
        )


def api_key_to_dynamodb_item(key: ApiKey) -> Item:
    """Serialize a key to an item."""
    fields = {
        "body": key.to_stored(exclude=ADDED_LATER),
        "list": f"{LIST}#{item_shard(key.hash)}",
        # Attributes of their own: the release before rejects a body that has them.
        "principal_id": key.principal_id,
        "grants": None if key.grants is None else list(key.grants),
    }
    return SCHEMA.encode_item(_partition(key.hash), HEAD, fields)


def api_key_from_dynamodb_item(item: Item) -> ApiKey:
    """Deserialize a key from an item."""
    fields = SCHEMA.decode_item(item)
    key = ApiKey.from_stored(fields["body"])
    beside = {name: fields[name] for name in ADDED_LATER if name in fields}
    return ApiKey.from_stored({**dict(key), **beside}) if beside else key


def _same_body(key: ApiKey) -> Condition:
    same: Condition = Path("body") == api_key_to_dynamodb_item(key)["body"]["S"]
    return same


def _partition(digest: str) -> str:
    return f"KEY#{digest}"
