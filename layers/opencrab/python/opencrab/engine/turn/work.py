"""Work: one claimed turn in one worker's hands, and the only place that commits its changes."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Protocol

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.message import Audience, Channel, Line, LineKind, Utterance
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document
from opencrab.domain.goals.goal import GOAL, ActionReceipt, Goal, goal_key
from opencrab.domain.identifier import stable_id
from opencrab.domain.models.routing import CallOptions, RoutingBasis
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.action import ActionResult, FileDeleted, FileWritten
from opencrab.domain.turn.record import ModelIntent, ModelResult, Record, action_name
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.engine.consequence import ExtraWrites, TurnConsequence
from opencrab.engine.models.router import draw_models_for_turn
from opencrab.engine.runtime import Runtime
from opencrab.engine.stored_record import store_record_body
from opencrab.engine.turn.prompt_cache import PromptInputs
from opencrab.ports.models.model import ChatRequest, ModelInfo
from opencrab.ports.turn.journal import StepBoundary, TurnChange
from opencrab.ports.turn.queue import Queue

CARRIED = 6
"""Pure results that may ride in the next transaction; with their lines they stay under 25 items."""


ITEMS = 25
"""Items of one change at most, so that any store can write it at once."""

ASKING = 1_000
"""Where the numbers of a turn's questions to humans begin, among those of its speeches."""

NO_DEEDS = frozenset({"speech", "planning", "finding"})
"""Groups of actions by which nothing is done but talking and planning."""

_NO_AMOUNTS = frozenset({Authority.PUBLIC, Authority.PEER})
_FAILED_SHARE = 4
"""A turn makes at most so many times its steps in model calls, however many of them fail."""

NOTHING = ExtraWrites()


class QuestionJob(Protocol):
    """What a turn is for that answers nobody: one question to a model, and what is kept of it."""

    def limits(self, work: "TurnWork", limits: Limits) -> Limits:
        """What of the limits that hold for every turn holds for this one, which may be less."""

    def skip_reason(self, work: "TurnWork") -> str:
        """Why nobody need be asked any more; "" while somebody must be."""

    def request(self, work: "TurnWork", info: ModelInfo, manner: CallOptions) -> ChatRequest:
        """What the model is asked; raises Invalid when that is more than this model takes."""

    def answered(self, work: "TurnWork", result: ModelResult, turn: Turn) -> None:
        """End the turn with an answer; `turn` is its header with the call settled."""

    def failed(
        self, work: "TurnWork", status: TurnStatus, result: tuple[Record, ...], turn: Turn, why: str
    ) -> None:
        """End the turn without one."""


@dataclass(frozen=True)
class PreCallState:
    """What a worker finds before a model call: one answer for all that the call is made of."""

    boundary: StepBoundary
    calls_left: int
    basis: RoutingBasis
    at: datetime


@dataclass
class TurnWork:
    """A turn being run.

    Results of pure calls are `carried`: they reach the journal with the next change, because a
    crash before it only means running them again. `next_n` numbers the next record; a number is
    used up only when its record is carried or saved. `limits` are those of the newest look, and
    `retry_after_seconds` is what the model call that failed just now wishes for. `served` is the
    goal that the turn serves, as it was read or written last. `lines_saved` counts the lines that
    this worker wrote. With a `job` nobody is answered. `prompt` keeps what its prompts need.
    """

    runtime: Runtime
    turn: Turn
    transcript: Transcript
    profile: Profile
    session: Session
    history: tuple[Line, ...]
    next_n: int
    carried: list[Record] = field(default_factory=list)
    carried_lines: list[Line] = field(default_factory=list)
    retry_after_seconds: float | None = None
    limits: Limits = field(default_factory=Limits)
    served: Goal | None = None
    lines_saved: int = 0
    job: QuestionJob | None = None
    prompt: PromptInputs = field(default_factory=PromptInputs)

    @property
    def basis(self) -> RoutingBasis:
        """What routing goes by: as it was when the turn's first model call began."""
        return self.transcript.basis or self._drawn_basis

    @cached_property
    def _drawn_basis(self) -> RoutingBasis:
        """The basis before any model call, drawn once.

        A job draws no model, as nobody can tell later how well it went.
        """
        agent, mixes = self.profile.agent, () if self.job is not None else self.profile.mind.mixes
        own = next((p for p in self.session.participants if p.agent_id == agent.id), None)
        return RoutingBasis(
            model=agent.model,
            models=agent.llm.models,
            session=own.models if own else {},
            lots=draw_models_for_turn(self.runtime.models, agent, mixes, self.turn.id),
        )

    @property
    def limits_to_tell(self) -> Limits | None:
        """The limits, unless this turn is for strangers or other agents: they learn no amounts."""
        return self.limits if self.turn.authority not in _NO_AMOUNTS else None

    @property
    def calls_left(self) -> int:
        """Model calls that this turn may still make; failed ones count when there are too many."""
        most, attempts = self.runtime.rules.max_steps, self.turn.attempts
        if attempts >= most * _FAILED_SHARE:
            return 0
        return most - attempts + self.transcript.failed_calls

    def look(self, boundary: StepBoundary) -> PreCallState:
        """What this worker finds before its next model call."""
        return PreCallState(boundary, self.calls_left, self.basis, self.runtime.clock.now())

    @property
    def receipts(self) -> tuple[ActionReceipt, ...]:
        """What this turn has done so far, by its journal; talking and planning are no deeds."""
        return tuple(
            receipt
            for call, result in self.transcript.ended_calls
            if result.success
            for receipt in self._receipts(action_name(call), result)
        )

    def _receipts(self, name: str, result: ActionResult) -> tuple[ActionReceipt, ...]:
        action = self.runtime.actions.find(name)
        if action is None or action.group in NO_DEEDS:
            return ()
        paths: list[str | None] = [
            effect.path
            for effect in result.side_effects
            if isinstance(effect, FileWritten | FileDeleted)
        ]
        return tuple(
            ActionReceipt(action=name, path=path, turn_id=self.turn.id) for path in paths or [None]
        )

    def carry(self, record: Record, *lines: Line) -> None:
        """Keep a pure result for the next change; flush when there are many."""
        self.transcript.add(record)
        self.next_n = record.n + 1
        self.carried.append(record)
        self.carried_lines.extend(lines)
        if len(self.carried) >= CARRIED:
            self.save(self.turn, progress=True)

    def save(
        self,
        turn: Turn,
        *records: Record,
        lines: tuple[Line, ...] = (),
        utterances: tuple[Utterance, ...] = (),
        beside: ExtraWrites = NOTHING,
        unless_stopped: bool = False,
        progress: bool = False,
        at: datetime | None = None,
    ) -> None:
        """Commit one change; on success the work, its transcript and its header have moved on.

        A model call that ends with it gets its row in the ledger. `progress` says that this ends
        something, so that deliveries and crashes count anew. `at` is when, if that is known.
        """
        at = at or self.runtime.clock.now()
        next_n = max([self.next_n, *(record.n + 1 for record in records)])
        turn = self._header(turn, next_n, at, progress=progress or bool(self.carried))
        usage, blobs = self._usage(turn, records, at), self.runtime.home.blobs
        stored = tuple(store_record_body(record, blobs) for record in (*self.carried, *records))
        change = TurnChange(
            turn=turn,
            expected=self.turn.sequence,
            unless_stopped=unless_stopped,
            records=stored,
            lines=(*self.carried_lines, *lines),
            utterances=utterances,
            draws=beside.draws,
            usage=usage,
            session=beside.session,
            facts=beside.facts,
            due=beside.due,
            at=at,
        )
        # All of it is written at once or, by the epoch and `expected`, not at all (ADR 0004).
        assert change.items <= ITEMS, change.items  # noqa: S101  - a defect of ours
        if beside.spare is not None and change.items < ITEMS:
            change = replace(change, facts=(*change.facts, beside.spare))
        self.turn = self.runtime.home.journal.commit(change)
        self.lines_saved += len(change.lines)
        self.carried, self.carried_lines, self.next_n = [], [], next_n
        for record in records:
            self.transcript.add(record)
        if self.served is not None:
            self.served = _as_written(self.served, turn.agent_id, beside.facts)
        for utterance in utterances:
            send_turn_utterance(self.runtime.home.deliveries, utterance)
        for on_save in self.runtime.consequences.on_save:
            on_save(self, turn, beside.facts)

    def _header(self, turn: Turn, sequence: int, at: datetime, *, progress: bool) -> Turn:
        """A header as it is saved: who has the turn keeps it for as long as a lease."""
        lease = at + timedelta(seconds=self.runtime.rules.lease_seconds)
        return (turn.cleared() if progress else turn).replaced(
            sequence=sequence,
            lease_until=None if turn.status.is_end else lease,
        )

    def _usage(self, turn: Turn, records: tuple[Record, ...], at: datetime) -> tuple[UsageRow, ...]:
        """A row for the model call that one of these records ends."""
        intent = self.transcript.open_intent
        return tuple(
            UsageRow.of_call(turn, intent, record, at, opens=self._opens(intent))
            for record in records
            if isinstance(record, ModelResult) and isinstance(intent, ModelIntent)
        )

    def _opens(self, intent: ModelIntent) -> bool:
        """Whether with this call the agent begins its part in the session."""
        own = self.session.participant(self.turn.agent_id)
        is_first = intent.basis is not None and own is not None and not own.turns
        return is_first and self.job is None

    def hear_stop(self) -> None:
        """Take over the wish to stop that refused an intent; the epoch stays this worker's own."""
        stored = self.runtime.home.journal.header(self.turn.id)
        self.turn = self.turn.replaced(stop=stored.stop)

    def line(
        self, kind: LineKind, text: str, *, at: datetime | None = None, **details: Any
    ) -> Line:
        """A line of this agent in this turn's group."""
        details.setdefault("audience", Audience.ALL)
        return Line(
            session_id=self.turn.session_id,
            group=self.turn.group,
            group_line=self.turn.trigger_line or None,
            kind=kind,
            speaker_id=self.turn.agent_id,
            speaker_name=self.profile.identity.name,
            from_agent=True,
            authority=self.turn.authority,
            text=text,
            turn_id=self.turn.id,
            taint=self.turn.taint,
            at=at or self.runtime.clock.now(),
            **details,
        )

    def utterance(
        self,
        text: str,
        ordinal: int,
        *,
        to: Channel | None = None,
        at: datetime | None = None,
        **details: Any,
    ) -> tuple[Utterance, ...]:
        """The speech on its way to a channel that pushes; nothing for clients that fetch.

        What comes first, be it speech or a question to a human, answers those who wait. It goes to
        the turn's own channel, or `to` another one.
        """
        channel = to or self.turn.channel
        if channel is None:
            return ()
        at = at or self.runtime.clock.now()
        utterance = Utterance(
            channel=channel,
            turn_id=self.turn.id,
            ordinal=ordinal,
            agent_id=self.turn.agent_id,
            session_id=self.turn.session_id,
            text=text,
            # The same for every attempt, so that a channel which compares nonces shows it once.
            nonce=stable_id("nonce", self.turn.id, str(ordinal))[:22],
            opens=channel.awaited and not self.was_heard and (ordinal == 0 or ordinal >= ASKING),
            created_at=at,
            updated_at=at,
            **details,
        )
        return (utterance,)

    @property
    def was_heard(self) -> bool:
        """Whether those who wait for this turn have heard of it."""
        return self.transcript.speeches > 0 or self.transcript.approval is not None


def _as_written(goal: Goal, agent_id: str, facts: tuple[Document, ...]) -> Goal:
    """A goal as these facts have it, or as it was where it is not among them."""
    key = (agent_id, GOAL, goal_key(goal.id))
    return next((fact.read(Goal) for fact in facts if fact.key == key), goal)


Consequence = TurnConsequence[Runtime, TurnWork]
"""What a capability derives its own from."""


def send_turn_utterance(deliveries: Queue, utterance: Utterance, *, again: str = "") -> None:
    """Queue an utterance for delivery, in order per target."""
    target = utterance.channel.target
    deliveries.send(
        f"{target}\n{utterance.key}",
        group=stable_id("target", target),
        deduplication=f"{utterance.key}{again}",
    )
