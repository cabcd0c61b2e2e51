"""Due items in the table: work for later, found by its time."""

from datetime import datetime
from itertools import islice

from opencrab.adapters.dynamodb.item import (
    Item,
    Schema,
    item_shard,
    item_with_defaults,
    to_item_microseconds,
)
from opencrab.adapters.dynamodb.listing import decode_dynamodb_items, dynamodb_due_items
from opencrab.adapters.dynamodb.table import Table, Write, delete_dynamodb_item, put_item
from opencrab.domain.turn.due_item import DueItem

SCHEMA = Schema("due", (item_with_defaults,))
LIST = "due"
HEAD = "D"


class DynamoDueItems:
    """`ports.turn.due_items.DueItems` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def put(self, item: DueItem) -> None:
        self._table.write(put_new_due_item(item))

    def list_due(self, now: datetime, limit: int) -> tuple[DueItem, ...]:
        found = decode_dynamodb_items(
            _due_item_from_dynamodb_item,
            dynamodb_due_items(self._table, LIST, to_item_microseconds(now)),
        )
        return tuple(islice((item for item in found if item.at <= now), limit))

    def get(self, item_id: str) -> DueItem | None:
        item = self._table.get(_partition(item_id), HEAD)
        return None if item is None else _due_item_from_dynamodb_item(item)

    def remove(self, item_id: str) -> None:
        self._table.write(delete_dynamodb_item(_partition(item_id), HEAD))


def _due_item_to_dynamodb_item(item: DueItem) -> Item:
    """Serialize a due item to an item of the table."""
    fields = {
        "body": item.to_stored(),
        "due_list": f"{LIST}#{item_shard(item.id)}",
        "due_at": to_item_microseconds(item.at),
    }
    return SCHEMA.encode_item(_partition(item.id), HEAD, fields)


def _due_item_from_dynamodb_item(item: Item) -> DueItem:
    """Deserialize a due item from an item of the table."""
    return DueItem.from_stored(SCHEMA.decode_item(item)["body"])


def put_new_due_item(item: DueItem) -> Write:
    """Return the write that stores a due item, replacing one with the same id."""
    return put_item(_due_item_to_dynamodb_item(item))


def _partition(item_id: str) -> str:
    return f"DUE#{item_id}"
