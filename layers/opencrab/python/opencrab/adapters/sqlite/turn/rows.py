"""Rows of turns: headers, records and lines as items, with what the feed tells of them."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import chain

from pydantic import TypeAdapter

from opencrab.adapters.sqlite.database import FeedItem, ItemRow, Place, SqliteItems, WriteBatch
from opencrab.domain.conversation.message import Line, Utterance
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.record import Record
from opencrab.domain.turn.turn import Turn, TurnStatus

RETENTION = timedelta(days=35)
RECORD: TypeAdapter[Record] = TypeAdapter(Record)


_ITEM = "SELECT pk, sk, body FROM item WHERE pk=? AND sk=? UNION ALL "
_LAST_LINE = "SELECT '', max(sk), '' FROM item WHERE pk=? AND sk>='L#' AND sk<'L$'"


def read_with_last_line(
    items: SqliteItems, session_id: str, places: Sequence[Place]
) -> tuple[dict[Place, str], str | None]:
    """Return the bodies of items and the key of a session's last line, with one statement."""
    statement = f"{_ITEM * len(places)}{_LAST_LINE}"
    values = (*chain.from_iterable(places), f"SESSION#{session_id}")
    *rows, (_, last, _) = items.execute(statement, values).fetchall()
    return {(pk, sk): body for pk, sk, body in rows}, last


def turn_in_journal(items: SqliteItems, turn_id: str) -> Turn:
    """Read a turn's header; raise NotFound."""
    return turn_of_row(turn_id, items.get(f"TURN#{turn_id}", "H"))


def records_of_turn_row(items: SqliteItems, turn_id: str) -> tuple[Record, ...]:
    """Return a turn's records in order of their sort keys."""
    rows = items.between(f"TURN#{turn_id}", "0", ":")
    return tuple(RECORD.validate_json(body) for _, body in rows)


def put_sqlite_turn(items: SqliteItems, turn: Turn, *, before: TurnStatus | None = None) -> None:
    """Write a header, with a feed entry if its status differs from `before`."""
    batch = WriteBatch()
    add_turn(batch, turn, before=before)
    items.write(batch)


def turn_of_row(turn_id: str, body: str | None) -> Turn:
    """Return the header of a row's body; raise NotFound if there is none."""
    if body is None:
        raise NotFound(
            f"there is no turn {turn_id!r}",
            cure="use a turn_id from GET /api/sessions/{session_id}/messages",
        )
    return Turn.model_validate_json(body)


def add_turn(
    batch: WriteBatch, turn: Turn, *, absent: bool = False, before: TurnStatus | None = None
) -> None:
    """Add a header to a batch, with a feed entry if its status differs from `before`."""
    alive = turn.status in {TurnStatus.QUEUED, TurnStatus.RUNNING}
    due = ("turn", turn.lease_until) if alive and turn.lease_until else None
    row = ItemRow(f"TURN#{turn.id}", "H", turn.model_dump_json(), due=due)
    (batch.new if absent else batch.put).append(row)
    if turn.ended_at is not None:
        batch.expiring.append((row.pk, turn.ended_at + RETENTION))
    # Each step writes its header, and the feed tells only of what a reader can see of it.
    if turn.status is not before:
        moment = turn.ended_at or turn.lease_until or turn.created_at
        batch.feed.append(FeedItem(moment, "turn", turn.session_id, turn.id, turn.status.value))


def utterance_row(utterance: Utterance) -> ItemRow:
    """Serialize an utterance that is yet to be sent to an item row."""
    return ItemRow(
        f"OUT#{utterance.channel.target}",
        utterance.key,
        utterance.model_dump_json(),
        due=("outbox", utterance.updated_at),
    )


def add_lines(batch: WriteBatch, lines: tuple[Line, ...], last: str | None) -> tuple[Line, ...]:
    """Add lines to a batch with the numbers after the last key; return them as stored."""
    # Numbers have no gaps, since a gap looks like a line that is late (ADR 0010); the writer's lock
    # keeps the last one the last.
    placed, before = [], int(last.removeprefix("L#")) if last else 0
    for sequence, line in enumerate(lines, before + 1):
        opened = line.group_line if line.group_line is not None else sequence
        stored = line.replaced(sequence=sequence, group_line=opened)
        body = stored.model_dump_json()
        batch.new.append(ItemRow(f"SESSION#{line.session_id}", f"L#{sequence:010d}", body))
        batch.feed.append(FeedItem(line.at, "line", line.session_id, line.turn_id, body))
        placed.append(stored)
    return tuple(placed)
