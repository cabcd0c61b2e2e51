"""Rows of turns: what a change of a turn reads and writes, and what the feed tells of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from pydantic import ConfigDict, TypeAdapter, ValidationError

from opencrab.adapters.sqlite import board as boards
from opencrab.adapters.sqlite.agents import (
    add_sqlite_unanswered_messages,
    session_of_sqlite_rows,
    sqlite_session_places,
    sqlite_session_row,
)
from opencrab.adapters.sqlite.database import FeedItem, ItemRow, Place, SqliteItems, WriteBatch
from opencrab.adapters.sqlite.documents import add_documents_to_sqlite_batch, sqlite_document_places
from opencrab.adapters.sqlite.due_items import sqlite_row_of_due_item
from opencrab.domain.conversation.message import Line, Utterance
from opencrab.domain.errors import NotFound, Stopped, Superseded
from opencrab.domain.turn.record import (
    ModelIntent,
    ModelResult,
    Record,
    key_of_turn_record,
    stored_body_of_turn_record,
)
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.usage.counters import ACTIVE_KEPT, DailyTally, usage_tally_of_call
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import read_stored_json
from opencrab.ports.turn.journal import TurnChange

RETENTION = timedelta(days=35)
HEADER_ROOM = 640
"""What a usual header needs when its turn has ended, in characters."""

USAGE, TALLY = "USAGE#", "TALLY#"
"""How the partitions of an agent's calls and of its daily counters begin."""

RECORD: TypeAdapter[Record] = TypeAdapter(Record)
_LINES = TypeAdapter(tuple[Line, ...], config=ConfigDict(defer_build=True))
_REMEMBERED = 1_024
"""The number of lines that are remembered: those that some ten turns show."""

_LONGEST_REMEMBERED = 2_000
"""The characters of a stored line that is remembered."""


_ITEM = "SELECT pk, sk, body FROM item WHERE pk=? AND sk=? UNION ALL "
_LAST_LINE = "SELECT '', max(sk), '' FROM item WHERE pk=? AND sk>='L#' AND sk<'L$'"


@dataclass(frozen=True)
class CallCount:
    """The counters that one call adds, the key of their item, and the time of the call."""

    place: Place
    tally: DailyTally
    at: datetime


def read_sqlite_rows_with_last_line(
    items: SqliteItems, session_id: str, places: Sequence[Place]
) -> tuple[dict[Place, str], str | None]:
    """Return the bodies of items and the key of a session's last line, with one statement."""
    statement = f"{_ITEM * len(places)}{_LAST_LINE}"
    values = (*chain.from_iterable(places), f"SESSION#{session_id}")
    *rows, (_, last, _) = items.execute(statement, values).fetchall()
    return {(pk, sk): body for pk, sk, body in rows}, last


def sqlite_turn(items: SqliteItems, turn_id: str) -> Turn:
    """Read a turn's header; raise NotFound."""
    return turn_of_sqlite_row(turn_id, items.get(f"TURN#{turn_id}", "H"))


def turn_records_in_sqlite(items: SqliteItems, turn_id: str) -> tuple[Record, ...]:
    """Return a turn's records in order of their sort keys."""
    rows = items.between(f"TURN#{turn_id}", "0", ":")
    return records_of_sqlite_rows([body for _, body in rows])


def records_of_sqlite_rows(bodies: Iterable[str]) -> tuple[Record, ...]:
    """Return the records of rows by their bodies."""
    try:
        return tuple(map(RECORD.validate_json, bodies))
    except ValidationError:
        return tuple(read_stored_json(RECORD, body) for body in bodies)


def put_sqlite_turn(items: SqliteItems, turn: Turn, *, before: TurnStatus | None = None) -> None:
    """Write a header, with a feed entry if its status differs from `before`."""
    batch = WriteBatch()
    add_turn_to_sqlite_batch(batch, turn, before=before)
    items.write(batch)


def turn_of_sqlite_row(turn_id: str, body: str | None) -> Turn:
    """Return the header of a row's body; raise NotFound if there is none."""
    if body is None:
        raise NotFound(
            f"there is no turn {turn_id!r}",
            cure="use a turn_id from GET /api/sessions/{session_id}/messages",
        )
    return Turn.from_stored(body)


def add_turn_to_sqlite_batch(
    batch: WriteBatch,
    turn: Turn,
    *,
    absent: bool = False,
    before: TurnStatus | None = None,
    stored: Turn | None = None,
) -> None:
    """Add a header to a batch, with a feed entry if its status differs from `before`.

    With `stored`, the header that it replaces, the index of due times stays as it is if the turn is
    due in the same minute: each step moves the lease a little, and who lists turns looks at that.
    """
    lease = _lease(turn)
    body, due = turn.without_defaults(), None if lease is None else ("turn", lease)
    row = ItemRow(f"TURN#{turn.id}", "H", body, due=due, room=HEADER_ROOM)
    if absent:
        batch.new.append(row)
    elif stored is not None and _is_same_minute(_lease(stored), lease):
        batch.bodies.append(row)
    else:
        batch.put.append(row)
    if turn.ended_at is not None:
        batch.expiring.append((row.pk, turn.ended_at + RETENTION))
    # Each step writes its header, and the feed tells only of what a reader can see of it.
    if turn.status is not before:
        moment = turn.ended_at or turn.lease_until or turn.created_at
        batch.feed.append(FeedItem(moment, "turn", turn.session_id, turn.id, turn.status.value))


def _lease(turn: Turn) -> datetime | None:
    """Return until when a worker has the turn; None if it has ended or waits."""
    alive = turn.status in {TurnStatus.QUEUED, TurnStatus.RUNNING}
    return turn.lease_until if alive else None


def _is_same_minute(one: datetime | None, other: datetime | None) -> bool:
    if one is None or other is None:
        return False
    return one.replace(second=0, microsecond=0) == other.replace(second=0, microsecond=0)


def _utterance_row(utterance: Utterance) -> ItemRow:
    """Serialize an utterance that is yet to be sent to an item row."""
    return ItemRow(
        f"OUT#{utterance.channel.target}",
        utterance.key,
        utterance.to_stored(),
        due=("outbox", utterance.updated_at),
    )


def add_lines_to_sqlite_batch(
    batch: WriteBatch, lines: tuple[Line, ...], last: str | None
) -> tuple[Line, ...]:
    """Add lines to a batch with the numbers after the last key; return them as stored."""
    # Numbers have no gaps, since a gap looks like a line that is late (ADR 0010); the writer's lock
    # keeps the last one the last.
    placed, before = [], int(last.removeprefix("L#")) if last else 0
    for sequence, line in enumerate(lines, before + 1):
        opened = line.group_line if line.group_line is not None else sequence
        stored = line.replaced(sequence=sequence, group_line=opened)
        body = stored.without_defaults()
        batch.new.append(ItemRow(f"SESSION#{line.session_id}", f"L#{sequence:010d}", body))
        batch.feed.append(FeedItem(line.at, "line", line.session_id, line.turn_id, body))
        placed.append(stored)
    return tuple(placed)


def may_sqlite_change_be_lost(change: TurnChange) -> bool:
    """Check whether losing a change in a power failure equals a death just before it (ADR 0039).

    So it is with a model's answer, whose intent then counts as unknown, and with the intent of a
    call that costs nothing. Nobody was told of either, and no effect follows before another change
    is on the disk.
    """
    told = change.lines or change.utterances or change.due or change.facts or change.draws
    if told or change.session is not None or change.turn.status is not TurnStatus.RUNNING:
        return False
    return all(
        isinstance(each, ModelResult) or (isinstance(each, ModelIntent) and not each.reserved)
        for each in change.records
    )


def sqlite_change_keys(change: TurnChange) -> list[Place]:
    """Return the keys of all items that a change depends on, except lines and tallies."""
    places = [(f"TURN#{change.turn.id}", "H")]
    if change.draws:
        places += boards.sqlite_budget_keys(change.draws)
    if change.facts:
        places += sqlite_document_places(change.facts)
    if change.session is not None:
        places += sqlite_session_places(change.turn.session_id)
    return places


def sqlite_change_rows(
    change: TurnChange, stored: Mapping[Place, str], last: str | None, counts: list[CallCount]
) -> tuple[Turn, WriteBatch]:
    """Return the header and all rows of a change; raise what `Journal.commit` raises.

    `stored` are the items at `sqlite_change_keys` and of the counts, `last` is the key of the last
    line.
    """
    turn = change.turn
    before = turn_of_sqlite_row(turn.id, stored.get((f"TURN#{turn.id}", "H")))
    _check(before, change)
    # A stop is not the worker's to write: one that came meanwhile stays (ADR 0009).
    turn = turn.replaced(stop=before.stop)
    batch = WriteBatch()
    # The feed tells of facts first, then of lines, then of the turn that wrote both.
    if change.facts:
        add_documents_to_sqlite_batch(batch, change.facts, stored)
    if change.lines:
        add_lines_to_sqlite_batch(batch, change.lines, last)
    add_turn_to_sqlite_batch(batch, turn, before=before.status, stored=before)
    _add_others(batch, change, stored, counts)
    return turn, batch


def _add_others(
    batch: WriteBatch, change: TurnChange, stored: Mapping[Place, str], counts: list[CallCount]
) -> None:
    """Add a change's writes that have no feed entry; raise Exhausted or NotFound."""
    # None of these may be there already: they are what tells a step from its repetition (ADR 0004).
    pk = f"TURN#{change.turn.id}"
    batch.new += [
        ItemRow(pk, key_of_turn_record(each), stored_body_of_turn_record(each))
        for each in change.records
    ]
    batch.new += [_utterance_row(utterance) for utterance in change.utterances]
    if change.draws:
        boards.add_sqlite_budget_draws(batch, change.draws, stored)
    if change.usage:
        batch.new += map(sqlite_usage_row, change.usage)
        add_sqlite_usage_counts(batch, counts, stored)
    batch.put += map(sqlite_row_of_due_item, change.due)
    if change.session is not None and change.at is not None:
        session_id = change.turn.session_id
        before = session_of_sqlite_rows(session_id, stored)
        session = before.after_turn(change.session, change.at)
        batch.bodies.append(sqlite_session_row(session))
        add_sqlite_unanswered_messages(batch, before, session)


def sqlite_usage_row(row: UsageRow) -> ItemRow:
    """Serialize a usage row to an item row."""
    return ItemRow(f"{USAGE}{row.agent_id}", row.id, row.without_defaults())


def sqlite_call_counts(rows: Iterable[UsageRow]) -> list[CallCount]:
    """Convert usage rows to the counters that each call adds, with their keys."""
    return [sqlite_call_count(usage_tally_of_call(row), row.at) for row in rows]


def sqlite_call_count(tally: DailyTally, at: datetime) -> CallCount:
    """Return counters with the key of their item."""
    place = f"{TALLY}{tally.agent_id}", f"{tally.day}#{tally.cell.id}"
    return CallCount(place, tally, at)


def add_sqlite_usage_counts(
    batch: WriteBatch, counts: Iterable[CallCount], stored: Mapping[Place, str]
) -> None:
    """Add counters to a batch, in the transaction that writes the usage rows."""
    # Calls of one change often share a cell, and what is stored was read before any was added.
    totals: dict[Place, DailyTally] = {}
    for one in counts:
        if one.place in totals:
            total = totals[one.place] + one.tally
        elif one.place in stored:
            total = DailyTally.from_stored(stored[one.place]) + one.tally
        else:
            total = one.tally
        totals[one.place] = total
        batch.bodies.append(ItemRow(*one.place, total.without_defaults(), room=1))
        if one.place not in stored:
            # By the day and once, so that a later call moves nothing in the index of expiries.
            day = one.at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
            batch.put.append(
                ItemRow(f"ACTIVE#{total.day}", total.agent_id, "1", expires_at=day + ACTIVE_KEPT)
            )


def _check(stored: Turn, change: TurnChange) -> None:
    turn = change.turn
    if (
        stored.epoch != turn.epoch
        or stored.sequence != change.expected
        or stored.status is not TurnStatus.RUNNING
    ):
        raise Superseded(f"turn {turn.id!r} is owned by another worker")
    # An intent has no effect yet and is refused; a result is kept also after a stop (ADR 0009).
    if change.unless_stopped and stored.stop is not None:
        raise Stopped(f"turn {turn.id!r} was stopped; cancellation requested by {stored.stop.by!r}")
    if change.while_paused and stored.stop != turn.stop:
        raise Stopped(f"turn {turn.id!r} is no longer paused")


def read_stored_lines(bodies: Iterable[str]) -> tuple[Line, ...]:
    """Return the lines with these bodies, in one go, as a turn reads up to a hundred."""
    return read_stored_json(_LINES, f"[{','.join(bodies)}]")


class ParsedLines:
    """Remembers lines by their stored JSON, so that one that was changed is another one."""

    def __init__(self) -> None:
        self._lines = dict[str, Line]()

    def read(self, bodies: list[str]) -> tuple[Line, ...]:
        """Return the lines with these bodies; equal bodies give the same object for a while."""
        known = [self._lines.get(body) for body in bodies]
        unknown = [body for body, line in zip(bodies, known, strict=True) if line is None]
        if not unknown:
            return tuple(line for line in known if line is not None)
        parsed = read_stored_lines(unknown)
        if len(self._lines) + len(parsed) > _REMEMBERED:
            self._lines.clear()
        pairs = zip(unknown, parsed, strict=True)
        self._lines.update((body, line) for body, line in pairs if len(body) <= _LONGEST_REMEMBERED)
        fresh = iter(parsed)
        return tuple(next(fresh) if line is None else line for line in known)
