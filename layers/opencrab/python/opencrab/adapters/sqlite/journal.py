"""The turn journal on SQLite: each method one transaction.

A transaction first reads all that it depends on, then checks it, and writes at the end. The one
writer holds its lock from before the first read, so nobody writes in between (ADR 0006).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import TypeAdapter

from opencrab.adapters.sqlite import board as boards
from opencrab.adapters.sqlite import usage as ledger
from opencrab.adapters.sqlite.agents import (
    add_sqlite_unanswered_messages,
    session_of_sqlite_rows,
    sqlite_session_places,
    sqlite_session_row,
)
from opencrab.adapters.sqlite.database import (
    AlreadyThere,
    Database,
    FeedItem,
    ItemRow,
    Place,
    SqliteItems,
    WriteBatch,
)
from opencrab.adapters.sqlite.documents import add_sqlite_documents, sqlite_document_places
from opencrab.adapters.sqlite.queue import due_queue_row
from opencrab.adapters.sqlite.usage import CallCount, add_sqlite_usage_counts, sqlite_call_counts
from opencrab.domain.conversation.message import Instruction, Line, Utterance
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.document import Document
from opencrab.domain.errors import Conflict, NotFound, Stopped, Superseded
from opencrab.domain.turn.record import ApprovalDecision, ApprovalRequest, Record, turn_record_key
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.ports.turn.journal import (
    AdmittedMessage,
    Interruption,
    RecordedTurn,
    StepState,
    TurnChange,
)

RETENTION = INSTRUCTION_LIFE = timedelta(days=35)
_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


class SqliteJournal:
    """`ports.turn.journal.Journal` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admit(self, admission: AdmittedMessage) -> tuple[Turn, ...]:
        message = (f"MESSAGE#{admission.message_id}", "M")
        session_id, batch = admission.line.session_id, WriteBatch()
        with self._database.write_transaction() as items:
            stored = items.get_many((message, *sqlite_session_places(session_id)))
            last = items.last_key(f"SESSION#{session_id}", "L#", "L$")
            # The marker comes before all else: the same message again is answered as it was the
            # first time, also in a session that has ended since (ADR 0003).
            if message in stored:
                return self._admitted_before(items, admission, stored[message])
            session = _require_active(session_id, stored)
            add_sqlite_unanswered_messages(batch, session, admission.asked_in(session))
            (line,) = _add_lines(batch, (admission.line,), last)
            turns = tuple(
                turn.replaced(trigger_line=line.sequence, group=line.group)
                for turn in admission.turns
            )
            for turn in turns:
                _add_turn(batch, turn, absent=True)
            body = f"{admission.body_hash} {' '.join(turn.id for turn in turns)}"
            batch.new.append(ItemRow(*message, body, expires_at=line.at + RETENTION))
            try:
                items.write(batch)
            except AlreadyThere as error:
                turn_id = error.place[0].removeprefix("TURN#")
                raise Conflict(
                    f"turn {turn_id!r} was admitted with another message",
                    cure="use a new id for a new message",
                ) from error
            return turns

    def open(self, turn: Turn) -> Turn:
        batch = WriteBatch()
        _add_turn(batch, turn, absent=True)
        with self._database.write_transaction() as items:
            try:
                items.write(batch)
            except AlreadyThere:
                return sqlite_turn(items, turn.id)
            return turn

    def claim(
        self, turn_id: str, *, lease_until: datetime, receipt: str | None
    ) -> RecordedTurn | None:
        with self._database.write_transaction() as items:
            turn = _turn(turn_id, items.get(f"TURN#{turn_id}", "H"))
            if turn.status.is_end or turn.status is TurnStatus.WAITING:
                return None
            # A claim begins a new epoch, and whoever had the turn before fails at its next change:
            # a lease that has lapsed does not prove that its worker is dead (ADR 0004).
            turn = turn.with_claim(lease_until=lease_until, receipt=receipt)
            put_sqlite_turn(items, turn)
            records = turn_records_in_sqlite(items, turn_id) if turn.sequence > 1 else ()
            return RecordedTurn(turn, records)

    def commit(self, change: TurnChange) -> Turn:
        turn = change.turn
        places = _read_for(change)
        counts = sqlite_call_counts(change.usage) if change.usage else []
        with self._database.write_transaction() as items:
            stored = items.get_many([*places, *(one.place for one in counts)])
            last = None
            if change.lines:
                last = items.last_key(f"SESSION#{turn.session_id}", "L#", "L$")
            before = _turn(turn.id, stored.get((f"TURN#{turn.id}", "H")))
            _check(before, change)
            # A stop is not the worker's to write: one that came meanwhile stays (ADR 0009).
            turn = turn.replaced(stop=before.stop)
            batch = WriteBatch()
            # The feed tells of facts first, then of lines, then of the turn that wrote both.
            if change.facts:
                add_sqlite_documents(batch, change.facts, stored)
            if change.lines:
                _add_lines(batch, change.lines, last)
            _add_turn(batch, turn, before=before.status)
            _add_others(batch, change, stored, counts)
            try:
                items.write(batch)
            except AlreadyThere as error:
                raise Superseded(f"turn {turn.id!r} has this record already") from error
            return turn

    def load(self, turn_id: str) -> RecordedTurn:
        with self._database.read_transaction() as items:
            rows = dict(items.between(f"TURN#{turn_id}", "0", "I"))
        header = rows.pop("H", None)
        if header is None:
            raise NotFound(
                f"there is no turn {turn_id!r}",
                cure="use a turn_id from GET /api/sessions/{session_id}/messages",
            )
        records = tuple(_RECORD.validate_json(body) for body in rows.values())
        return RecordedTurn(Turn.model_validate_json(header), records)

    def header(self, turn_id: str) -> Turn:
        with self._database.read_transaction() as items:
            body = items.get(f"TURN#{turn_id}", "H")
        return _turn(turn_id, body)

    def read_step_state(self, turn: Turn) -> StepState:
        return boards.read_sqlite_step_state(self._database, turn)

    def interruption(self, turn: Turn) -> Interruption:
        with self._database.read_transaction() as items:
            stored, scope = sqlite_turn(items, turn.id), boards.sqlite_frozen_scope(items, turn)
        return Interruption(stored.stop, scope, superseded=stored.epoch != turn.epoch)

    def instruct(self, instruction: Instruction, line: Line) -> Instruction:
        message, inbox = (f"MESSAGE#{instruction.id}", "M"), f"INBOX#{instruction.session_id}"
        session_id, batch = instruction.session_id, WriteBatch()
        with self._database.write_transaction() as items:
            stored = items.get_many((message, (f"SESSION#{session_id}", "S")))
            last = items.last_key(f"SESSION#{session_id}", "L#", "L$")
            if message in stored:
                body = items.get(inbox, stored[message])
                return Instruction.model_validate_json(body) if body else instruction
            _require_active(session_id, stored)
            (placed_line,) = _add_lines(batch, (line,), last)
            placed = instruction.replaced(line=placed_line.sequence)
            name, expires = f"{placed.line:010d}", instruction.at + INSTRUCTION_LIFE
            batch.put += (
                ItemRow(inbox, name, placed.model_dump_json(), expires_at=expires),
                ItemRow(*message, name, expires_at=expires),
            )
            items.write(batch)
            return placed

    def stop(self, turn_id: str, stop: Stop) -> Turn:
        with self._database.write_transaction() as items:
            turn = sqlite_turn(items, turn_id)
            stopped = turn.with_stop(stop)
            if stopped is not turn:
                put_sqlite_turn(items, stopped)
            return stopped

    def resume(self, turn_id: str) -> Turn:
        with self._database.write_transaction() as items:
            turn = sqlite_turn(items, turn_id)
            if turn.status.is_end or turn.stop is None or not turn.stop.pause:
                return turn
            turn = _requeue_waiting(turn.replaced(stop=None))
            put_sqlite_turn(items, turn)
            return turn

    def decide(self, turn_id: str, decision: ApprovalDecision, *facts: Document) -> Turn:
        with self._database.write_transaction() as items:
            turn = sqlite_turn(items, turn_id)
            asked = [
                r for r in turn_records_in_sqlite(items, turn_id) if isinstance(r, ApprovalRequest)
            ]
            if (
                turn.status is not TurnStatus.WAITING
                or not asked
                or (asked[-1].n, asked[-1].call_id) != (decision.n, decision.call_id)
                or asked[-1].argument_hash != decision.argument_hash
            ):
                raise Conflict(
                    f"turn {turn_id!r} is not waiting for this decision",
                    cure="read the turn again: it may have been decided or stopped already",
                )
            batch = WriteBatch()
            add_sqlite_documents(batch, facts, items.get_many(sqlite_document_places(facts)))
            body = decision.model_dump_json()
            batch.new.append(ItemRow(f"TURN#{turn_id}", turn_record_key(decision), body))
            turn = _requeue_waiting(turn)
            _add_turn(batch, turn)
            items.write(batch)
            return turn

    def lines(
        self,
        session_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Line, ...]:
        with self._database.read_transaction() as items:
            high = "L$" if before is None else f"L#{before:010d}"
            rows = items.between(
                f"SESSION#{session_id}",
                f"L#{after + 1:010d}",
                high,
                limit=limit,
                newest_first=newest_first,
            )
        return tuple(Line.model_validate_json(body) for _, body in rows)

    def list_overdue(self, now: datetime, limit: int) -> tuple[Turn, ...]:
        with self._database.read_transaction() as items:
            bodies = items.query_due("turn", now, limit)
        return tuple(Turn.model_validate_json(body) for body in bodies)

    def extend(self, turn: Turn, lease_until: datetime) -> bool:
        with self._database.write_transaction() as items:
            # Whoever saw the turn lapse may be late: another sweep, or its own worker, was first.
            stored = sqlite_turn(items, turn.id)
            same = (turn.epoch, turn.status, turn.lease_until)
            if (stored.epoch, stored.status, stored.lease_until) != same:
                return False
            later = stored.replaced(lease_until=lease_until)
            put_sqlite_turn(items, later, before=stored.status)
            return True

    def _admitted_before(
        self, items: SqliteItems, admission: AdmittedMessage, marker: str
    ) -> tuple[Turn, ...]:
        body_hash, *turn_ids = marker.split(" ")
        if body_hash != admission.body_hash:
            raise Conflict(
                f"id {admission.message_id!r} was already used for another message",
                field="Idempotency-Key",
                cure="use a new id for a new message",
            )
        return tuple(sqlite_turn(items, turn_id) for turn_id in turn_ids)


def sqlite_turn(items: SqliteItems, turn_id: str) -> Turn:
    """Read a turn's header; raise NotFound."""
    return _turn(turn_id, items.get(f"TURN#{turn_id}", "H"))


def turn_records_in_sqlite(items: SqliteItems, turn_id: str) -> tuple[Record, ...]:
    """Return a turn's records in order of their sort keys."""
    rows = items.between(f"TURN#{turn_id}", "0", ":")
    return tuple(_RECORD.validate_json(body) for _, body in rows)


def put_sqlite_turn(items: SqliteItems, turn: Turn, *, before: TurnStatus | None = None) -> None:
    """Write a header, with a feed entry if its status differs from `before`."""
    batch = WriteBatch()
    _add_turn(batch, turn, before=before)
    items.write(batch)


def _turn(turn_id: str, body: str | None) -> Turn:
    if body is None:
        raise NotFound(
            f"there is no turn {turn_id!r}",
            cure="use a turn_id from GET /api/sessions/{session_id}/messages",
        )
    return Turn.model_validate_json(body)


def _add_turn(
    batch: WriteBatch, turn: Turn, *, absent: bool = False, before: TurnStatus | None = None
) -> None:
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


def _read_for(change: TurnChange) -> list[Place]:
    """Return the keys of all items that a change depends on, except lines and tallies."""
    places = [(f"TURN#{change.turn.id}", "H")]
    if change.draws:
        places += boards.sqlite_budget_keys(change.draws)
    if change.facts:
        places += sqlite_document_places(change.facts)
    if change.session is not None:
        places += sqlite_session_places(change.turn.session_id)
    return places


def _add_others(
    batch: WriteBatch, change: TurnChange, stored: Mapping[Place, str], counts: list[CallCount]
) -> None:
    """Add a change's writes that have no feed entry; raise Exhausted or NotFound."""
    # None of these may be there already: they are what tells a step from its repetition (ADR 0004).
    pk = f"TURN#{change.turn.id}"
    batch.new += [
        ItemRow(pk, turn_record_key(each), each.model_dump_json()) for each in change.records
    ]
    batch.new += [_utterance_row(utterance) for utterance in change.utterances]
    if change.draws:
        boards.add_sqlite_budget_draws(batch, change.draws, stored)
    if change.usage:
        batch.new += map(ledger.sqlite_usage_row, change.usage)
        add_sqlite_usage_counts(batch, counts, stored)
    batch.put += map(due_queue_row, change.due)
    if change.session is not None and change.at is not None:
        session_id = change.turn.session_id
        before = session_of_sqlite_rows(session_id, stored)
        session = before.after_turn(change.session, change.at)
        batch.put.append(sqlite_session_row(session))
        add_sqlite_unanswered_messages(batch, before, session)


def _utterance_row(utterance: Utterance) -> ItemRow:
    return ItemRow(
        f"OUT#{utterance.channel.target}",
        utterance.key,
        utterance.model_dump_json(),
        due=("outbox", utterance.updated_at),
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


def _requeue_waiting(turn: Turn) -> Turn:
    """Return the turn as queued if it waits, else unchanged."""
    return turn.replaced(status=TurnStatus.QUEUED) if turn.status is TurnStatus.WAITING else turn


def _add_lines(batch: WriteBatch, lines: tuple[Line, ...], last: str | None) -> tuple[Line, ...]:
    """Add lines with the next sequence numbers after the last key."""
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


def _require_active(session_id: str, stored: Mapping[Place, str]) -> Session:
    session = session_of_sqlite_rows(session_id, stored)
    if session.status is SessionStatus.ENDED:
        raise Conflict(f"session {session_id!r} has ended", cure="create a new session")
    return session
