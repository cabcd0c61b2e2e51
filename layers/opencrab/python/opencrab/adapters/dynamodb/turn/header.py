"""Turn headers in the table: every field an attribute, so that one call can claim a turn."""

import json
from datetime import datetime, timedelta
from typing import Any

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb.item import (
    Item,
    Schema,
    from_item_microseconds,
    item_shard,
    item_time_to_live,
    item_with_defaults,
    to_item_microseconds,
)
from opencrab.adapters.dynamodb.table import (
    ConditionFailed,
    Table,
    Write,
    dynamodb_attribute_changes,
    join_dynamodb_conditions,
    put_item,
    update_item,
)
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus

SCHEMA = Schema("turn", (item_with_defaults, item_with_defaults))
RETENTION = timedelta(days=35)
DUE = "turn"
HEADER = "H"

_COARSE = 5 * 60 * 1_000_000
_YOUNG = timedelta(minutes=10)
"""Most turns end before: they never move in the list of the sweep."""

_TIMES = ("lease_until", "created_at", "ended_at")
_NESTED = ("channel", "stop", "blocks")
_LAYOUT = {"pk", "sk", "schema", "ttl", "due_list", "due_at"}
"""Attributes of the item, not of the turn; any other that is unknown is of a newer release."""
_NEEDED = {"status", "epoch", "sequence", "deliveries"}
"""Attributes that conditions and updates speak of; others are left out where the default holds."""

_RUNNING = TurnStatus.RUNNING.value
_ALIVE = (TurnStatus.QUEUED, TurnStatus.RUNNING)


def dynamodb_turn_partition(turn_id: str) -> str:
    """Return the partition key of a turn's header and records."""
    return f"TURN#{turn_id}"


def turn_to_dynamodb_item(turn: Turn) -> Item:
    """Serialize a header to an item."""
    skipped = {"id", *_TIMES}
    fields = turn.model_dump(mode="json", exclude=skipped, exclude_defaults=True)
    if turn.__pydantic_extra__:
        fields |= turn.__pydantic_extra__
    fields |= turn.model_dump(mode="json", include=_NEEDED)
    for name in _NESTED:
        if name in fields:
            fields[name] = _text(fields[name])
    for name in _TIMES:
        at: datetime | None = getattr(turn, name)
        fields[name] = None if at is None else to_item_microseconds(at)
    return SCHEMA.encode_item(
        dynamodb_turn_partition(turn.id), HEADER, fields | _index(turn) | _expiry(turn)
    )


def turn_from_dynamodb_item(item: Item) -> Turn:
    """Deserialize a header from an item."""
    fields = SCHEMA.decode_item(item)
    known = {name: value for name, value in fields.items() if name not in _LAYOUT}
    for name in _NESTED:
        if name in known:
            known[name] = json.loads(known[name])
    for name in _TIMES:
        if name in known:
            known[name] = from_item_microseconds(known[name])
    return Turn.from_stored({"id": fields["pk"].removeprefix("TURN#"), **known})


def get_dynamodb_turn(table: Table, turn_id: str) -> Turn:
    """Read a header; raise NotFound."""
    item = table.get(dynamodb_turn_partition(turn_id), HEADER)
    if item is None:
        raise no_turn_in_dynamodb_error(turn_id)
    return turn_from_dynamodb_item(item)


def claim_turn_in_dynamodb(
    table: Table, turn_id: str, lease_until: datetime, receipt: str | None
) -> Turn | None:
    """Claim a turn as `Turn.with_claim` says, in one call; None if it has ended or waits."""
    change = dynamodb_attribute_changes(
        {
            "status": TurnStatus.RUNNING.value,
            "lease_until": to_item_microseconds(lease_until),
            "receipt": receipt,
        }
    )
    # A new epoch: whoever had the turn before fails at its next change, dead or not (ADR 0004).
    for counter in ("epoch", "deliveries"):
        change.add_action(Path(counter).set(Path(counter) + 1))
    takes = join_dynamodb_conditions(
        Path("status").is_in(*(status.value for status in _ALIVE)),
        Path("schema") <= SCHEMA.version,
        *([] if receipt is None else [_not_taken_with(receipt)]),
    )
    try:
        item = table.write(
            update_item(dynamodb_turn_partition(turn_id), HEADER, change, takes), answer="ALL_NEW"
        )
    except ConditionFailed as refusal:
        if refusal.item is None:
            raise no_turn_in_dynamodb_error(turn_id) from None
        stored = turn_from_dynamodb_item(refusal.item)
        if stored.status is TurnStatus.RUNNING and stored.receipt == receipt:
            return stored  # the network carried this very claim twice
        return None
    return turn_from_dynamodb_item(item)


def _not_taken_with(receipt: str) -> Condition:
    path = Path("receipt")
    return join_dynamodb_conditions(
        path.does_not_exist() | (path != receipt) | (Path("status") != _RUNNING)
    )


def replace_turn_in_dynamodb(turn: Turn, stored: Turn) -> Write:
    """Return the write that replaces a header, on condition that it is unchanged."""
    return put_item(turn_to_dynamodb_item(turn), _unchanged_turn_condition(stored))


def _unchanged_turn_condition(stored: Turn) -> Condition:
    """Return the condition that nobody changed a header since it was read."""
    path, lease = Path("lease_until"), stored.lease_until
    as_leased = path.does_not_exist() if lease is None else path == to_item_microseconds(lease)
    owned = _same_state_condition(stored.epoch, stored.sequence, stored.status)
    return join_dynamodb_conditions(owned, _stopped_as(stored.stop), as_leased)


def dynamodb_turn_owner_condition(turn: Turn, expected: int, *, unless_stopped: bool) -> Condition:
    """Return a change's condition: this worker's epoch and sequence, and the known stop."""
    # An intent holds only while nobody asked to stop; what has happened is kept also after a stop,
    # once the worker knows of it (ADR 0009).
    stop = _stopped_as(None if unless_stopped else turn.stop)
    return join_dynamodb_conditions(
        _same_state_condition(turn.epoch, expected, TurnStatus.RUNNING), stop
    )


def no_turn_in_dynamodb_error(turn_id: str) -> NotFound:
    """Return the error for a turn that does not exist."""
    return NotFound(
        f"there is no turn {turn_id!r}",
        cure="use a turn_id from GET /api/sessions/{session_id}/messages",
    )


def dynamodb_turn_sweep_time(moment: datetime) -> int:
    """Return a time in microseconds since 1970, rounded down to five minutes."""
    at = to_item_microseconds(moment)
    return at - at % _COARSE


def dynamodb_turn_place(item: Item) -> int:
    """Return where the item of a turn stands in the list of the sweep; 0 once it has left it.

    The list lags behind the items: a turn may have ended since it was listed.
    """
    return int(item["due_at"]["N"]) if "due_at" in item else 0


def is_turn_open_in_dynamodb(turn: Turn) -> bool:
    """Check whether a turn is queued or running."""
    return turn.status in _ALIVE


def _same_state_condition(epoch: int, sequence: int, status: TurnStatus) -> Condition:
    return join_dynamodb_conditions(
        Path("epoch") == epoch, Path("sequence") == sequence, Path("status") == status.value
    )


def _stopped_as(stop: Stop | None) -> Condition:
    # A stop stays, so that its being there says which one it is, however it is written; a pause may
    # be taken back, or become a stop.
    path = Path("stop")
    if stop is None:
        return join_dynamodb_conditions(path.does_not_exist())
    if stop.pause:
        return join_dynamodb_conditions(
            path == _text(stop.model_dump(mode="json", exclude_defaults=True))
        )
    return join_dynamodb_conditions(path.exists())


def _index(turn: Turn) -> dict[str, Any]:
    if not is_turn_open_in_dynamodb(turn) or turn.lease_until is None:
        return {}
    return {"due_list": f"{DUE}#{item_shard(turn.id)}", "due_at": _sweep_time(turn)}


def _sweep_time(turn: Turn) -> int:
    """Return from when on the sweep looks at a turn; never after the end of its lease.

    A new time costs two index writes, so that a young turn keeps the one of its creation, which a
    claim leaves as it is, and an older one has its lease's, rounded down. The sweep reads the exact
    lease from the item.
    """
    lease = turn.lease_until or turn.created_at
    young = turn.created_at <= lease < turn.created_at + _YOUNG
    return dynamodb_turn_sweep_time(turn.created_at if young else lease)


def _expiry(turn: Turn) -> dict[str, Any]:
    return {} if turn.ended_at is None else {"ttl": item_time_to_live(turn.ended_at + RETENTION)}


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
