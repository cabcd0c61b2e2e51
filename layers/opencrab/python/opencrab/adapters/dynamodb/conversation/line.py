"""Session lines in the table: numbered without gaps, put once, never expiring."""

import json
from collections.abc import Sequence

from opencrab.adapters.dynamodb.conversation.session import dynamodb_session_partition
from opencrab.adapters.dynamodb.item import Item, Schema, item_with_defaults
from opencrab.adapters.dynamodb.table import Table, Write, item_absent, put_item
from opencrab.domain.conversation.message import Line

SCHEMA = Schema("line", (item_with_defaults,))
_DIGITS = 10
LAST = 10**_DIGITS - 1


def line_to_dynamodb_item(line: Line) -> Item:
    """Serialize a line to an item; the key's fields are left out of the body."""
    body = line.to_stored(exclude={"session_id", "sequence"}, exclude_defaults=True)
    return SCHEMA.encode_item(
        dynamodb_session_partition(line.session_id),
        dynamodb_line_sort_key(line.sequence),
        {"body": body},
    )


def line_from_dynamodb_item(item: Item) -> Line:
    """Deserialize a line from an item."""
    fields = SCHEMA.decode_item(item)
    place = {
        "session_id": fields["pk"].removeprefix("SESSION#"),
        "sequence": int(fields["sk"].removeprefix("L#")),
    }
    return Line.from_stored(json.loads(fields["body"]) | place)


def put_line_in_dynamodb(line: Line) -> Write:
    """Return the write that stores a line, on condition that it does not exist."""
    return put_item(line_to_dynamodb_item(line), item_absent())


def number_dynamodb_lines(lines: Sequence[Line], last: int) -> tuple[Line, ...]:
    """Number new lines, starting after their session's last sequence."""
    return tuple(
        line.replaced(
            sequence=sequence,
            group_line=sequence if line.group_line is None else line.group_line,
        )
        for sequence, line in enumerate(lines, last + 1)
    )


def dynamodb_line_sort_key(sequence: int) -> str:
    """Return the sort key of a line in its session's partition."""
    return f"L#{sequence:0{_DIGITS}d}"


def query_dynamodb_lines_between(
    table: Table,
    session_id: str,
    bounds: tuple[int, int | None],
    limit: int,
    *,
    newest_first: bool,
) -> tuple[Line, ...]:
    """Query a session's lines with after < sequence < before; `bounds` is (after, before)."""
    after, before = bounds
    low, high = (
        dynamodb_line_sort_key(after + 1),
        dynamodb_line_sort_key(LAST if before is None else before - 1),
    )
    if low > high:
        return ()
    items = table.query(
        dynamodb_session_partition(session_id), low, high, limit=limit, newest_first=newest_first
    )
    return tuple(line_from_dynamodb_item(item) for item in items)
