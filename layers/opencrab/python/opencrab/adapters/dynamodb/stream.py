"""The change feed as DynamoDB Streams tell it: lines and turns' statuses, in order per partition.

A Lambda function gets the records of its event source; nobody asks for positions here.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opencrab.adapters.dynamodb import line as line_items
from opencrab.adapters.dynamodb import turn as headers
from opencrab.ports.feed import FeedEntry


def entries(records: Iterable[Mapping[str, Any]]) -> Iterator[FeedEntry]:
    """What the records of a stream tell: new lines, and turns whose status is another than before.

    The place of an entry is its sequence number, which grows within one partition of the table.
    Items of other kinds, removals and repeats that change nothing tell nothing.
    """
    for record in records:
        change = record.get("dynamodb", {})
        new = change.get("NewImage")
        if record.get("eventName") not in {"INSERT", "MODIFY"} or not new:
            continue
        key, position = new.get("pk", {}).get("S", ""), int(change.get("SequenceNumber", "0"))
        if key.startswith("SESSION#") and new["sk"]["S"].startswith("L#"):
            if record["eventName"] == "INSERT":
                line = line_items.from_item(new)
                body = line.model_dump_json()
                yield FeedEntry(position, "line", line.session_id, line.turn_id, body)
        elif key.startswith("TURN#") and new["sk"]["S"] == headers.HEADER:
            turn = headers.from_item(new)
            before = change.get("OldImage", {}).get("status", {}).get("S")
            if turn.status.value != before:
                status = turn.status.value
                yield FeedEntry(position, "turn", turn.session_id, turn.id, status)
