"""Turn account: a turn's records as steps and calls, from which every view of a turn is drawn.

A transcript says what a worker must do next; an account says what people may be shown of it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from opencrab.domain.turn.record import (
    ActionCall,
    ActionIntent,
    ApprovalDecision,
    ApprovalRequest,
    BlobPointer,
    CallResult,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
    Record,
)
from opencrab.domain.turn.turn import Turn

_RAN = {CallState.COMPLETED, CallState.FAILED, CallState.UNKNOWN}
_NEVER_RAN = {CallState.REFUSED, CallState.CANCELLED}


@dataclass
class CallAccount:
    """One tool call of the model, its state and its result.

    `state` is pending, running or waiting, and then that of its result. `begun_at` is when it began
    or when approval was requested; `seconds` is None unless both ends were recorded.
    """

    call: ActionCall
    state: str = "pending"
    begun_at: datetime | None = None
    ended_at: datetime | None = None
    seconds: float | None = None
    request: ApprovalRequest | None = None
    decision: ApprovalDecision | None = None
    result: CallResult | None = None

    @property
    def ran(self) -> bool:
        """True if the call has a result of an execution, not of invalid arguments."""
        return self.result is not None and self.result.state in _RAN and not self.result.invalid

    @property
    def is_busy(self) -> bool:
        """True if it began, or approval was requested, and it has no result yet."""
        return self.begun_at is not None and self.result is None

    @property
    def is_asked(self) -> bool:
        """True if a human was asked for approval and has not decided."""
        return self.request is not None and self.decision is None


@dataclass
class StepAccount:
    """A model call, and the tool calls that it led to; `at` is when it answered."""

    intent: ModelIntent
    result: ModelResult | None = None
    at: datetime | None = None
    calls: list[CallAccount] = field(default_factory=list)

    @property
    def answer(self) -> ModelAnswer | None:
        """The model's answer, or None."""
        return None if self.result is None else self.result.answer

    @property
    def ends_turn(self) -> bool:
        """True if one of its calls was an action that ends turns."""
        return any(call.result is not None and call.result.ends_turn for call in self.calls)


@dataclass
class TurnAccount:
    """A turn and everything that it has done so far.

    Times never go back, however clocks differ; a duration is computed from recorded times only.
    """

    turn: Turn
    steps: list[StepAccount] = field(default_factory=list)
    _time: datetime | None = None
    _since: datetime | None = None

    @classmethod
    def of(cls, turn: Turn, records: Iterable[Record]) -> "TurnAccount":
        """Build the account from records in the order of their keys."""
        account = cls(turn)
        for record in records:
            account.add(record)
        return account

    @property
    def answered_steps(self) -> Iterator[StepAccount]:
        """The steps whose model call was completed."""
        for step in self.steps:
            if step.answer and step.result and step.result.state is CallState.COMPLETED:
                yield step

    @property
    def calls(self) -> Iterator[CallAccount]:
        """All tool calls, in order."""
        for step in self.steps:
            yield from step.calls

    @property
    def pending(self) -> CallAccount | None:
        """The first call of the last step without a result (calls run in order), or None."""
        answered = tuple(self.answered_steps)
        last = answered[-1].calls if answered else []
        return next((call for call in last if call.result is None), None)

    @property
    def is_thinking(self) -> bool:
        """True if a model call was started and has not ended."""
        return bool(self.steps) and self.steps[-1].result is None

    @property
    def failed_calls(self) -> int:
        """The number of failed model calls."""
        ended = (step.result for step in self.steps)
        return sum(each is not None and each.state is CallState.FAILED for each in ended)

    def add(self, record: Record) -> None:
        """Add one more record; one without its step or its call is ignored."""
        at: datetime | None = getattr(record, "at", None)
        self._time = max(filter(None, (self._time, self.turn.created_at, at)))
        match record:
            case ModelIntent():
                self.steps.append(StepAccount(record))
            case ModelResult() if self.steps:
                step, calls = self.steps[-1], record.answer.calls if record.answer else ()
                step.result, step.at, step.calls = record, self._time, list(map(CallAccount, calls))
                self._since = at
            case ActionIntent() | ApprovalRequest() | ApprovalDecision() | CallResult():
                for call in self.steps[-1].calls if self.steps else ():
                    if call.call.id == record.call_id:
                        self._go_on(call, record, at)
            case BlobPointer():
                raise AssertionError(f"record {record.n} is a blob pointer: load its body first")

    def _go_on(
        self,
        call: CallAccount,
        record: ActionIntent | ApprovalRequest | ApprovalDecision | CallResult,
        at: datetime | None,
    ) -> None:
        match record:
            case ActionIntent():
                call.state, call.begun_at = "running", call.begun_at or self._time
                self._since = at
            case ApprovalRequest():
                call.state, call.begun_at = "waiting", call.begun_at or self._time
                call.request, call.decision, self._since = record, None, None
            case ApprovalDecision():
                call.state, call.decision = "pending", record
            case CallResult():
                # A call that waited for a human without an intent after that has no beginning.
                if at is not None and self._since is not None and record.state not in _NEVER_RAN:
                    call.seconds = round((at - self._since).total_seconds(), 3)
                call.state, call.result, call.ended_at = record.state.value, record, self._time
                self._since = at
