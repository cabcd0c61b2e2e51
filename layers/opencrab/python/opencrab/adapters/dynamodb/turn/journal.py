"""The turn journal on the table: each change one transaction of at most 25 items.

A transaction that fails tells which condition did not hold and what is stored there instead; from
that follows whether this worker has lost the turn, was asked to stop, is out of money, or only
guessed the session's counter wrong and tries again.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from opencrab.adapters.dynamodb import document as fact_items
from opencrab.adapters.dynamodb.conversation import line as line_items
from opencrab.adapters.dynamodb.conversation import session as sessions
from opencrab.adapters.dynamodb.conversation.recent_lines import LineCache, newest_dynamodb_lines
from opencrab.adapters.dynamodb.conversation.session import CountedSession, SessionCache
from opencrab.adapters.dynamodb.item import Item, to_item_microseconds
from opencrab.adapters.dynamodb.listing import decode_dynamodb_items, dynamodb_due_items
from opencrab.adapters.dynamodb.money import board as switches
from opencrab.adapters.dynamodb.table import (
    Cancelled,
    ConditionFailed,
    Table,
    Write,
    item_absent,
    put_item,
)
from opencrab.adapters.dynamodb.turn import header as headers
from opencrab.adapters.dynamodb.turn import instruction as inbox
from opencrab.adapters.dynamodb.turn import message as markers
from opencrab.adapters.dynamodb.turn import record as records
from opencrab.adapters.dynamodb.turn.change import HEADER, Writes
from opencrab.adapters.dynamodb.turn.conditions import (
    asks_for_turn_decision,
    busy_turn_error,
    requeue_waiting_turn,
    require_all_turn_records,
    session_ended_error,
)
from opencrab.adapters.dynamodb.usage import counters as tallies
from opencrab.domain.conversation.message import Instruction, Line
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.document import Document
from opencrab.domain.errors import Conflict
from opencrab.domain.turn.record import ApprovalDecision
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.ports.documents import stale_document_error
from opencrab.ports.turn.journal import (
    AdmittedMessage,
    Interruption,
    RecordedTurn,
    StepState,
    TurnChange,
    has_turn_lapsed,
)

if TYPE_CHECKING:
    from opencrab.adapters.dynamodb.money.lease import BudgetLeases, LeasedDraws

OnTurn = Callable[[Turn], None]

_SESSION, _MARKER, _LINE = 0, 1, 2
"""Where a transaction that appends a line says what it is about."""


class DynamoJournal:
    """`ports.turn.journal.Journal` on a DynamoDB table.

    Args:
        table: The table.
        seen: This process's cache of sessions, shared with `DynamoSessions`.
        on_turn: Called with each header that this process claimed or changed, for logs and metrics.
        calls_kept: The time after which a ledger row expires; None is never.
        leases_budgets: Whether large budgets are drawn from through a lease of this process.
    """

    queues_admitted = False

    def __init__(
        self,
        table: Table,
        seen: SessionCache,
        on_turn: OnTurn | None = None,
        *,
        calls_kept: timedelta | None = None,
        leases_budgets: bool = True,
    ) -> None:
        self._table = table
        self._leases_budgets = leases_budgets
        self._leases: BudgetLeases | None = None
        self._seen = seen
        self._recent = LineCache()
        self._active: tallies.Seen = set()
        self._calls_kept = calls_kept
        self._on_turn = on_turn or (lambda _turn: None)

    def admit(self, admission: AdmittedMessage) -> tuple[Turn, ...]:
        session_id = admission.line.session_id
        known = self._known(session_id)
        for _ in range(sessions.ATTEMPTS):
            if known.session.status is SessionStatus.ENDED and not admission.after_end:
                return self._admitted_before(admission)
            (placed,) = line_items.number_dynamodb_lines((admission.line,), known.lines)
            turns = tuple(
                one.replaced(trigger_line=placed.sequence, group=placed.group)
                for one in admission.turns
            )
            new = (put_item(headers.turn_to_dynamodb_item(one), item_absent()) for one in turns)
            try:
                marker = markers.put_message_marker_in_dynamodb(admission)
                self._append(known, placed, marker, *new, asked=admission.asked_in(known.session))
            except Cancelled as refusal:
                # A marker or a header that is there means this very message, whatever the counter
                # says; session and line alone mean a wrong guess, which the refusal puts right
                # (ADR 0003, 0010).
                if refusal.failed.keys() - {_SESSION, _LINE}:
                    return self._admitted_before(admission)
                known = self._corrected(refusal, _SESSION, session_id)
                continue
            return turns
        raise sessions.busy_dynamodb_session(session_id)

    def open(self, turn: Turn) -> Turn:
        try:
            self._table.write(put_item(headers.turn_to_dynamodb_item(turn), item_absent()))
        except ConditionFailed as refusal:
            return turn if refusal.item is None else headers.turn_from_dynamodb_item(refusal.item)
        return turn

    def claim(
        self, turn_id: str, *, lease_until: datetime, receipt: str | None
    ) -> RecordedTurn | None:
        claimed = headers.claim_turn_in_dynamodb(self._table, turn_id, lease_until, receipt)
        if claimed is None:
            return None
        self._on_turn(claimed)
        before = records.get_dynamodb_records(self._table, turn_id) if claimed.sequence > 1 else ()
        require_all_turn_records(claimed, before)
        return RecordedTurn(claimed, before)

    def commit(self, change: TurnChange) -> Turn:
        at = change.at or change.turn.created_at
        tallies.mark_agents_active_in_dynamodb(self._table, change.usage, at, self._active)
        if change.draws and self._leases_budgets:
            return self._opened_leases().draw(change.draws, at, partial(self._commit, change))
        return self._commit(change)

    def _commit(self, change: TurnChange, leased: "LeasedDraws | None" = None) -> Turn:
        after, session_id = change.turn, change.turn.session_id
        grows = bool(change.lines) or change.session is not None
        known = self._known(session_id) if grows else None
        for tries in range(sessions.ATTEMPTS + sessions.PATIENCE):
            # A refusal tells the right counter, so that the next try is made at once. Only who has
            # lost to others ten times steps back; what was paid for is not given up (ADR 0008).
            if tries >= sessions.ATTEMPTS:
                self._table.back_off(tries - sessions.ATTEMPTS + 1)
            writes = Writes(change, after, known, calls_kept=self._calls_kept, leased=leased)
            try:
                self._table.transact(*writes.all(), patient=bool(change.usage))
            except Cancelled as refusal:
                after = after.replaced(stop=writes.judge(refusal))
                if known is not None:
                    known = self._corrected(refusal, writes.session, session_id)
                continue
            if writes.grown is not None:
                self._seen.note(writes.grown)
            self._on_turn(after)
            return after
        raise sessions.busy_dynamodb_session(session_id)

    def _opened_leases(self) -> "BudgetLeases":
        """Return this process's leases, which only processes that run turns need."""
        from opencrab.adapters.dynamodb.money.lease import BudgetLeases  # noqa: PLC0415 - as said

        if self._leases is None:
            self._leases = BudgetLeases(self._table)
        return self._leases

    def load(self, turn_id: str) -> RecordedTurn:
        # Records sort before their header, so that one query reads both, the header last.
        items = self._table.query(headers.dynamodb_turn_partition(turn_id), "0", headers.HEADER)
        if not items or items[-1]["sk"]["S"] != headers.HEADER:
            raise headers.no_turn_in_dynamodb_error(turn_id)
        turn = headers.turn_from_dynamodb_item(items[-1])
        return RecordedTurn(
            turn, tuple(records.turn_record_from_dynamodb_item(item) for item in items[:-1])
        )

    def header(self, turn_id: str) -> Turn:
        return headers.get_dynamodb_turn(self._table, turn_id)

    def read_step_state(self, turn: Turn) -> StepState:
        # One strongly consistent read of one item, before each model call (ADR 0010).
        board = switches.read_dynamodb_budgets(self._table)
        told: tuple[Instruction, ...] = ()
        if board.instructed_since(turn.created_at):
            told = inbox.query_dynamodb_instructions(
                self._table, turn.session_id, turn.trigger_line
            )
        return StepState(
            frozen=board.first_frozen_scope(*switches.dynamodb_freeze_scopes(turn.agent_id)),
            instructions=told,
            limits=board.limits(),
            health=board.health(),
            settings_version=board.settings_version,
        )

    def interruption(self, turn: Turn) -> Interruption:
        stored = headers.get_dynamodb_turn(self._table, turn.id)
        board = switches.read_dynamodb_budgets(self._table)
        frozen = board.first_frozen_scope(*switches.dynamodb_freeze_scopes(turn.agent_id))
        return Interruption(stored.stop, frozen, superseded=stored.epoch != turn.epoch)

    def instruct(self, instruction: Instruction, line: Line) -> Instruction:
        session_id = instruction.session_id
        known = self._known(session_id)
        for _ in range(sessions.ATTEMPTS):
            (placed,) = line_items.number_dynamodb_lines((line,), known.lines)
            given = instruction.replaced(line=placed.sequence)
            marker, item = inbox.put_instruction_in_dynamodb(given)
            if known.session.status is SessionStatus.ENDED:
                return self._instructed_before(instruction)
            try:
                self._append(
                    known, placed, marker, item, switches.dynamodb_instruction_time_write(given.at)
                )
            except Cancelled as refusal:
                if _MARKER in refusal.failed:
                    return self._instructed_before(instruction)
                known = self._corrected(refusal, _SESSION, session_id)
                continue
            return given
        raise sessions.busy_dynamodb_session(session_id)

    def stop(self, turn_id: str, stop: Stop) -> Turn:
        for _ in range(sessions.ATTEMPTS):
            stored = headers.get_dynamodb_turn(self._table, turn_id)
            stopped = stored.with_stop(stop)
            if stopped is stored or self._replaced(stopped, stored):
                return stopped
        raise busy_turn_error(turn_id)

    def resume(self, turn_id: str) -> Turn:
        for _ in range(sessions.ATTEMPTS):
            stored = headers.get_dynamodb_turn(self._table, turn_id)
            if stored.status.is_end or stored.stop is None or not stored.stop.pause:
                return stored
            resumed = requeue_waiting_turn(stored.replaced(stop=None))
            if self._replaced(resumed, stored):
                return resumed
        raise busy_turn_error(turn_id)

    def decide(self, turn_id: str, decision: ApprovalDecision, *facts: Document) -> Turn:
        for _ in range(sessions.ATTEMPTS):
            recorded = self.load(turn_id)
            stored = recorded.turn
            if stored.status is not TurnStatus.WAITING or not asks_for_turn_decision(
                recorded.records, decision
            ):
                raise Conflict(
                    f"turn {turn_id!r} is not waiting for this decision",
                    cure="read the turn again: it may have been decided or stopped already",
                )
            require_all_turn_records(stored, recorded.records)
            queued = requeue_waiting_turn(stored)
            told = fact_items.dynamodb_document_writes(facts)
            decided = records.put_record_in_dynamodb(
                turn_id, decision, stored.lease_until or stored.created_at
            )
            try:
                self._table.transact(
                    headers.replace_turn_in_dynamodb(queued, stored), *told, decided
                )
            except Cancelled as refusal:
                if HEADER not in refusal.failed and min(refusal.failed) <= len(facts):
                    raise stale_document_error(facts[min(refusal.failed) - 1]) from None
                continue
            return queued
        raise busy_turn_error(turn_id)

    def lines(
        self,
        session_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Line, ...]:
        if newest_first and before is None and not after:
            return newest_dynamodb_lines(self._table, self._seen, self._recent, session_id, limit)
        return line_items.query_dynamodb_lines_between(
            self._table, session_id, (after, before), limit, newest_first=newest_first
        )

    def list_overdue(
        self, now: datetime, limit: int, *, queued_before: datetime | None = None
    ) -> tuple[Turn, ...]:
        lapsed, last, at = list[tuple[datetime, Turn]](), 0, to_item_microseconds(now)
        for turn, place in decode_dynamodb_items(
            _turn_and_place, dynamodb_due_items(self._table, headers.DUE, at)
        ):
            until, is_open = turn.lease_until, headers.is_turn_open_in_dynamodb(turn)
            if until is None or not is_open or not has_turn_lapsed(turn, now, queued_before):
                continue
            # They come in coarse order: whoever shares the last one's place may be older.
            if len(lapsed) >= limit and place > last:
                break
            last = place
            lapsed.append((until, turn))
        return tuple(turn for _, turn in sorted(lapsed, key=lambda found: found[0])[:limit])

    def extend(self, turn: Turn, lease_until: datetime) -> bool:
        stored = headers.get_dynamodb_turn(self._table, turn.id)
        same = (turn.epoch, turn.status, turn.lease_until)
        if (stored.epoch, stored.status, stored.lease_until) != same:
            return False
        return self._replaced(stored.replaced(lease_until=lease_until), stored)

    def _known(self, session_id: str) -> CountedSession:
        """Return the session with its counts, cached (maybe stale) or else read."""
        known = self._seen.guess(session_id)
        return known or sessions.get_dynamodb_session(self._table, self._seen, session_id)

    def _corrected(self, refusal: Cancelled, place: int, session_id: str) -> CountedSession:
        """Return the session's current counts after a canceled transaction."""
        # In a conflict nobody looked whether the guess held, so that no item came back.
        if place in refusal.unknown:
            return sessions.get_dynamodb_session(self._table, self._seen, session_id)
        if place not in refusal.failed:
            return self._known(session_id)
        item = refusal.failed[place]
        if item is None:
            raise sessions.no_session_in_dynamodb_error(session_id)
        return self._seen.correct(sessions.session_from_dynamodb_item(item))

    def _append(
        self,
        known: CountedSession,
        placed: Line,
        marker: Write,
        *others: Write,
        asked: Session | None = None,
    ) -> None:
        """Append one line with its other writes, unless the marker exists already."""
        grown = known.grown(1, asked)
        self._table.transact(
            sessions.dynamodb_session_update(known, grown),
            marker,
            line_items.put_line_in_dynamodb(placed),
            *others,
        )
        self._seen.note(grown)

    def _admitted_before(self, admission: AdmittedMessage) -> tuple[Turn, ...]:
        """Return the turns of an earlier admission of this message; raise Conflict."""
        marker = self._table.get(
            markers.dynamodb_message_partition(admission.message_id), markers.MARK
        )
        if marker is None:
            known = sessions.get_dynamodb_session(
                self._table, self._seen, admission.line.session_id
            )
            if known.session.status is SessionStatus.ENDED:
                raise session_ended_error(known.session.id)
            raise Conflict(
                f"a turn of message {admission.message_id!r} was admitted with another message",
                cure="use a new id for a new message",
            )
        turn_ids = markers.turn_ids_of_dynamodb_message(marker, admission)
        keys = [(headers.dynamodb_turn_partition(turn_id), headers.HEADER) for turn_id in turn_ids]
        found = self._table.get_many(keys)
        turns = tuple(headers.turn_from_dynamodb_item(found[key]) for key in keys if key in found)
        if not turns:
            raise Conflict(
                f"message {admission.message_id!r} was admitted before; its turns have expired",
                cure="send it as a new message",
            )
        return turns

    def _instructed_before(self, instruction: Instruction) -> Instruction:
        marker = self._table.get(markers.dynamodb_message_partition(instruction.id), markers.MARK)
        if marker is None:
            raise session_ended_error(instruction.session_id)
        return inbox.turn_instruction_from_dynamodb_item(marker)

    def _replaced(self, turn: Turn, stored: Turn) -> bool:
        try:
            self._table.write(headers.replace_turn_in_dynamodb(turn, stored))
        except ConditionFailed as refusal:
            # The network may have carried this very write twice.
            return (
                refusal.item is not None and headers.turn_from_dynamodb_item(refusal.item) == turn
            )
        return True


def _turn_and_place(item: Item) -> tuple[Turn, int]:
    return headers.turn_from_dynamodb_item(item), headers.dynamodb_turn_place(item)
