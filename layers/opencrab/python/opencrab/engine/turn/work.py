"""Work: one claimed turn and its worker's state, and the only place that commits its changes."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus, Profile
from opencrab.domain.conversation.message import Audience, Channel, Line, LineKind, Utterance
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound, Unavailable
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.clearance import READERS, Clearance
from opencrab.domain.models.routing import RoutingBasis
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.record import ModelIntent, ModelResult, Record
from opencrab.domain.turn.task_type import ThinkContext
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.ledger import UsageRow
from opencrab.engine.consequence import (
    NO_WRITES,
    BackgroundQuestion,
    ExtraWrites,
    TurnConsequence,
    TurnHooks,
    TurnTrait,
)
from opencrab.engine.models.router import assign_models_to_turn, models_to_try
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.prompt_cache import PromptInputs
from opencrab.ports.turn.journal import StepState, TurnChange, store_record_body
from opencrab.ports.turn.queue import BatchedMessage, Queue

CARRIED = 6
"""The number of pure results at which they are saved; below it they wait for the next change."""

ITEMS = 25
"""The most items of one change, so that any store can write it in one transaction."""

ASKING = 1_000
"""The first ordinal of a turn's approval requests; those below belong to its speeches."""

LONGEST_STEP = timedelta(seconds=50)
"""Longer than anything that a worker does without looking after its turn, such as one tool call."""

_ATTEMPTS_PER_STEP = 4
"""The most model calls of a turn, failed ones included, as a multiple of `agent.max_steps`."""


@dataclass(frozen=True)
class PreCallState:
    """The state that one model call is made from, read once before it."""

    step_state: StepState
    calls_left: int
    basis: RoutingBasis
    at: datetime


@dataclass
class TurnWork:
    """A turn being run.

    Results of pure calls, and of keyed ones at home, are `carried`: they reach the journal with the
    next change, because a crash before it only means running them again. `next_n` numbers the next
    record; a number is used up only when its record is carried or saved. `limits` are those of the
    last `StepState`. `trigger` is the line of the history that the turn answers.
    `retry_after_seconds` is the wait that the provider asked for when the last call failed: 0 for
    none, None if it did not fail. `served` is the goal that the turn carries out, as read or
    written last. `lines_saved` counts the lines that this worker wrote. A turn with a `job` is a
    background turn. `prompt` keeps what its prompts need. `clearance` is what it may read, computed
    once: whatever puts something stored into a prompt or an answer asks it. `readers` is the label
    of what the turn has read so far; the turn is `narrowed` if some who hear it now may not know
    that. `looked_ms` is when a stop or freeze was last looked for.
    """

    runtime: Runtime
    turn: Turn
    transcript: Transcript
    profile: Profile
    session: Session
    clearance: Clearance
    history: tuple[Line, ...]
    next_n: int
    carried: list[Record] = field(default_factory=list)
    carried_lines: list[Line] = field(default_factory=list)
    retry_after_seconds: float | None = None
    limits: Limits = field(default_factory=Limits)
    trigger: Line | None = None
    served: Goal | None = None
    lines_saved: int = 0
    job: "QuestionJob | None" = None
    prompt: PromptInputs = field(default_factory=PromptInputs)
    readers: str = ""
    narrowed: bool = False
    looked_ms: float = float("-inf")

    @property
    def basis(self) -> RoutingBasis:
        """The choices that routing uses, as they were when the turn's first model call began."""
        return self.transcript.basis or self._drawn_basis

    @cached_property
    def _drawn_basis(self) -> RoutingBasis:
        """The basis before any model call, drawn once.

        A background turn draws no model from a traffic split, as its success is not measured.
        """
        agent, mixes = self.profile.agent, () if self.job is not None else self.profile.mind.mixes
        own = next((p for p in self.session.participants if p.agent_id == agent.id), None)
        return RoutingBasis(
            model=agent.model,
            models=agent.llm.models,
            session=own.models if own else {},
            lots=assign_models_to_turn(self.runtime.models, agent, mixes, self.turn.id),
        )

    @property
    def limits_to_tell(self) -> Limits | None:
        """The limits for a notice; None in turns for the public or peers, who see no amounts."""
        return None if self.turn.authority in {Authority.PUBLIC, Authority.PEER} else self.limits

    @property
    def calls_left(self) -> int:
        """The number of model calls that this turn may still make.

        Calls that answered and calls that a crash interrupted count against `agent.max_steps`;
        failed ones do not. All calls together are limited to `_ATTEMPTS_PER_STEP` times that.
        """
        most, attempts = self.runtime.rules.max_steps, self.turn.attempts
        if attempts >= most * _ATTEMPTS_PER_STEP:
            return 0
        return most - attempts + self.transcript.failed_calls

    def look(
        self, step_state: StepState, at: datetime | None = None, context: ThinkContext | None = None
    ) -> PreCallState:
        """Return what this worker's next model call is made from; `at` is its time, None is now."""
        left, at = self.calls_left, at or self.runtime.clock.now()
        basis = self.basis if context is None else self._basis_for(context)
        return PreCallState(step_state, left, basis, at)

    def _basis_for(self, context: ThinkContext) -> RoutingBasis:
        """Return the basis, before the first call with the model that the turn tries, if any."""
        basis, runtime = self.basis, self.runtime
        if self.transcript.basis is not None or self.job is not None:
            return basis
        if not (choices := models_to_try(runtime.models, self.profile.agent, runtime.rules.trials)):
            return basis
        from opencrab.engine.models.exploration import ExploringTurn, basis_with_tried_model  # noqa: PLC0415

        asked = (runtime, self.turn, self.profile, self.limits, choices, self.history)
        return basis_with_tried_model(ExploringTurn(*asked), basis, context)

    def carry(self, record: Record, *lines: Line) -> None:
        """Keep a pure result for the next change; save now if there are CARRIED of them."""
        self.transcript.add(record)
        self.next_n = record.n + 1
        self.carried.append(record)
        self.carried_lines.extend(lines)
        if len(self.carried) >= CARRIED:
            self.save(self.turn, progress=True)
        else:
            self.renew_lease()

    def save(
        self,
        turn: Turn,
        *records: Record,
        lines: tuple[Line, ...] = (),
        utterances: tuple[Utterance, ...] = (),
        beside: ExtraWrites = NO_WRITES,
        unless_stopped: bool = False,
        progress: bool = False,
        at: datetime | None = None,
    ) -> None:
        """Commit one change and take it over into this work, its transcript and its header.

        A model call that ends with it gets its ledger row. `progress` resets the counts of
        deliveries and crashes. `at` is its time, None is now. Raises what `Journal.commit` raises.
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
        if beside.optional_fact is not None and change.items < ITEMS:
            change = replace(change, facts=(*change.facts, beside.optional_fact))
        self.turn = self.runtime.home.journal.commit(change)
        self.lines_saved += len(change.lines)
        self.carried, self.carried_lines, self.next_n = [], [], next_n
        for record in records:
            self.transcript.add(record)
        if self.served is not None:
            self.served = _as_written(self.served, turn.agent_id, beside.facts)
        for utterance in utterances:
            queue_turn_utterance(self.runtime.home.deliveries, utterance)
        for on_save in self.hooks.on_save:
            on_save(self, turn, beside.facts)

    def _header(self, turn: Turn, sequence: int, at: datetime, *, progress: bool) -> Turn:
        """Return the header to save, with its lease renewed, or ended with the turn."""
        lease = at + timedelta(seconds=self.runtime.rules.step_lease_seconds)
        until = None if turn.status.is_end else lease
        turn = turn.without_crashes() if progress else turn
        return turn.replaced(sequence=sequence, lease_until=until)

    def _usage(self, turn: Turn, records: tuple[Record, ...], at: datetime) -> tuple[UsageRow, ...]:
        """Return the ledger row of the model call that one of these records ends, if any."""
        intent = self.transcript.open_intent
        return tuple(
            UsageRow.of_call(turn, intent, record, at, opens=self._opens(intent))
            for record in records
            if isinstance(record, ModelResult) and isinstance(intent, ModelIntent)
        )

    def _opens(self, intent: ModelIntent) -> bool:
        """Check whether this call is the agent's first one in the session."""
        own = self.session.participant(self.turn.agent_id)
        return self.job is None and intent.basis is not None and own is not None and not own.turns

    @property
    def hooks(self) -> TurnHooks:
        """The hooks of the consequences that can concern this turn, by what is known of it now."""
        found = {TurnTrait.CALLS} if any(e.answer.calls for e in self.transcript.steps) else set()
        if self.transcript.approval is not None:
            found.add(TurnTrait.APPROVAL)
        if 0 < self.runtime.rules.compact_every <= self._newest_read + self.lines_saved:
            found.add(TurnTrait.LONG)
        return self.runtime.consequences[self._traits | found]

    @cached_property
    def _traits(self) -> frozenset[TurnTrait]:
        """The traits that the turn had when it was loaded; none of these is lost or won later."""
        turn, agent = self.turn, self.profile.agent
        facts = {
            TurnTrait.ANY: True,
            TurnTrait.UNASKED: turn.is_autonomous,
            TurnTrait.TASK: turn.task is not None,
            TurnTrait.PEER: turn.source is Source.PEER,
            TurnTrait.SHARED: len(self.session.participants) > 1,
            TurnTrait.DORMANT: agent.status is AgentStatus.DORMANT,
            TurnTrait.OWN_LIFE: agent.heartbeat.acts_on_its_own or bool(agent.heartbeat.channel),
            TurnTrait.REPORTED: bool(self.profile.mind.reported),
            TurnTrait.OUTSIDE: bool(self.prompt.turn_actions),
        }
        return frozenset(trait for trait, holds in facts.items() if holds)

    @property
    def newest_line(self) -> int:
        """The number of the session's newest line, as far as this worker knows."""
        return self._newest_read + self.lines_saved

    @cached_property
    def _newest_read(self) -> int:
        return max(self.turn.trigger_line, *(line.sequence for line in self.history), 0)

    def renew_lease(self) -> None:
        """Renew the lease before it is too short for a step in which nothing can renew it."""
        until, now = self.turn.lease_until, self.runtime.clock.now()
        lease = timedelta(seconds=self.runtime.rules.step_lease_seconds)
        if until is None or until - now > LONGEST_STEP:
            return
        # Who cannot renew it now tries again at the next look.
        with suppress(Unavailable, NotFound):
            if self.runtime.home.journal.extend(self.turn, now + lease):
                self.turn = self.turn.replaced(lease_until=now + lease)

    def accept_stop(self) -> None:
        """Load the stop or pause that refused an intent; the epoch stays this worker's own."""
        stored = self.runtime.home.journal.header(self.turn.id)
        self.turn = self.turn.replaced(stop=stored.stop)

    def line(
        self, kind: LineKind, text: str, *, at: datetime | None = None, **details: Any
    ) -> Line:
        """Return a line of this agent in this turn's group.

        A private one is labelled with its readers if these are not only owners and the agent.
        """
        private = details.setdefault("audience", Audience.ALL) is Audience.SELF
        if self.clearance.label and (private or not self.clearance.search.session_id):
            details["data"] = {**(details.get("data") or {}), READERS: self.clearance.label}
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
        """Return the utterance of a text for the turn's channel, or `to` another one.

        () if the turn has no channel, as for clients that fetch answers themselves. A turn's first
        utterance, be it speech or an approval request, answers those who wait; without a `reply_to`
        in `details` speech there is a reply to the message that caused the turn.
        """
        channel = to or self.turn.channel
        if channel is None:
            return ()
        if to is None and ordinal == 0:
            details = {"reply_to": self._message_answered_in_public(), **details}
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
            opens=channel.awaited
            and not self.has_notified_clients
            and (ordinal == 0 or ordinal >= ASKING),
            created_at=at,
            updated_at=at,
            **details,
        )
        return (utterance,)

    def _message_answered_in_public(self) -> str:
        """Return the message that the turn answers where many speak, "" elsewhere."""
        trigger = None if self.session.guild_id is None else self.trigger
        return trigger.sent_as if trigger else ""

    @property
    def has_notified_clients(self) -> bool:
        """True if those who wait for this turn were sent a first answer or an approval request."""
        return self.transcript.speeches > 0 or self.transcript.approval is not None


def _as_written(goal: Goal, agent_id: str, facts: tuple[Document, ...]) -> Goal:
    """Return a goal as these documents have it; as it was if it is not among them."""
    key = (agent_id, GOAL, goal_document_id(goal.id))
    return next((fact.read(Goal) for fact in facts if fact.key == key), goal)


Consequence = TurnConsequence[Runtime, TurnWork]
"""The base class of a capability's own consequence."""

QuestionJob = BackgroundQuestion[TurnWork]
"""The question of a background turn."""


def queue_turn_utterance(deliveries: Queue, utterance: Utterance, *, again: str = "") -> None:
    """Queue an utterance for delivery, in order per target."""
    message = utterance_queue_message(utterance, again=again)
    deliveries.send(message.body, group=message.group, deduplication=message.deduplication)


def utterance_queue_message(utterance: Utterance, *, again: str = "") -> BatchedMessage:
    """Return the message that queues an utterance; `again` makes it a new one."""
    target = utterance.channel.target
    return BatchedMessage(
        f"{target}\n{utterance.key}",
        group=stable_id("target", target),
        deduplication=f"{utterance.key}{again}",
    )
