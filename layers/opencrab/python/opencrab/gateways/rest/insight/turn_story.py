"""Stories: a turn's records as steps that a person can read."""

from datetime import datetime
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import (
    ActionIntent,
    Answer,
    ApprovalDecision,
    ApprovalRequest,
    CallResult,
    ModelIntent,
    ModelResult,
    Record,
    Reflection,
)
from opencrab.domain.turn.turn import Stop, Trigger, Turn, TurnStatus
from opencrab.domain.value import Value


class ApprovalView(Value):
    """What a human was asked, and what they decided; `approved` is null until they have."""

    what: str
    touches: str
    approved: bool | None = None
    by: str | None = None
    reason: str | None = None


class CallView(Value):
    """One action that the model asked for, and what came of it."""

    id: str
    name: str
    state: str
    arguments: dict[str, Any] | None = None
    success: bool | None = None
    data: dict[str, Any] | None = None
    error: str | None = None
    approval: ApprovalView | None = None


class StepView(Value):
    """One model call and the actions that it led to; a crashed call has state `unknown`."""

    number: int
    model: str
    state: str
    text: str | None = None
    thought: Reflection | None = None
    memory_update: str | None = None
    error: str | None = None
    usage: Usage | None = None
    reserved_micro_usd: int
    cost_micro_usd: int = 0
    latency_ms: int | None = None
    calls: tuple[CallView, ...] = ()


class TurnView(Value):
    """Where a turn stands."""

    id: str
    session_id: str
    agent_id: str
    status: TurnStatus
    trigger: Trigger
    source: Source
    authority: Authority
    message_id: str
    stop: Stop | None
    note: str
    model_calls: int
    spent_micro_usd: int
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, turn: Turn) -> "TurnView":
        """A stored header as it is shown."""
        return cls(**_header(turn))


class StoryView(TurnView):
    """A turn with every step that it took.

    Words, thoughts, arguments and results are the owner's to read; other keys see that there were
    steps and calls, and how they ended.
    """

    steps: tuple[StepView, ...]

    @classmethod
    def told(cls, turn: Turn, records: tuple[Record, ...], *, private: bool) -> "StoryView":
        """The whole story, or without what only the owner may read."""
        steps = told(records)
        return cls(**_header(turn), steps=steps if private else tuple(map(_public, steps)))


def told(records: tuple[Record, ...]) -> tuple[StepView, ...]:
    """The steps that records, in the order of their keys, amount to."""
    steps: list[StepView] = []
    for record in records:
        if isinstance(record, ModelIntent):
            steps.append(
                StepView(
                    number=len(steps) + 1,
                    model=record.model,
                    state="running",
                    reserved_micro_usd=record.reserved,
                )
            )
        elif steps:
            steps[-1] = _after(steps[-1], record)
    return tuple(steps)


def _after(step: StepView, record: Record) -> StepView:
    match record:
        case ModelResult():
            return _answered(step, record)
        case ActionIntent():
            return _called(step, record.call_id, state="running")
        case CallResult():
            result = record.result
            return _called(
                step,
                record.call_id,
                state=record.state.value,
                success=result.success,
                data=result.data,
                error=result.error,
            )
        case ApprovalRequest():
            asked = ApprovalView(what=record.what, touches=record.touches)
            return _called(step, record.call_id, state="waiting", approval=asked)
        case ApprovalDecision():
            return _decided(step, record)
        case _:
            return step


def _answered(step: StepView, record: ModelResult) -> StepView:
    answer = record.answer or Answer()
    calls = (
        CallView(id=call.id, name=call.name, state="pending", arguments=call.arguments)
        for call in answer.calls
    )
    return step.replaced(
        state=record.state.value,
        text=answer.text or None,
        thought=answer.thought,
        memory_update=answer.memory_update,
        usage=answer.usage if record.answer else None,
        error=record.error,
        cost_micro_usd=record.cost,
        latency_ms=record.latency_ms,
        calls=tuple(calls),
    )


def _decided(step: StepView, record: ApprovalDecision) -> StepView:
    asked = next((call.approval for call in step.calls if call.id == record.call_id), None)
    if asked is None:
        return step
    decided = asked.replaced(approved=record.approved, by=record.by, reason=record.reason or None)
    return _called(step, record.call_id, state="pending", approval=decided)


def _called(step: StepView, call_id: str, **changes: Any) -> StepView:
    calls = (call.replaced(**changes) if call.id == call_id else call for call in step.calls)
    return step.replaced(calls=tuple(calls))


def _public(step: StepView) -> StepView:
    calls = (CallView(id=call.id, name=call.name, state=call.state) for call in step.calls)
    return step.replaced(
        text=None, thought=None, memory_update=None, error=None, calls=tuple(calls)
    )


def _header(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.id,
        "session_id": turn.session_id,
        "agent_id": turn.agent_id,
        "status": turn.status,
        "trigger": turn.trigger,
        "source": turn.source,
        "authority": turn.authority,
        "message_id": turn.group,
        "stop": turn.stop,
        "note": turn.note,
        "model_calls": turn.attempts,
        "spent_micro_usd": turn.spent,
        "created_at": turn.created_at,
        "ended_at": turn.ended_at,
    }
