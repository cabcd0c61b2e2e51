"""Message markers in the table: what makes the same message again the same turns."""

from datetime import timedelta

from opencrab.adapters.dynamodb.item import Item, Schema, item_time_to_live
from opencrab.adapters.dynamodb.table import Write, item_absent, put_item
from opencrab.domain.errors import Conflict
from opencrab.ports.turn.journal import AdmittedMessage

SCHEMA = Schema("message")
MARK = "M"
RETENTION = timedelta(days=35)


def put_message_marker_in_dynamodb(admission: AdmittedMessage) -> Write:
    """Return the write of a message's marker, on condition that it does not exist."""
    fields = {
        "body_hash": admission.body_hash,
        "turns": [turn.id for turn in admission.turns],
        "ttl": item_time_to_live(admission.line.at + RETENTION),
    }
    return put_item(
        SCHEMA.encode_item(dynamodb_message_partition(admission.message_id), MARK, fields),
        item_absent(),
    )


def turn_ids_of_dynamodb_message(item: Item, admission: AdmittedMessage) -> tuple[str, ...]:
    """Return the ids of the turns of an admitted message; raise Conflict for another message."""
    fields = SCHEMA.decode_item(item)
    if fields.get("body_hash") != admission.body_hash:
        raise Conflict(
            f"id {admission.message_id!r} was already used for another message",
            field="Idempotency-Key",
            cure="use a new id for a new message",
        )
    return tuple(fields["turns"])


def turn_ids_of_marker_item(item: Item) -> tuple[str, ...]:
    """Return the turn ids of a marker; an instruction's marker has none."""
    return tuple(one["S"] for one in item.get("turns", {}).get("L", ()))


def dynamodb_message_partition(message_id: str) -> str:
    """Return the partition key of a message's marker."""
    return f"MESSAGE#{message_id}"
