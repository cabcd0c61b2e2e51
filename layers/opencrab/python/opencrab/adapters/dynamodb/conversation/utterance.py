"""The outbox in the table: utterances by target, and which of them are not at an end."""

import secrets
from datetime import datetime, timedelta
from itertools import islice

from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb.item import (
    Item,
    Schema,
    item_shard,
    item_time_to_live,
    to_dynamodb_attribute,
    to_item_microseconds,
)
from opencrab.adapters.dynamodb.listing import decode_dynamodb_items, dynamodb_due_items
from opencrab.adapters.dynamodb.table import ConditionFailed, Table, Write, item_absent, put_item
from opencrab.domain.conversation.message import DeliveryState, Utterance
from opencrab.domain.errors import NotFound
from opencrab.domain.identifier import content_hash

SCHEMA = Schema("utterance")
DUE = "outbox"
RETENTION = timedelta(days=35)
_TARGET_BYTES = 512
_PIECE = "piece"
"""The attribute with the index of the piece that is sent now or next, unless it is the first."""


class DynamoOutbox:
    """`ports.conversation.outbox.Outbox` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, target: str, key: str) -> Utterance:
        item = self._table.get(_partition(target), key)
        if item is None:
            raise NotFound(f"there is no utterance {key!r} for {target!r}")
        return utterance_from_dynamodb_item(item)

    def mark(self, utterance: Utterance, expected: DeliveryState) -> bool:
        # The network may carry this very mark twice: then the second holds as well.
        token = to_dynamodb_attribute(secrets.token_hex(8))
        reached = Path(_PIECE).does_not_exist() | (Path(_PIECE) <= utterance.piece)
        holds = ((Path("state") == expected.value) & reached) | (Path("mark") == token)
        try:
            self._table.write(
                put_item(_utterance_to_dynamodb_item(utterance) | {"mark": token}, holds)
            )
        except ConditionFailed:
            return False
        return True

    def list_unsent(self, before: datetime, limit: int) -> tuple[Utterance, ...]:
        found = decode_dynamodb_items(
            utterance_from_dynamodb_item,
            dynamodb_due_items(self._table, DUE, to_item_microseconds(before)),
        )
        late = (one for one in found if not one.state.is_end and one.updated_at <= before)
        return tuple(islice(late, limit))


def _utterance_to_dynamodb_item(utterance: Utterance) -> Item:
    """Serialize an utterance to an item; an undelivered one is listed as due, others expire."""
    fields: dict[str, object] = {
        "body": utterance.to_stored(),
        "state": utterance.state.value,
    }
    if utterance.piece:
        fields[_PIECE] = utterance.piece
    if utterance.state.is_end:
        fields["ttl"] = item_time_to_live(utterance.updated_at + RETENTION)
    else:
        fields["due_list"] = f"{DUE}#{item_shard(utterance.key)}"
        fields["due_at"] = to_item_microseconds(utterance.updated_at)
    return SCHEMA.encode_item(_partition(utterance.channel.target), utterance.key, fields)


def utterance_from_dynamodb_item(item: Item) -> Utterance:
    """Deserialize an utterance from an item."""
    return Utterance.from_stored(SCHEMA.decode_item(item)["body"])


def put_utterance_in_dynamodb(utterance: Utterance) -> Write:
    """Return the write that stores an utterance, on condition that it does not exist."""
    return put_item(_utterance_to_dynamodb_item(utterance), item_absent())


def query_utterance_items(table: Table, target: str, turn_id: str) -> list[Item]:
    """Query the items of a turn's utterances to one target that have not expired."""
    return table.query_prefix(_partition(target), f"{turn_id}#")


def _partition(target: str) -> str:
    """Return the partition key; long targets are hashed, as keys are limited to 1,024 bytes."""
    if len(target.encode()) > _TARGET_BYTES:
        target = f"#{content_hash(target.encode())}"
    return f"OUT#{target}"
