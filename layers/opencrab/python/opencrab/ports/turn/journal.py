"""The turn journal: headers, records, session lines and control, each change one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from opencrab.domain.conversation.message import Instruction, Line, Utterance
from opencrab.domain.conversation.session import SessionChange
from opencrab.domain.document import Document
from opencrab.domain.models.health import BreakerState
from opencrab.domain.money.budget import BudgetDraw
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.record import ApprovalDecision, Record
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import MicroUsd


@dataclass(frozen=True)
class AdmittedMessage:
    """A message and the turns that answer it; `body_hash` decides whether two are the same."""

    message_id: str
    body_hash: str
    turns: tuple[Turn, ...]
    line: Line


@dataclass(frozen=True)
class RecordedTurn:
    """A turn's header with all its records, in order of their keys."""

    turn: Turn
    records: tuple[Record, ...]


@dataclass(frozen=True)
class StepBoundary:
    """What a turn must know before its next model call, read strongly consistent.

    `limits` are those that were set at run time, by name, for `Limits.changed`; `settings_version`
    is that of the preferences.
    """

    frozen: str | None
    instructions: tuple[Instruction, ...]
    limits: Mapping[str, MicroUsd] = field(default_factory=dict)
    health: Mapping[str, BreakerState] = field(default_factory=dict)
    settings_version: int = 0


@dataclass(frozen=True)
class TurnChange:
    """One step of one turn, all or nothing.

    It holds only while the stored header has the `epoch` and the sequence `expected`; records are
    put if absent. With `unless_stopped` it is an intent: it is refused once a stop was asked.
    `turn` is the header afterwards, except for `stop`, which only `Journal.stop` writes. A change
    that lets a paused turn wait is refused if the pause was meanwhile cancelled or became a stop:
    the turn would wait for a resume that has already happened.
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
        """How many items it writes: its header and all with it."""
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
        """Whether it lets a turn wait for the end of a pause."""
        stop = self.turn.stop
        return self.turn.status is TurnStatus.WAITING and stop is not None and stop.pause


class SessionHistory(Protocol):
    """What was said in sessions, for reading."""

    def lines(
        self,
        session_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Line, ...]:
        """Lines with after < sequence < before."""


class Journal(SessionHistory, Protocol):
    """Where turns live. No method may leave half of its change behind."""

    def admit(self, admission: AdmittedMessage) -> tuple[Turn, ...]:
        """Put the message's line and its turns' headers, once.

        The same message again (same `body_hash`) answers the stored turns and changes nothing.
        Raises Conflict when the id was used for another body, or when the session has ended;
        NotFound when there is no such session.
        """

    def open(self, turn: Turn) -> Turn:
        """Put the header of a turn that no message started, once by its id; answers the stored one.

        It has no line in its session, which need not take messages any more.
        """

    def claim(
        self, turn_id: str, *, lease_until: datetime, receipt: str | None
    ) -> RecordedTurn | None:
        """Take a queued or running turn: a new epoch. None when it has ended or waits."""

    def commit(self, change: TurnChange) -> Turn:
        """Apply one change and answer the stored header.

        Raises Superseded (epoch or sequence moved on), Stopped (`TurnChange.unless_stopped`),
        Exhausted (a budget's limit; `field` names its scope), Changed (a document is stored in
        another version).
        """

    def load(self, turn_id: str) -> RecordedTurn:
        """Read a turn; raises NotFound."""

    def header(self, turn_id: str) -> Turn:
        """Read a turn without its records; raises NotFound."""

    def boundary(self, turn: Turn) -> StepBoundary:
        """Read the switches and all else that may have changed since the turn's last step."""

    def instruct(self, instruction: Instruction, line: Line) -> Instruction:
        """Put an instruction and its line, once by id."""

    def stop(self, turn_id: str, stop: Stop) -> Turn:
        """Ask a turn to stop or to pause; the first wish stays, but a stop replaces a pause.

        A waiting turn is queued again to close; a pause leaves it as it is. An ended turn is
        answered as it is.
        """

    def resume(self, turn_id: str) -> Turn:
        """Take a pause back and queue the turn, if it waits.

        A turn that nobody paused is answered as it is. Raises NotFound.
        """

    def decide(self, turn_id: str, decision: ApprovalDecision, *facts: Document) -> Turn:
        """Decide a waiting turn's approval, write facts with it, and queue the turn.

        Raises Conflict when it does not wait for exactly this call, Changed when a fact is stored
        in another version.
        """

    def overdue(self, now: datetime, limit: int) -> tuple[Turn, ...]:
        """Queued and running turns whose lease ended before `now`, oldest first."""

    def extend(self, turn: Turn, lease_until: datetime) -> bool:
        """Give a turn of this epoch more time; False when it has moved on."""
