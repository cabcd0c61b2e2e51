"""A transcript: what a turn's records amount to, however often they are read."""

import pytest

from opencrab.domain.models.fault import Fault
from opencrab.domain.turn.action import (
    ActionResult,
    Effect,
    FileDeleted,
    FileWritten,
    SideEffect,
    SpeechSent,
)
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
from opencrab.domain.turn.transcript import Transcript

WRITE = ActionCall(id="c1_0", name="ws_write", arguments={"path": "メモ.md"})
SAY = ActionCall(id="c1_1", name="send_speech", arguments={"content": "こんにちは"})


def intent(n: int, *heard: str) -> ModelIntent:
    return ModelIntent(n=n, model="m", request_hash="h", reserved=0, heard=heard)


def answered(n: int, *calls: ActionCall, text: str = "") -> ModelResult:
    return ModelResult(n=n, state=CallState.COMPLETED, answer=ModelAnswer(text=text, calls=calls))


def ended(n: int, state: CallState) -> ModelResult:
    return ModelResult(n=n, state=state, error="away")


def returned(n: int, call: ActionCall, *effects: SideEffect, ends: bool = False) -> CallResult:
    return CallResult(
        n=n,
        call_id=call.id,
        name=call.name,
        state=CallState.COMPLETED,
        result=ActionResult.ok(*effects),
        ends_turn=ends,
    )


def running(n: int, call: ActionCall) -> ActionIntent:
    return ActionIntent(
        n=n, call_id=call.id, name=call.name, effect=Effect.KEYED, argument_hash="h"
    )


def asked(n: int, call: ActionCall) -> ApprovalRequest:
    return ApprovalRequest(
        n=n,
        call_id=call.id,
        name=call.name,
        argument_hash=call.argument_hash,
        what="書く",
        touches="メモ.md",
    )


def decided(n: int, call: ActionCall, *, approved: bool) -> ApprovalDecision:
    return ApprovalDecision(
        n=n, call_id=call.id, argument_hash=call.argument_hash, approved=approved, by="太郎"
    )


STORY: tuple[Record, ...] = (
    intent(1, "i1"),
    answered(1, WRITE, SAY, text="書きます"),
    running(2, WRITE),
    returned(2, WRITE),
    returned(3, SAY, SpeechSent(text="こんにちは"), ends=True),
    intent(4, "i2"),
    answered(4, text="done"),
)


def test_nothing_has_happened_in_a_new_turn() -> None:
    new = Transcript.of(())
    assert (new.steps, new.open_intent, new.pending) == ([], None, None)


@pytest.mark.parametrize("length", range(len(STORY) + 1))
def test_reading_again_and_going_on_give_the_same_transcript(length: int) -> None:
    going_on = Transcript.of(STORY[:length])
    for record in STORY[length:]:
        going_on.add(record)
    assert going_on == Transcript.of(STORY)


def test_a_story_has_steps_with_what_was_heard_and_how_calls_ended() -> None:
    told = Transcript.of(STORY)
    assert [(step.n, step.heard, set(step.results)) for step in told.steps] == [
        (1, ("i1",), {WRITE.id, SAY.id}),
        (4, ("i2",), set()),
    ]
    assert told.heard == ["i1", "i2"]
    assert told.speeches == 1


def test_an_intent_stays_open_until_its_result() -> None:
    assert Transcript.of(STORY[:1]).open_intent == STORY[0]
    assert Transcript.of(STORY[:2]).open_intent is None
    assert Transcript.of(STORY[:3]).open_intent == STORY[2]
    assert Transcript.of(STORY[:4]).open_intent is None


def test_calls_run_in_their_order() -> None:
    assert Transcript.of(STORY[:2]).pending == WRITE
    assert Transcript.of(STORY[:4]).pending == SAY
    assert Transcript.of(STORY[:5]).pending is None


def test_a_step_ends_the_turn_when_one_of_its_calls_does() -> None:
    assert not Transcript.of(STORY[:4]).steps[0].ends_turn
    assert Transcript.of(STORY[:5]).steps[0].ends_turn


def test_failures_count_until_an_answer_comes() -> None:
    records = (intent(1), ended(1, CallState.FAILED), intent(2), ended(2, CallState.FAILED))
    told = Transcript.of(records)
    assert [attempt.fault for attempt in told.attempts] == [Fault.SERVER_ERROR] * 2
    then = Transcript.of((*records, intent(3), answered(3, text="やっと")))
    assert (then.attempts, then.failed_calls) == ([], 2)


def test_an_unknown_attempt_is_neither_a_step_nor_a_failure() -> None:
    told = Transcript.of((intent(1), ended(1, CallState.UNKNOWN)))
    assert (told.steps, told.attempts, told.failed_calls) == ([], [], 0)
    assert told.open_intent is None


def test_what_a_failed_attempt_had_heard_belongs_to_the_next_answer() -> None:
    told = Transcript.of(
        (intent(1, "i1"), ended(1, CallState.FAILED), intent(2, "i2"), answered(2))
    )
    assert told.steps[0].heard == ("i1", "i2")
    assert told.heard == ["i1", "i2"]


def test_a_turn_waits_from_the_question_to_the_decision() -> None:
    until = (intent(1), answered(1, WRITE), asked(2, WRITE))
    assert Transcript.of(until).decision is None
    assert Transcript.of(until).human_decision(WRITE) is None
    decision = decided(2, WRITE, approved=True)
    assert Transcript.of((*until, decision)).decision == decision
    assert Transcript.of((*until, decision)).human_decision(WRITE) is True


def test_a_new_question_forgets_the_old_decision() -> None:
    told = Transcript.of((asked(2, WRITE), decided(2, WRITE, approved=True), asked(3, SAY)))
    assert told.decision is None
    assert told.human_decision(WRITE) is None


def test_a_human_who_says_no_approves_nothing() -> None:
    told = Transcript.of((asked(2, WRITE), decided(2, WRITE, approved=False)))
    assert told.human_decision(WRITE) is False
    assert told.human_decision(SAY) is None


@pytest.mark.parametrize(
    "other", [{"path": "other.md"}, {"path": "メモ.md", "more": 1}, None], ids=str
)
def test_an_approval_holds_for_exactly_the_stored_arguments(other: dict[str, str] | None) -> None:
    told = Transcript.of((asked(2, WRITE), decided(2, WRITE, approved=True)))
    assert told.human_decision(WRITE.replaced(arguments=other)) is False


def test_a_pointer_must_be_resolved_before_it_is_read() -> None:
    with pytest.raises(AssertionError, match="pointer"):
        Transcript.of((BlobPointer(n=1, sha256="0" * 64, size=1),))


WRITTEN = FileWritten(path="メモ.md", sha256="h", size=1)
DELETED = FileDeleted(path="memo.md")


@pytest.mark.parametrize(
    ("prepared", "effects", "replaced"),
    [
        ({"condition": "absent"}, (WRITTEN,), []),
        ({"condition": "v1"}, (WRITTEN,), ["メモ.md"]),
        ({"condition": "v1"}, (DELETED,), ["memo.md"]),
        ({"condition": None}, (DELETED,), ["memo.md"]),
        ({}, (DELETED, WRITTEN), ["memo.md", "メモ.md"]),
        ({"condition": "v1"}, (SpeechSent(text="はい"),), []),
    ],
)
def test_files_that_were_there_before_are_told_from_new_ones(
    prepared: dict[str, str], effects: tuple[SideEffect, ...], replaced: list[str]
) -> None:
    begun = running(3, WRITE).replaced(prepared=prepared)
    records = (intent(1), answered(2, WRITE), begun, returned(3, WRITE, *effects))
    assert Transcript.of(records).replaced_files == replaced
