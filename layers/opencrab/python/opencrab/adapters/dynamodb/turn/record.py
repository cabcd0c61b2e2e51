"""A turn's records in the table: intents and results beside their header, put once."""

from datetime import datetime, timedelta

from pydantic import ConfigDict, TypeAdapter

from opencrab.adapters.dynamodb.item import Item, Schema, item_time_to_live, item_with_defaults
from opencrab.adapters.dynamodb.table import Table, Write, item_absent, put_item
from opencrab.adapters.dynamodb.turn.header import dynamodb_turn_partition
from opencrab.domain.turn.action import MemoriesFound
from opencrab.domain.turn.record import (
    CallResult,
    ModelIntent,
    Record,
    key_of_turn_record,
    stored_body_of_turn_record,
)
from opencrab.domain.value import read_stored_json

SCHEMA = Schema("record", (item_with_defaults, item_with_defaults, item_with_defaults))
BEFORE = SCHEMA.version - 1
"""The version of a record in which nothing is new: code of the last release reads it."""

LIFE = timedelta(days=90)
"""From its writing: 14 days in a queue and 35 after the turn's end leave 41 for an approval."""

_RECORD: TypeAdapter[Record] = TypeAdapter(Record, config=ConfigDict(defer_build=True))
_FIRST, _LAST = "0", "9~"


def record_to_dynamodb_item(turn_id: str, record: Record, at: datetime) -> Item:
    """Serialize a record to an item."""
    fields = {
        "schema": SCHEMA.version if _is_newest(record) else BEFORE,
        "body": stored_body_of_turn_record(record),
        "ttl": item_time_to_live(at + LIFE),
    }
    return SCHEMA.encode_item(dynamodb_turn_partition(turn_id), key_of_turn_record(record), fields)


def turn_record_from_dynamodb_item(item: Item) -> Record:
    """Deserialize a record from an item."""
    return read_stored_json(_RECORD, SCHEMA.decode_item(item)["body"])


def put_record_in_dynamodb(turn_id: str, record: Record, at: datetime) -> Write:
    """Return the write that stores a record, on condition that it does not exist."""
    return put_item(record_to_dynamodb_item(turn_id, record, at), item_absent())


def get_dynamodb_records(table: Table, turn_id: str) -> tuple[Record, ...]:
    """Return a turn's records in order of their sort keys."""
    return tuple(map(turn_record_from_dynamodb_item, query_turn_record_items(table, turn_id)))


def query_turn_record_items(table: Table, turn_id: str) -> list[Item]:
    """Query the items of a turn's records."""
    return table.query(dynamodb_turn_partition(turn_id), _FIRST, _LAST)


def _is_newest(record: Record) -> bool:
    """Check whether a record uses fields that only this schema version has."""
    match record:
        case ModelIntent():
            drawn = record.basis is not None and bool(record.basis.lots)
            return drawn or record.probability != 1.0 or bool(record.skills_held)
        case CallResult():
            return any(isinstance(each, MemoriesFound) for each in record.result.side_effects)
        case _:
            return False
