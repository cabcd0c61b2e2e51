"""Outcomes: how a turn ended, what it cost, and why it brought no answer."""

from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from opencrab.domain.models.fault import Fault
from opencrab.domain.turn.record import ModelResult, Record
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language, MicroUsd, Value
from opencrab.engine.phrases import is_phrase_of_frozen_turn, phrase_for_fault, system_phrase
from opencrab.ports.texts import Texts
from opencrab.ports.turn.journal import Journal

_CURES = Texts(__file__)
_OF_MODELS = {TurnStatus.FAILED, TurnStatus.IDLE}
"""Statuses that the last model call may explain."""


class TurnErrorType(StrEnum):
    """The reason why a turn ended without an answer; codes of problem documents where one fits."""

    FAILED = "failed"
    UNANSWERED = "unanswered"
    FROZEN = "frozen"
    STOPPED = "stopped"
    EXHAUSTED = "exhausted"


class TurnErrorView(Value):
    """Why a turn ended without an answer, and what to do about it."""

    type: TurnErrorType
    message: str
    cure: str
    fault: Fault | None = Field(default=None, description="of the last model call, if it failed")


class TurnOutcome(Value):
    """A turn's status, cost and error so far; `error` is null unless it ended without an answer."""

    id: str
    agent_id: str
    status: TurnStatus
    cost_micro_usd: MicroUsd
    error: TurnErrorView | None = None


def insight_turn_outcome(journal: Journal, turn: Turn, language: Language) -> TurnOutcome:
    """Return the outcome of a turn; its records are read only if it ended without an answer."""
    error = insight_turn_error(turn, (), language)
    if error is not None and turn.status in _OF_MODELS:
        error = insight_turn_error(turn, journal.load(turn.id).records, language)
    return TurnOutcome(
        id=turn.id,
        agent_id=turn.agent_id,
        status=turn.status,
        cost_micro_usd=turn.spent,
        error=error,
    )


def insight_turn_error(
    turn: Turn, records: Iterable[Record], language: Language
) -> TurnErrorView | None:
    """Return why a turn ended without an answer; None if it did not, or chose silence."""
    fault = _last_fault(records) if turn.status in _OF_MODELS else None
    kind = _error_type(turn, fault)
    if kind is None:
        return None
    if kind is TurnErrorType.FROZEN:
        message = system_phrase("frozen", language)
    else:
        message = phrase_for_fault(
            turn.note or turn.status.value, language, fault, turn.status.value
        )
    cure = _CURES[kind][language].format(turn=turn.id, agent=turn.agent_id)
    return TurnErrorView(type=kind, message=message, cure=cure, fault=fault)


def _error_type(turn: Turn, fault: Fault | None) -> TurnErrorType | None:
    match turn.status:
        case TurnStatus.FAILED:
            return TurnErrorType.FAILED if fault is None else TurnErrorType.UNANSWERED
        case TurnStatus.IDLE:
            # Silence that the agent chose has no note.
            return TurnErrorType.UNANSWERED if turn.note else None
        case TurnStatus.EXHAUSTED:
            return TurnErrorType.EXHAUSTED
        case TurnStatus.STOPPED:
            is_frozen = turn.stop is None and is_phrase_of_frozen_turn(turn.note)
            return TurnErrorType.FROZEN if is_frozen else TurnErrorType.STOPPED
        case _:
            return None


def _last_fault(records: Iterable[Record]) -> Fault | None:
    results = [record for record in records if isinstance(record, ModelResult)]
    return results[-1].fault if results else None
