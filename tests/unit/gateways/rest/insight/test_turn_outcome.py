"""Outcomes: what is told of a turn that ended, by its header and its last model call."""

import pytest

from opencrab.domain.models.fault import Fault
from opencrab.domain.turn.record import CallState, ModelResult
from opencrab.domain.turn.turn import Stop, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.phrases import system_phrase
from opencrab.gateways.rest.insight.turn_outcome import TurnErrorView, insight_turn_error
from tests.unit.gateways.rest.insight.test_turn_story import TURN

EN, JA = Language.EN, Language.JA
LANGUAGES = pytest.mark.parametrize("language", Language)
STOPPED = Stop(by="owner", at=TURN.created_at)


def error(
    status: TurnStatus,
    note: str = "",
    fault: Fault | None = None,
    *,
    stop: Stop | None = None,
    language: Language = EN,
) -> TurnErrorView | None:
    turn = TURN.replaced(status=status, note=note, stop=stop)
    return insight_turn_error(
        turn, [ModelResult(n=1, state=CallState.FAILED, fault=fault)], language
    )


@pytest.mark.parametrize("status", ["queued", "running", "waiting", "completed", "idle"])
def test_a_turn_that_goes_on_or_ended_well_or_chose_silence_has_no_error(status: str) -> None:
    assert error(TurnStatus(status)) is None


@LANGUAGES
@pytest.mark.parametrize("key", ["frozen", "frozen_in_answer"])
@pytest.mark.parametrize("agents", Language)
def test_a_freeze_is_told_from_other_stops_in_the_readers_language(
    language: Language, key: str, agents: Language
) -> None:
    told = error(TurnStatus.STOPPED, system_phrase(key, agents), language=language)
    assert told is not None
    assert (told.type, told.message) == ("frozen", system_phrase("frozen", language))
    assert "`opencrab unfreeze mika`" in told.cure


@pytest.mark.parametrize("key", ["stopped", "stopped_in_answer", "retired", "narrowed"])
def test_every_other_stop_is_one(key: str) -> None:
    told = error(TurnStatus.STOPPED, system_phrase(key, JA))
    assert told is not None
    assert told.type == "stopped"
    asked = error(TurnStatus.STOPPED, system_phrase("frozen", EN), stop=STOPPED)
    assert asked is not None
    assert asked.type == "stopped"


@LANGUAGES
@pytest.mark.parametrize("status", [TurnStatus.FAILED, TurnStatus.IDLE])
def test_a_failed_model_call_is_named_by_its_fault(language: Language, status: TurnStatus) -> None:
    told = error(status, "HTTP 401 from x", Fault.AUTH, language=language)
    assert told is not None
    assert (told.type, told.fault) == ("unanswered", Fault.AUTH)
    assert ("API キー" if language is JA else "HTTP 401 from x") in told.message
    assert "opencrab turns show t" in told.cure


def test_a_turn_that_failed_without_a_model_call_has_no_fault() -> None:
    told = error(TurnStatus.FAILED, "no progress")
    assert told is not None
    assert (told.type, told.fault, told.message) == ("failed", None, "no progress")


def test_a_budget_is_the_reason_whatever_a_model_said_before() -> None:
    told = error(TurnStatus.EXHAUSTED, "the day's budget is used up", Fault.TIMEOUT, language=JA)
    assert told is not None
    assert (told.type, told.fault) == ("exhausted", None)
    assert told.message == "予算か回数の上限に達しました"


def test_an_erased_turn_says_its_status() -> None:
    told = error(TurnStatus.FAILED)
    assert told is not None
    assert told.message == "failed"
