"""The turn journal and its outbox on SQLite: each method one transaction.

A transaction first reads all that it depends on, then checks it, and writes at the end. The one
writer holds its lock from before the first read, so nobody writes in between (ADR 0006).
"""

from datetime import datetime, timedelta

from opencrab.adapters.sqlite import board as boards
from opencrab.adapters.sqlite.agents import (
    active_session_of_sqlite_rows,
    add_sqlite_unanswered_messages,
    sqlite_session_places,
)
from opencrab.adapters.sqlite.database import (
    AlreadyThere,
    Database,
    ItemRow,
    SqliteItems,
    WriteBatch,
    sqlite_milliseconds,
)
from opencrab.adapters.sqlite.documents import add_documents_to_sqlite_batch, sqlite_document_places
from opencrab.adapters.sqlite.queue import (
    TURNS,
    PendingClaimRegistry,
    add_message_to_sqlite_queue,
    remove_message_from_sqlite_queue,
    write_sqlite_queue_claim,
)
from opencrab.adapters.sqlite.turn.rows import (
    RETENTION,
    ParsedLines,
    add_lines_to_sqlite_batch,
    add_turn_to_sqlite_batch,
    may_sqlite_change_be_lost,
    put_sqlite_turn,
    read_sqlite_rows_with_last_line,
    read_stored_lines,
    records_of_sqlite_rows,
    sqlite_call_counts,
    sqlite_change_keys,
    sqlite_change_rows,
    sqlite_turn,
    turn_of_sqlite_row,
    turn_records_in_sqlite,
)
from opencrab.domain.conversation.message import DeliveryState, Instruction, Line, Utterance
from opencrab.domain.document import Document
from opencrab.domain.errors import Conflict, NotFound, Superseded
from opencrab.domain.turn.record import (
    ApprovalDecision,
    ApprovalRequest,
    key_of_turn_record,
)
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.ports.clock import Clock
from opencrab.ports.turn.journal import (
    AdmittedMessage,
    Interruption,
    RecordedTurn,
    StepState,
    TurnChange,
    has_turn_lapsed,
)

__all__ = [
    "RETENTION",
    "SqliteJournal",
    "SqliteOutbox",
    "put_sqlite_turn",
    "sqlite_turn",
    "turn_records_in_sqlite",
]

INSTRUCTION_LIFE = timedelta(days=35)


class SqliteJournal:
    """`ports.turn.journal.Journal` on one SQLite file, which holds the queues, too."""

    queues_admitted = True

    def __init__(self, database: Database, clock: Clock, taken: PendingClaimRegistry) -> None:
        self._database = database
        self._clock = clock
        self._taken = taken
        self._newest = ParsedLines()

    def admit(self, admission: AdmittedMessage) -> tuple[Turn, ...]:
        message = (f"MESSAGE#{admission.message_id}", "M")
        session_id, batch = admission.line.session_id, WriteBatch()
        now = sqlite_milliseconds(self._clock.now())
        with self._database.write_transaction() as items:
            places = (message, *sqlite_session_places(session_id))
            stored, last = read_sqlite_rows_with_last_line(items, session_id, places)
            # The marker comes before all else: the same message again is answered as it was the
            # first time, also in a session that has ended since (ADR 0003).
            if message in stored:
                return self._admitted_before(items, admission, stored[message])
            session = active_session_of_sqlite_rows(
                session_id, stored, after_end=admission.after_end
            )
            add_sqlite_unanswered_messages(batch, session, admission.asked_in(session))
            (line,) = add_lines_to_sqlite_batch(batch, (admission.line,), last)
            turns = tuple(
                turn.replaced(trigger_line=line.sequence, group=line.group)
                for turn in admission.turns
            )
            for turn in turns:
                add_turn_to_sqlite_batch(batch, turn, absent=True)
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
            for queued in admission.messages:
                add_message_to_sqlite_queue(items, queued, now)
            return turns

    def open(self, turn: Turn) -> Turn:
        batch = WriteBatch()
        add_turn_to_sqlite_batch(batch, turn, absent=True)
        with self._database.write_transaction() as items:
            try:
                items.write(batch)
            except AlreadyThere:
                return sqlite_turn(items, turn.id)
            return turn

    def claim(
        self, turn_id: str, *, lease_until: datetime, receipt: str | None
    ) -> RecordedTurn | None:
        held = self._taken.get(receipt)
        # A worker that slept until its message came again has no part in the turn: the one that has
        # the message would end it, and the session's next turn would begin beside this one.
        if held is None and self._taken.is_void(receipt):
            raise Superseded(f"turn {turn_id!r} is owned by another worker")
        # Nothing was done yet: without this claim the turn is queued, as it was (ADR 0039).
        with self._database.write_transaction(relaxed=True) as items:
            turn = turn_of_sqlite_row(turn_id, items.get(f"TURN#{turn_id}", "H"))
            if turn.status.is_end or turn.status is TurnStatus.WAITING:
                return None
            if held is not None and not write_sqlite_queue_claim(items, receipt or "", held):
                raise Superseded(f"turn {turn_id!r} is owned by another worker")
            # A claim begins a new epoch, and whoever had the turn before fails at its next change:
            # a lease that has lapsed does not prove that its worker is dead (ADR 0004).
            turn = turn.with_claim(lease_until=lease_until, receipt=receipt)
            put_sqlite_turn(items, turn)
            records = turn_records_in_sqlite(items, turn_id) if turn.sequence > 1 else ()
        self._taken.drop(receipt)
        return RecordedTurn(turn, records)

    def commit(self, change: TurnChange) -> Turn:
        turn = change.turn
        counts = sqlite_call_counts(change.usage) if change.usage else []
        relaxed = may_sqlite_change_be_lost(change)
        places = [*sqlite_change_keys(change), *(one.place for one in counts)]
        with self._database.write_transaction(relaxed=relaxed) as items:
            if change.lines:
                stored, last = read_sqlite_rows_with_last_line(items, turn.session_id, places)
            else:
                stored, last = items.get_many(places), None
            turn, batch = sqlite_change_rows(change, stored, last, counts)
            try:
                items.write(batch)
            except AlreadyThere as error:
                raise Superseded(f"turn {turn.id!r} has this record already") from error
            # What is still to be sent goes out before the next turn of its session begins. Work
            # in the background is not done with its turn: the message comes again until what
            # follows is done, too, such as writing a report (ADR 0039).
            receipt = turn.receipt if turn.status.is_end and not change.utterances else None
            if receipt is not None and not remove_message_from_sqlite_queue(
                items, receipt, sqlite_milliseconds(self._clock.now()), queue=TURNS
            ):
                receipt = None
        if receipt is not None:
            self._taken.end(receipt)
        return turn

    def load(self, turn_id: str) -> RecordedTurn:
        with self._database.read_transaction() as items:
            rows = dict(items.between(f"TURN#{turn_id}", "0", "I"))
        turn = turn_of_sqlite_row(turn_id, rows.pop("H", None))
        return RecordedTurn(turn, records_of_sqlite_rows(rows.values()))

    def header(self, turn_id: str) -> Turn:
        with self._database.read_transaction() as items:
            body = items.get(f"TURN#{turn_id}", "H")
        return turn_of_sqlite_row(turn_id, body)

    def read_step_state(self, turn: Turn) -> StepState:
        return boards.read_sqlite_step_state(self._database, turn)

    def interruption(self, turn: Turn) -> Interruption:
        header = (f"TURN#{turn.id}", "H")
        with self._database.read_transaction() as items:
            rows = items.get_many([header, *boards.sqlite_freeze_keys(turn)])
        stored, scope = (
            turn_of_sqlite_row(turn.id, rows.get(header)),
            boards.sqlite_frozen_scope(rows, turn),
        )
        return Interruption(stored.stop, scope, superseded=stored.epoch != turn.epoch)

    def instruct(self, instruction: Instruction, line: Line) -> Instruction:
        message, inbox = (f"MESSAGE#{instruction.id}", "M"), f"INBOX#{instruction.session_id}"
        session_id, batch = instruction.session_id, WriteBatch()
        with self._database.write_transaction() as items:
            places = (message, (f"SESSION#{session_id}", "S"))
            stored, last = read_sqlite_rows_with_last_line(items, session_id, places)
            if message in stored:
                body = items.get(inbox, stored[message])
                return Instruction.from_stored(body) if body else instruction
            active_session_of_sqlite_rows(session_id, stored)
            (placed_line,) = add_lines_to_sqlite_batch(batch, (line,), last)
            placed = instruction.replaced(line=placed_line.sequence)
            name, expires = f"{placed.line:010d}", instruction.at + INSTRUCTION_LIFE
            batch.put += (
                ItemRow(inbox, name, placed.to_stored(), expires_at=expires),
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
            add_documents_to_sqlite_batch(
                batch, facts, items.get_many(sqlite_document_places(facts))
            )
            body = decision.to_stored()
            batch.new.append(ItemRow(f"TURN#{turn_id}", key_of_turn_record(decision), body))
            turn = _requeue_waiting(turn)
            add_turn_to_sqlite_batch(batch, turn)
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
        bodies = [body for _, body in rows]
        # Turns read the newest ones again and again, a whole session is read seldom.
        return self._newest.read(bodies) if newest_first else read_stored_lines(bodies)

    def list_overdue(
        self, now: datetime, limit: int, *, queued_before: datetime | None = None
    ) -> tuple[Turn, ...]:
        with self._database.read_transaction() as items:
            bodies = items.query_due("turn", now, limit)
        # The due time may be behind the lease, by less than a minute.
        turns = map(Turn.from_stored, bodies)
        return tuple(turn for turn in turns if has_turn_lapsed(turn, now, queued_before))

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


class SqliteOutbox:
    """`ports.conversation.outbox.Outbox` on one SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, target: str, key: str) -> Utterance:
        with self._database.read_transaction() as items:
            body = items.get(f"OUT#{target}", key)
        if body is None:
            raise NotFound(f"there is no utterance {key!r} for {target!r}")
        return Utterance.from_stored(body)

    def mark(self, utterance: Utterance, expected: DeliveryState) -> bool:
        pk = f"OUT#{utterance.channel.target}"
        ended = utterance.state.is_end
        with self._database.write_transaction() as items:
            body = items.get(pk, utterance.key)
            # Of two workers with the same utterance only one finds it in this state, and sends it.
            stored = None if body is None else Utterance.from_stored(body)
            if stored is None or stored.state is not expected or stored.piece > utterance.piece:
                return False
            items.put(
                pk,
                utterance.key,
                utterance.to_stored(),
                due=None if ended else ("outbox", utterance.updated_at),
                expires_at=utterance.updated_at + RETENTION if ended else None,
            )
            return True

    def list_unsent(self, before: datetime, limit: int) -> tuple[Utterance, ...]:
        with self._database.read_transaction() as items:
            bodies = items.query_due("outbox", before, limit)
        return tuple(Utterance.from_stored(body) for body in bodies)


def _requeue_waiting(turn: Turn) -> Turn:
    """Return the turn as queued if it waits, else unchanged."""
    return turn.replaced(status=TurnStatus.QUEUED) if turn.status is TurnStatus.WAITING else turn
