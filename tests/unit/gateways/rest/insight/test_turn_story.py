"""Stories: what records amount to, for the owner and for everybody else."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.turn.action import ActionResult, Effect
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
    Reflection,
)
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.gateways.rest.insight.turn_story import StepView, StoryView

WRITE = ActionCall(id="c", name="ws_write", arguments={"path": "秘密.md", "content": "蟹"})
ANSWER = ModelAnswer(
    text="書きますね", calls=(WRITE,), thought=Reflection(judgment="大事"), memory_update="蟹が好き"
)
ASKED = ModelIntent(n=1, model="m", request_hash="h", reserved=7)
ANSWERED = ModelResult(
    n=1, state=CallState.COMPLETED, answer=ANSWER, cost=5, latency_ms=12, error=None
)
REQUEST = ApprovalRequest(
    n=2, call_id="c", name="ws_write", argument_hash="h", what="ws_write", touches="'秘密.md'"
)
YES = ApprovalDecision(
    n=2, call_id="c", argument_hash="h", approved=True, by="owner", reason="どうぞ"
)
BEGUN = ActionIntent(n=3, call_id="c", name="ws_write", effect=Effect.KEYED, argument_hash="h")
DONE = CallResult(
    n=3,
    call_id="c",
    name="ws_write",
    state=CallState.COMPLETED,
    result=ActionResult.ok(path="秘密.md"),
)
WHOLE: tuple[Record, ...] = (ASKED, ANSWERED, REQUEST, YES, BEGUN, DONE)
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
    created_at=datetime(2026, 2, 17, tzinfo=UTC),
)


def told(records: tuple[Record, ...]) -> tuple[StepView, ...]:
    """The steps of a turn with these records, as its owner reads them."""
    return StoryView.from_records(TURN, records, private=True).steps


def test_nothing_is_told_of_a_turn_that_has_not_begun() -> None:
    assert told(()) == ()


@pytest.mark.parametrize(
    ("known", "state", "call"),
    [
        (1, "running", None),
        (2, "completed", "pending"),
        (3, "completed", "waiting"),
        (4, "completed", "pending"),
        (5, "completed", "running"),
        (6, "completed", "completed"),
    ],
)
def test_a_step_shows_how_far_it_has_come(known: int, state: str, call: str | None) -> None:
    (step,) = told(WHOLE[:known])
    assert step.state == state
    assert [each.state for each in step.calls] == ([] if call is None else [call])
    assert step.reserved_micro_usd == 7


def test_a_whole_step_tells_words_thoughts_money_and_the_decision() -> None:
    (step,) = told(WHOLE)
    assert (step.text, step.memory_update) == ("書きますね", "蟹が好き")
    assert (step.cost_micro_usd, step.latency_ms) == (5, 12)
    (call,) = step.calls
    assert call.arguments == WRITE.arguments
    assert call.data == {"path": "秘密.md"}
    assert call.approval is not None
    assert (call.approval.approved, call.approval.by) == (True, "owner")
    assert call.approval.reason == "どうぞ"


def test_a_crashed_call_is_a_step_of_unknown_outcome() -> None:
    crashed = ModelResult(n=1, state=CallState.UNKNOWN, error="its worker died", cost=7)
    again = ModelIntent(n=2, model="m", request_hash="h", reserved=7)
    first, second = told((ASKED, crashed, again))
    assert (first.number, first.state, first.error) == (1, "unknown", "its worker died")
    assert first.usage is None
    assert (second.number, second.state) == (2, "running")


def test_a_record_without_its_step_is_left_out() -> None:
    assert told((ANSWERED, DONE)) == ()


@pytest.mark.parametrize("secret", ["書きますね", "大事", "蟹が好き", "秘密.md", "どうぞ"])
def test_what_the_owner_reads_is_hidden_from_everybody_else(secret: str) -> None:
    assert secret in StoryView.from_records(TURN, WHOLE, private=True).model_dump_json()
    public = StoryView.from_records(TURN, WHOLE, private=False)
    assert secret not in public.model_dump_json()
    (step,) = public.steps
    assert [(call.name, call.state) for call in step.calls] == [("ws_write", "completed")]
    assert step.cost_micro_usd == 5


def test_a_story_says_whether_the_turn_read_text_from_outside() -> None:
    for taint in (False, True):
        turn = TURN.replaced(taint=taint)
        assert StoryView.from_records(turn, WHOLE, private=False).tainted is taint
