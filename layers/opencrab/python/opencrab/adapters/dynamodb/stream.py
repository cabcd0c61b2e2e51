"""The change feed as DynamoDB Streams tell it: lines, turns' statuses and facts.

They are in order within a partition of the table, which a session and an agent's facts each are.
A Lambda function gets the records of its event source; nobody asks for positions here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opencrab.adapters.dynamodb.conversation import line as line_items
from opencrab.adapters.dynamodb.turn import header as headers
from opencrab.ports.conversation.feed import INDEXED_KINDS, DocumentChange, FeedEntry


def dynamodb_stream_entries(records: Iterable[Mapping[str, Any]]) -> Iterator[FeedEntry]:
    """Convert stream records to feed entries: new lines, changed turn states, changed documents.

    An entry's position is its sequence number, which grows within one partition of the table. Other
    kinds of items, other removals and changes without effect yield nothing.
    """
    for record in records:
        change = record.get("dynamodb", {})
        key, position = change.get("Keys", {}), int(change.get("SequenceNumber", "0"))
        partition, place = key.get("pk", {}).get("S", ""), key.get("sk", {}).get("S", "")
        if partition.startswith("FACT#"):
            yield from _fact(record, partition, place, position)
            continue
        new = change.get("NewImage")
        if record.get("eventName") not in {"INSERT", "MODIFY"} or not new:
            continue
        if partition.startswith("SESSION#") and place.startswith("L#"):
            if record["eventName"] == "INSERT":
                line = line_items.line_from_dynamodb_item(new)
                body = line.to_stored()
                yield FeedEntry(position, "line", line.session_id, line.turn_id, body)
        elif partition.startswith("TURN#") and place == headers.HEADER:
            turn = headers.turn_from_dynamodb_item(new)
            before = change.get("OldImage", {}).get("status", {}).get("S")
            if turn.status.value != before:
                status = turn.status.value
                yield FeedEntry(position, "turn", turn.session_id, turn.id, status)


def _fact(
    record: Mapping[str, Any], partition: str, place: str, position: int
) -> Iterator[FeedEntry]:
    """Yield the entry of a document from its key alone, which no schema version changes."""
    kind, _, fact_id = place.partition("#")
    if kind in INDEXED_KINDS:
        told = DocumentChange(
            owner=partition.partition("#")[2],
            kind=kind,
            id=fact_id,
            removed=record.get("eventName") == "REMOVE",
        )
        body = told.to_stored(exclude_defaults=True)
        yield FeedEntry(position, "fact", "", None, body)
