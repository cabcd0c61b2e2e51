"""What a turn was worth comes from what happened, and what is missing is missing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from opencrab.domain.learning.reward import TurnOpinion, judge_turn, turn_feedback_opinions
from opencrab.domain.learning.signals import TurnSignals
from opencrab.domain.memory.memory import Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.turn import Trigger, TurnStatus

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
UP, DOWN = True, False


def signals(**told: Any) -> TurnSignals:
    """What an ended turn tells."""
    first = {"turn_id": "t1", "session_id": "s1", "at": NOW, "trigger": Trigger.MESSAGE}
    return TurnSignals(**{**first, "status": TurnStatus.COMPLETED, "spoke": True, **told})


def of(*ups: bool | None, corrected: bool = False, repeated: bool = False, **told: Any) -> Any:
    """The worth of such a turn."""
    opinions = [TurnOpinion(turn_id="t1", up=up, at=NOW) for up in ups]
    thanked = told.pop("thanked", False)
    marks = {"corrected": corrected, "repeated": repeated, "thanked": thanked}
    return judge_turn(signals(**told), opinions, **marks).worth


def test_a_turn_without_any_sign_is_neither_good_nor_bad() -> None:
    assert of() is None
    assert of(None) is None


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (of(UP), 1),
        (of(DOWN), 0),
        (of(UP, DOWN), 0.5),
        (of(UP, None), 1),
        (of(task_success=True), 1),
        (of(task_success=False), 0),
        (of(corrected=True), 0),
        (of(repeated=True), 0),
        (of(done=3, undone=1), 0.75),
        (of(status=TurnStatus.FAILED), 0),
        (of(repairs=2, spoke=False), 0),
        (of(repairs=2, spoke=False, done=5, task_success=True), 1),
    ],
)
def test_each_sign_alone_says_what_it_says(found: float, value: float) -> None:
    assert found == pytest.approx(value)


def test_signs_together_count_by_their_weights() -> None:
    assert of(thanked=True) == 1
    assert of(DOWN, thanked=True) == pytest.approx(1 / 3), "an opinion weighs more"
    assert of(thanked=True, outsider=True) is None
    assert of(UP, corrected=True) == pytest.approx(3 / 5)
    assert of(UP, task_success=False, done=1, undone=1) == pytest.approx(3.5 / 6)
    assert of(UP, UP, UP, corrected=True) == pytest.approx(3 / 5)
    assert of(done=1, repeated=True) == pytest.approx(1 / 2)


def test_a_repaired_turn_that_answered_in_the_end_is_not_held_against_it() -> None:
    assert of(repairs=1, spoke=True) is None


def test_an_owners_word_stands_alone() -> None:
    crowd = [TurnOpinion(turn_id="t1", up=DOWN, at=NOW)] * 9
    said = [*crowd, TurnOpinion(turn_id="t1", up=UP, at=NOW, by_owner=True)]
    assert judge_turn(signals(), said).worth == 1
    taken_back = [*crowd, TurnOpinion(turn_id="t1", up=None, at=NOW, by_owner=True)]
    assert judge_turn(signals(), taken_back).worth == 0


def test_of_a_turn_that_answered_an_outsider_only_the_owners_opinion_counts() -> None:
    assert of(UP, corrected=True, outsider=True, done=1, task_success=False) is None
    assert of(outsider=True, status=TurnStatus.FAILED) is None
    owners = [TurnOpinion(turn_id="t1", up=up, at=NOW, by_owner=not up) for up in (UP, UP, DOWN)]
    strange = signals(outsider=True, done=5)
    assert judge_turn(strange, owners).worth == 0


def lived(minute: int, outcome: Outcome, **told: Any) -> Experience:
    """What somebody said of a turn."""
    first = {"about_turn": "t1", "from_person": "taro", "lesson": "l", "experience": "e"}
    at = NOW.replace(minute=minute)
    return Experience(**{**first, "id": f"e{minute}", "outcome": outcome, "at": at, **told})


def test_of_what_people_said_the_latest_thumbs_of_each_are_opinions() -> None:
    found = turn_feedback_opinions(
        (
            lived(5, Outcome.FAILURE),
            lived(1, Outcome.SUCCESS),
            lived(9, Outcome.PARTIAL),
            lived(2, Outcome.SUCCESS, from_person="owner", by_owner=True),
            lived(3, Outcome.SUCCESS, from_person="kai", turn_id="t1"),
            lived(4, Outcome.SUCCESS, from_person=""),
            lived(6, Outcome.SUCCESS, about_turn=""),
        )
    )
    assert found == (
        TurnOpinion(turn_id="t1", up=DOWN, at=NOW.replace(minute=5)),
        TurnOpinion(turn_id="t1", up=UP, at=NOW.replace(minute=2), by_owner=True),
    )
