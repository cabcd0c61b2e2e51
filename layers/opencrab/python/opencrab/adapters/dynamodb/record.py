"""A turn's records in the table: intents and results beside their header, put once."""

from datetime import datetime, timedelta

from pydantic import ConfigDict, TypeAdapter

from opencrab.adapters.dynamodb.item import Item, Schema, ttl, with_defaults
from opencrab.adapters.dynamodb.table import Table, Write, absent, put
from opencrab.adapters.dynamodb.turn import partition
from opencrab.domain.record import Record, record_key

SCHEMA = Schema("record", (with_defaults, with_defaults))
LIFE = timedelta(days=90)
"""From its writing: 14 days in a queue and 35 after the turn's end leave 41 for an approval."""

_RECORD: TypeAdapter[Record] = TypeAdapter(Record, config=ConfigDict(defer_build=True))
_FIRST, _LAST = "0", "9~"


def to_item(turn_id: str, record: Record, at: datetime) -> Item:
    """The record as an item."""
    body = record.model_dump_json(exclude_defaults=False)
    fields = {"body": body, "ttl": ttl(at + LIFE)}
    return SCHEMA.item(partition(turn_id), record_key(record), fields)


def from_item(item: Item) -> Record:
    """The record that an item holds."""
    return _RECORD.validate_json(SCHEMA.fields(item)["body"])


def new(turn_id: str, record: Record, at: datetime) -> Write:
    """Put a record that must not be there yet."""
    return put(to_item(turn_id, record, at), absent())


def fetch(table: Table, turn_id: str) -> tuple[Record, ...]:
    """A turn's records in order of their keys."""
    return tuple(map(from_item, items_of(table, turn_id)))


def items_of(table: Table, turn_id: str) -> list[Item]:
    """The items that a turn's records are."""
    return table.query(partition(turn_id), _FIRST, _LAST)
