"""Stories: a turn's account as steps that a person can read."""

from datetime import datetime
from typing import Any

from pydantic import Field

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.account import CallAccount, StepAccount, TurnAccount
from opencrab.domain.turn.record import Record, Reflection
from opencrab.domain.turn.turn import Stop, Trigger, Turn, TurnStatus
from opencrab.domain.value import Language, Value
from opencrab.gateways.rest.insight.turn_outcome import TurnErrorView, insight_turn_error


class ApprovalView(Value):
    """The question to a human and the decision; `approved` is null until there is one."""

    what: str
    touches: str
    approved: bool | None = None
    by: str | None = None
    reason: str | None = None


class CallView(Value):
    """A tool call that the model requested, and its outcome."""

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
    """Status of a turn."""

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
    tainted: bool = Field(default=False, description="it read text that came from outside")
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, turn: Turn) -> "TurnView":
        """Convert the header of a turn to its view."""
        return cls(**_header(turn))


class StoryView(TurnView):
    """A turn with every step that it took.

    Only the owner may read texts, thoughts, arguments and results; other keys see the steps and
    calls and how they ended.
    """

    steps: tuple[StepView, ...]
    error: TurnErrorView | None = None

    @classmethod
    def from_records(
        cls,
        turn: Turn,
        records: tuple[Record, ...],
        *,
        private: bool,
        language: Language = Language.EN,
    ) -> "StoryView":
        """Convert a turn with its steps; without `private`, texts and arguments are null.

        The error is told in `language`.
        """
        told = enumerate(TurnAccount.of(turn, records).steps, start=1)
        steps = tuple(_step(number, step, private=private) for number, step in told)
        return cls(**_header(turn), steps=steps, error=insight_turn_error(turn, records, language))


def _header(turn: Turn) -> dict[str, Any]:
    shown = {name: value for name, value in turn if name in TurnView.model_fields}
    renamed = {"message_id": turn.group, "model_calls": turn.attempts, "tainted": turn.taint}
    return {**shown, **renamed, "spent_micro_usd": turn.spent}


def _step(number: int, step: StepAccount, *, private: bool) -> StepView:
    shown: dict[str, Any] = {
        "number": number,
        "model": step.intent.model,
        "state": "running",
        "reserved_micro_usd": step.intent.reserved,
        "calls": tuple(_call(call, private=private) for call in step.calls),
    }
    result = step.result
    if result is not None:
        answer = result.answer
        shown |= {
            "state": result.state.value,
            "usage": answer.usage if answer else None,
            "cost_micro_usd": result.cost,
            "latency_ms": result.latency_ms,
        }
        if private:
            shown["error"] = result.error
        if private and answer:
            shown |= {"text": answer.text or None, "thought": answer.thought}
            shown["memory_update"] = answer.memory_update
    return StepView(**shown)


def _call(told: CallAccount, *, private: bool) -> CallView:
    shown: dict[str, Any] = {"id": told.call.id, "name": told.call.name, "state": told.state}
    if private:
        shown |= {"arguments": told.call.arguments, "approval": _approval(told)}
    if private and told.result is not None:
        result = told.result.result
        shown |= {"success": result.success, "data": result.data, "error": result.error}
    return CallView(**shown)


def _approval(told: CallAccount) -> ApprovalView | None:
    asked, decided = told.request, told.decision
    if asked is None:
        return None
    view = ApprovalView(what=asked.what, touches=asked.touches)
    if decided is None:
        return view
    return view.replaced(approved=decided.approved, by=decided.by, reason=decided.reason or None)
