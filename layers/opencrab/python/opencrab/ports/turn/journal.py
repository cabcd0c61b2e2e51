"""The turn journal: headers, records, session lines and control, each change one transaction."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from pydantic import ConfigDict, TypeAdapter

from opencrab.domain.conversation.message import (
    Instruction,
    Line,
    UnansweredMessage,
    Utterance,
    with_unanswered_message,
)
from opencrab.domain.conversation.session import Session, SessionChange
from opencrab.domain.document import Document
from opencrab.domain.identifier import content_hash
from opencrab.domain.models.health import BreakerState
from opencrab.domain.money.budget import BudgetDraw
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.record import ApprovalDecision, BlobPointer, Record
from opencrab.domain.turn.turn import Stop, Trigger, Turn, TurnStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import MicroUsd, read_stored_json
from opencrab.ports.turn.blobs import Blobs
from opencrab.ports.turn.queue import QueueMessage

RECORD_BYTES = 300_000
"""The largest record in the journal, in bytes; an item of DynamoDB holds 400 KB."""

_RECORD: TypeAdapter[Record] = TypeAdapter(Record, config=ConfigDict(defer_build=True))

_COMPACTIONS = frozenset({Trigger.COMPACTION, Trigger.EMBEDDING})
"""Summaries and embeddings have a queue of their own, so as not to delay others."""


@dataclass(frozen=True)
class AdmittedMessage:
    """A message and the turns that answer it; equal `body_hash` means the same message.

    `person` is who sent it, for `Session.unanswered`; "" if no person did, or for a task.
    `messages` queue the turns, where `Journal.queues_admitted`. With `after_end` it is admitted
    to a session that has ended, too.
    """

    message_id: str
    body_hash: str
    turns: tuple[Turn, ...]
    line: Line
    person: str = ""
    messages: tuple[QueueMessage, ...] = ()
    after_end: bool = False

    def asked_in(self, session: Session) -> Session:
        """Return the session with this message as unanswered, if a person sent it."""
        if not self.person:
            return session
        asked = UnansweredMessage(self.person, tuple(turn.id for turn in self.turns))
        return session.replaced(unanswered=with_unanswered_message(session.unanswered, asked))


@dataclass(frozen=True)
class RecordedTurn:
    """A turn's header with all its records, in order of their keys."""

    turn: Turn
    records: tuple[Record, ...]


@dataclass(frozen=True)
class StepState:
    """The state that a turn reads before its next model call, strongly consistent.

    `limits` are those that were set at run time, by name, for `Limits.changed`; `settings_version`
    is that of the preferences.
    """

    frozen: str | None
    instructions: tuple[Instruction, ...]
    limits: Mapping[str, MicroUsd] = field(default_factory=dict)
    health: Mapping[str, BreakerState] = field(default_factory=dict)
    settings_version: int = 0


@dataclass(frozen=True)
class Interruption:
    """Why a running model call must end: its turn was asked to stop or is frozen, or has moved on.

    All is None or False if nothing interrupts it. `superseded` means that another worker has it.
    """

    stop: Stop | None = None
    frozen: str | None = None
    superseded: bool = False

    def __bool__(self) -> bool:
        """Check whether something interrupts the call."""
        return self.stop is not None or self.frozen is not None or self.superseded


@dataclass(frozen=True)
class TurnChange:
    """One step of one turn, all or nothing.

    It is applied only if the stored header has the `epoch` and the sequence `expected`; records are
    written if absent. With `unless_stopped` it is an intent: it is refused once a stop was
    requested. `turn` is the header afterwards, except for `stop`, which only `Journal.stop` writes.
    A change that lets a paused turn wait is refused if the pause was meanwhile cancelled or became
    a stop: the turn would wait for a resume that has already happened.
    """

    turn: Turn
    expected: int
    unless_stopped: bool = False
    records: tuple[Record, ...] = ()
    lines: tuple[Line, ...] = ()
    utterances: tuple[Utterance, ...] = ()
    due: tuple[DueItem, ...] = ()
    facts: tuple[Document, ...] = ()
    draws: tuple[BudgetDraw, ...] = ()
    usage: tuple[UsageRow, ...] = ()
    session: SessionChange | None = None
    at: datetime | None = None

    @property
    def items(self) -> int:
        """The number of items that the transaction writes, header included."""
        parts = (
            self.records,
            self.lines,
            self.utterances,
            self.due,
            self.facts,
            self.draws,
            # A call's row is counted in a tally, and makes its agent an active one.
            self.usage * 3,
        )
        return 1 + sum(len(part) for part in parts) + (self.session is not None)

    @property
    def while_paused(self) -> bool:
        """True if the change lets a turn wait for the end of a pause."""
        stop = self.turn.stop
        return self.turn.status is TurnStatus.WAITING and stop is not None and stop.pause


def queue_message_of_turn(turn: Turn, *, again: str = "") -> QueueMessage:
    """Return the message that queues a turn; `again` makes it a new one."""
    return QueueMessage(
        queue="compactions" if turn.trigger in _COMPACTIONS else "turns",
        body=json.dumps({"v": 1, "turn": turn.id}, separators=(",", ":")),
        group=turn.session_id or turn.id,
        deduplication=f"{turn.id}{again}",
    )


def store_record_body(record: Record, blobs: Blobs) -> Record:
    """Return the record, or a pointer to it after storing a body that is too large."""
    body = record.to_stored().encode()
    if len(body) <= RECORD_BYTES:
        return record
    digest = content_hash(body)
    blobs.put(digest, body)
    return BlobPointer(n=record.n, sha256=digest, size=len(body))


def resolve_record_pointers(records: Iterable[Record], blobs: Blobs) -> tuple[Record, ...]:
    """Replace every pointer among the records by the record that it points to."""
    return tuple(
        read_stored_json(_RECORD, blobs.get(record.sha256))
        if isinstance(record, BlobPointer)
        else record
        for record in records
    )


class SessionHistory(Protocol):
    """The lines of sessions, for reading."""

    def lines(
        self,
        session_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Line, ...]:
        """Return lines with after < sequence < before."""


def has_turn_lapsed(turn: Turn, now: datetime, queued_before: datetime | None = None) -> bool:
    """Check whether a turn's lease is over: nobody works on it, unless somebody is slow.

    With `queued_before`, a queued turn's must be over since then: that of one begins and ends when
    it is queued.
    """
    if turn.lease_until is None or turn.lease_until > now:
        return False
    if queued_before is None or turn.status is not TurnStatus.QUEUED:
        return True
    return turn.lease_until <= queued_before


class Journal(SessionHistory, Protocol):
    """The store of turns. Each method makes all of its change or nothing.

    With `queues_admitted` the queues are in the same store: `admit` queues a new message's turns in
    its own transaction, and the change that ends a turn may end its delivery.
    """

    queues_admitted: bool

    def admit(self, admission: AdmittedMessage) -> tuple[Turn, ...]:
        """Write the message's line and its turns' headers, once.

        The same message again (same `body_hash`) returns the stored turns and changes nothing. A
        person's message is added to `Session.unanswered`. Raises Conflict if the id was used for
        another body, or if the session has ended; NotFound if there is no such session.
        """

    def open(self, turn: Turn) -> Turn:
        """Write the header of a turn without a message, once by its id; returns the stored one.

        The turn has no line in its session, which may have ended.
        """

    def claim(
        self, turn_id: str, *, lease_until: datetime, receipt: str | None
    ) -> RecordedTurn | None:
        """Claim a queued or running turn with a new epoch; None if it has ended or waits.

        Raises Superseded if the journal knows that the message of this receipt came again.
        """

    def commit(self, change: TurnChange) -> Turn:
        """Apply one change and return the stored header.

        Raises Superseded (epoch or sequence moved on), Stopped (`TurnChange.unless_stopped`),
        Exhausted (a budget's limit; `field` names its scope), Changed (a document is stored in
        another version).
        """

    def load(self, turn_id: str) -> RecordedTurn:
        """Read a turn with its records; raises NotFound."""

    def header(self, turn_id: str) -> Turn:
        """Read a turn without its records; raises NotFound."""

    def read_step_state(self, turn: Turn) -> StepState:
        """Read the switches and all else that may have changed since the turn's last step."""

    def interruption(self, turn: Turn) -> Interruption:
        """Read whether this worker's running model call must end; polled while it streams.

        Raises NotFound.
        """

    def instruct(self, instruction: Instruction, line: Line) -> Instruction:
        """Write an instruction and its line, once by id."""

    def stop(self, turn_id: str, stop: Stop) -> Turn:
        """Request that a turn stops or pauses; the header is what `Turn.with_stop` returns.

        A stop replaces a pause, and both replace a takeover; else the first request stays.
        """

    def resume(self, turn_id: str) -> Turn:
        """Cancel a pause and queue the turn, if it waits.

        A turn that is not paused is returned unchanged. Raises NotFound.
        """

    def decide(self, turn_id: str, decision: ApprovalDecision, *facts: Document) -> Turn:
        """Decide a waiting turn's approval, write documents with it, and queue the turn.

        Raises Conflict if the turn does not wait for exactly this call, Changed if a document is
        stored in another version.
        """

    def list_overdue(
        self, now: datetime, limit: int, *, queued_before: datetime | None = None
    ) -> tuple[Turn, ...]:
        """Return queued and running turns whose lease ended before `now`, oldest first.

        Queued ones only if it ended before `queued_before` too, if that is given: their lease
        begins and ends when they are queued.
        """

    def extend(self, turn: Turn, lease_until: datetime) -> bool:
        """Extend the lease of a turn of this epoch; returns False if the epoch moved on."""
