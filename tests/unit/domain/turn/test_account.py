"""Turn accounts: how far steps and calls have come, record by record."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.turn.account import TurnAccount
from opencrab.domain.turn.action import ActionResult, Effect
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
from opencrab.domain.turn.turn import Trigger, Turn

NOON = datetime(2026, 2, 17, 12, tzinfo=UTC)
TURN = Turn(
    id="t",
    agent_id="mika",
    session_id="s",
    trigger=Trigger.MESSAGE,
    source=Source.REST,
    authority=Authority.OWNER,
    principal_id="owner",
    group="m",
    body_hash="h",
    created_at=NOON,
)
FIRST, SECOND = (
    ActionCall(id="a", name="ws_write", arguments={}),
    ActionCall(id="b", name="ws_read", arguments={}),
)
ASKED = ModelIntent(n=1, model="m", request_hash="h", reserved=7)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def answered(seconds: float = 1) -> ModelResult:
    answer = ModelAnswer(calls=(FIRST, SECOND))
    return ModelResult(n=1, state=CallState.COMPLETED, answer=answer, at=after(seconds))


def begun(call: ActionCall, seconds: float) -> ActionIntent:
    return ActionIntent(
        n=2,
        call_id=call.id,
        name=call.name,
        effect=Effect.KEYED,
        argument_hash="h",
        at=after(seconds),
    )


def asked(seconds: float) -> ApprovalRequest:
    return ApprovalRequest(
        n=2,
        call_id="a",
        name="ws_write",
        argument_hash="h",
        what="write",
        touches="x",
        at=after(seconds),
    )


def done(call: ActionCall, seconds: float, state: CallState = CallState.COMPLETED) -> CallResult:
    return CallResult(
        n=3,
        call_id=call.id,
        name=call.name,
        state=state,
        result=ActionResult.ok(),
        at=after(seconds),
    )


YES = ApprovalDecision(n=2, call_id="a", argument_hash="h", approved=True, by="owner")


def test_a_call_takes_as_long_as_since_its_intent_or_since_what_came_before_it() -> None:
    records = (ASKED, answered(1), begun(FIRST, 3), done(FIRST, 5), done(SECOND, 9))
    (step,) = TurnAccount.of(TURN, records).steps
    assert [call.seconds for call in step.calls] == [2.0, 4.0]
    assert [call.ended_at for call in step.calls] == [after(5), after(9)]


@pytest.mark.parametrize("state", [CallState.REFUSED, CallState.CANCELLED])
def test_what_never_ran_took_no_time(state: CallState) -> None:
    account = TurnAccount.of(TURN, (ASKED, answered(), done(FIRST, 5, state)))
    first = next(account.calls)
    assert (first.seconds, first.ran) == (None, False)


def test_a_call_that_waited_for_a_human_without_an_intent_after_that_has_no_duration() -> None:
    records = (ASKED, answered(), asked(2), YES, done(FIRST, 60))
    first = next(TurnAccount.of(TURN, records).calls)
    assert (first.seconds, first.begun_at) == (None, after(2))


def test_a_call_is_asked_about_until_somebody_decides_and_again_when_it_is_asked_again() -> None:
    account = TurnAccount.of(TURN, (ASKED, answered()))
    seen = []
    for record in (asked(2), YES, asked(3)):
        account.add(record)
        assert account.pending is not None
        seen.append((account.pending.state, account.pending.is_asked, account.pending.is_busy))
    assert seen == [("waiting", True, True), ("pending", False, True), ("waiting", True, True)]


def test_calls_of_a_step_run_in_order() -> None:
    account = TurnAccount.of(TURN, (ASKED, answered()))
    pending = []
    for record in (done(FIRST, 2), done(SECOND, 3)):
        pending.append(account.pending and account.pending.call.id)
        account.add(record)
    assert (pending, account.pending) == (["a", "b"], None)


def test_a_model_call_is_thought_about_until_it_ends_and_counts_when_it_fails() -> None:
    account = TurnAccount.of(TURN, (ASKED,))
    assert account.is_thinking
    account.add(ModelResult(n=1, state=CallState.FAILED, error="?"))
    assert (account.is_thinking, account.failed_calls, list(account.answered_steps)) == (
        False,
        1,
        [],
    )


def test_times_never_go_back() -> None:
    records: tuple[Record, ...] = (ASKED, answered(9), begun(FIRST, 3), done(FIRST, 4))
    (step,) = TurnAccount.of(TURN, records).steps
    assert (step.at, step.calls[0].begun_at, step.calls[0].ended_at) == (after(9),) * 3


def test_what_lies_elsewhere_must_be_read_before() -> None:
    with pytest.raises(AssertionError, match="blob pointer"):
        TurnAccount.of(TURN, (BlobPointer(n=1, sha256="0" * 64, size=1),))
