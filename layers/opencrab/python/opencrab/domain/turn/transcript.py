"""Transcript: what a turn's records say has happened, and what must happen next."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from opencrab.domain.access.authority import Source
from opencrab.domain.conversation.loop_guard import minhash_of_conversation_message
from opencrab.domain.conversation.session import Phase, Session, SessionChange
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Duration, ModelChosen, RoutingBasis
from opencrab.domain.turn.action import (
    ActionResult,
    FileDeleted,
    FileWritten,
    SideEffect,
    SkillUsed,
    SpeechSent,
)
from opencrab.domain.turn.record import (
    ActionCall,
    ActionIntent,
    ApprovalDecision,
    ApprovalRequest,
    CallResult,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
    Record,
)
from opencrab.domain.turn.turn import Turn

_ABSENT = "absent"
"""The prepared condition of a write that creates its file (`ports.workspace.files.ABSENT`)."""


@dataclass(frozen=True)
class TurnStep:
    """A model call that answered, the messages new in it, and the results of its tool calls."""

    n: int
    answer: ModelAnswer
    heard: tuple[str, ...] = ()
    results: dict[str, CallResult] = field(default_factory=dict)

    @property
    def pending(self) -> ActionCall | None:
        """The first call without a result (calls of a step run in order), or None."""
        return next((call for call in self.answer.calls if call.id not in self.results), None)

    @property
    def ends_turn(self) -> bool:
        """True if one of its calls was an action that ends turns."""
        return any(result.ends_turn for result in self.results.values())


@dataclass(frozen=True)
class ModelAttempt:
    """A model call of the current step that failed, and why; `error` is for people."""

    model: str
    fault: Fault
    error: str = ""


@dataclass
class Transcript:
    """All steps of a turn so far, and the intent that a dead worker left open, if any.

    `attempts` are the failed calls of the present step, `failed_calls` counts those of the whole
    turn; `asked` are all model calls that ended, with any result. `basis` are the inputs of
    routing, `choices` are the agent's own in this turn. `replaced_files` are paths that it wrote or
    deleted, without those that it created. It grows by `add`, in the order of record
    keys, whether the records come from the store or from the step that just happened; both give the
    same transcript.
    """

    steps: list[TurnStep] = field(default_factory=list)
    open_intent: ModelIntent | ActionIntent | None = None
    approval: ApprovalRequest | None = None
    decision: ApprovalDecision | None = None
    attempts: list[ModelAttempt] = field(default_factory=list)
    failed_calls: int = 0
    asked: list[tuple[ModelIntent, ModelResult]] = field(default_factory=list)
    basis: RoutingBasis | None = None
    first_call: ModelIntent | None = None
    choices: list[ModelChosen] = field(default_factory=list)
    skills_asked: list[str] = field(default_factory=list)
    speeches: int = 0
    heard: list[str] = field(default_factory=list)
    replaced_files: list[str] = field(default_factory=list)
    _heard_now: tuple[str, ...] = ()

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Transcript":
        """Build the transcript from records in the order of their keys."""
        transcript = cls()
        for record in records:
            transcript.add(record)
        return transcript

    def add(self, record: Record) -> None:
        """Add one more record."""
        match record:
            case ModelIntent():
                self.open_intent = record
                # The first intent has it: what the owner changes meanwhile is for the next turn
                # (ADR 0014).
                self.basis = self.basis or record.basis
                self.first_call = self.first_call or record
                self._heard_now += record.heard
                self.heard.extend(record.heard)
            case ActionIntent():
                self.open_intent = record
            case ModelResult():
                self._model_result(record, self.open_intent)
            case CallResult():
                self._call_result(record)
            # A newer question makes an older answer void, whatever it was about.
            case ApprovalRequest():
                self.approval, self.decision = record, None
            case ApprovalDecision():
                self.decision = record
            case _:
                raise AssertionError(f"record {record.n} is a blob pointer: load its body first")

    @property
    def repairs(self) -> int:
        """The number of steps in a row, up to now, in which no call could be understood."""
        count = 0
        for step in reversed(self.steps):
            results = tuple(step.results.values())
            if step.pending or not results or not all(result.invalid for result in results):
                break
            count += 1
        return count

    @property
    def ended_calls(self) -> Iterator[tuple[ActionCall, ActionResult]]:
        """The calls that have a result, with it, in the order in which they were made."""
        for step in self.steps:
            for call in step.answer.calls:
                if call.id in step.results:
                    yield call, step.results[call.id].result

    @property
    def effects(self) -> Iterator[SideEffect]:
        """The side effects of the turn's calls, in order."""
        for _, result in self.ended_calls:
            yield from result.side_effects

    @property
    def declared_done(self) -> bool:
        """True if the agent declared that it is done with its session."""
        return any(effect.kind == "declared_done" for effect in self.effects)

    @property
    def pending(self) -> ActionCall | None:
        """The call to run next in the last step, or None."""
        return self.steps[-1].pending if self.steps else None

    def human_decision(self, call: ActionCall) -> bool | None:
        """Return a human's decision about exactly this call; None without a decision."""
        decision = self.decision
        if decision is None or decision.call_id != call.id:
            return None
        return decision.approved and decision.argument_hash == call.argument_hash

    def _model_result(self, record: ModelResult, intent: ModelIntent | ActionIntent | None) -> None:
        self.open_intent = None
        if isinstance(intent, ModelIntent):
            self.asked.append((intent, record))
        if record.state is CallState.COMPLETED and record.answer is not None:
            self.steps.append(TurnStep(record.n, record.answer, self._heard_now))
            self._heard_now = ()
            self.attempts = []
        elif record.state is CallState.FAILED:
            self.failed_calls += 1
            if isinstance(intent, ModelIntent):
                fault = record.fault or Fault.SERVER_ERROR
                self.attempts.append(ModelAttempt(intent.model, fault, record.error or ""))

    def _call_result(self, record: CallResult) -> None:
        intent, self.open_intent = self.open_intent, None
        self.steps[-1].results[record.call_id] = record
        effects = record.result.side_effects
        if not isinstance(intent, ActionIntent) or intent.prepared.get("condition") != _ABSENT:
            files = (e for e in effects if isinstance(e, FileWritten | FileDeleted))
            self.replaced_files.extend(each.path for each in files)
        self.speeches += sum(effect.kind == "spoke" for effect in effects)
        self.skills_asked.extend(e.name for e in effects if isinstance(e, SkillUsed))
        self.choices.extend(effect for effect in effects if isinstance(effect, ModelChosen))


_NO_ROUND = frozenset({Source.PEER, Source.HEARTBEAT, Source.WORLD})
"""Sources whose messages start no round; those of humans and schedules do."""


def turn_session_change(
    session: Session, transcript: Transcript, header: Turn, speech: str, now: datetime
) -> SessionChange:
    """Build the change that a closing turn makes to its session; `header` has its final cost."""
    spoken = [*_spoken_texts(transcript), *([speech] if speech else [])]
    return SessionChange(
        agent_id=header.agent_id,
        turn_id=header.id,
        spoke_at=now if speech or transcript.speeches else None,
        declared_done=transcript.declared_done,
        models={
            choice.use: choice.model
            for choice in transcript.choices
            if choice.duration is Duration.THIS_SESSION
        },
        heard=None if header.source in _NO_ROUND else header.group,
        payer=header.public_payer,
        floor=header.hops if header.source is Source.PEER else None,
        speeches=len(spoken),
        characters=sum(map(len, spoken)),
        marks=minhash_of_conversation_message("\n".join(spoken))
        if spoken and session.discusses
        else (),
        spent_micro_usd=header.spent,
        phase=_set_phase(transcript),
    )


def _spoken_texts(transcript: Transcript) -> list[str]:
    """Return the texts that the turn spoke by actions."""
    return [effect.text for effect in transcript.effects if isinstance(effect, SpeechSent)]


def _set_phase(transcript: Transcript) -> Phase | None:
    """Return the phase that the turn set last, or None."""
    effects = transcript.effects
    phases = [Phase(effect.phase) for effect in effects if effect.kind == "phase_set"]
    return phases[-1] if phases else None
