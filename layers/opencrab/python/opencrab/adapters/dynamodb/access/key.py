"""API keys in the table, by the hash of their secret."""

from datetime import datetime

from opencrab.adapters.dynamodb.item import SHARDS, Item, Schema, item_shard
from opencrab.adapters.dynamodb.table import ConditionFailed, Table, item_absent, put_item
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.errors import Conflict, NotFound

SCHEMA = Schema("key")
LIST = "key"
HEAD = "K"


class DynamoKeys:
    """`ports.access.keys.Keys` on the table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def put(self, key: ApiKey) -> None:
        try:
            self._table.write(put_item(to_item(key), item_absent()))
        except ConditionFailed as refusal:
            if refusal.item is None or from_item(refusal.item) != key:
                raise Conflict("a key with this secret exists already") from None

    def find(self, digest: str) -> ApiKey | None:
        item = self._table.get(_partition(digest), HEAD)
        return None if item is None else from_item(item)

    def list(self) -> tuple[ApiKey, ...]:
        shards = (self._table.listed(f"{LIST}#{place}", "KEY#", None) for place in range(SHARDS))
        names = [(item["pk"]["S"], HEAD) for keys in shards for item in keys]
        keys = map(from_item, self._table.several(names).values())
        return tuple(sorted(keys, key=lambda key: (key.created_at, key.id)))

    def revoke(self, key_id: str, now: datetime) -> ApiKey:
        for key in self.list():
            if key.id == key_id:
                revoked = key.replaced(revoked_at=key.revoked_at or now)
                self._table.write(put_item(to_item(revoked)))
                return revoked
        raise NotFound(f"there is no key {key_id!r}", cure="list them with `opencrab keys list`")


def to_item(key: ApiKey) -> Item:
    """The key as an item."""
    fields = {"body": key.model_dump_json(), "list": f"{LIST}#{item_shard(key.hash)}"}
    return SCHEMA.item(_partition(key.hash), HEAD, fields)


def from_item(item: Item) -> ApiKey:
    """The key that an item holds."""
    return ApiKey.model_validate_json(SCHEMA.fields(item)["body"])


def _partition(digest: str) -> str:
    return f"KEY#{digest}"
