"""What a day's turns tell the reward model of models that give no answer any more."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.learning.reward import judge_turn
from opencrab.domain.learning.reward_rows import reward_sums_of_turns
from opencrab.domain.learning.signals import ServedCalls, TurnSignals
from opencrab.domain.models.routing import Use
from opencrab.domain.turn.turn import Trigger, TurnStatus

CHEAP = "model/fake:cheap"


def served(model: str, failed: int = 0) -> ServedCalls:
    return ServedCalls(
        model=f"fake:{model}",
        purpose=Use.CONVERSATION,
        task_type="chat",
        chosen_by="default",
        failed=failed,
    )


def turn(*calls: ServedCalls, good: bool | None = None, outsider: bool = False) -> TurnSignals:
    return TurnSignals(
        turn_id="t",
        session_id="s",
        at=datetime(2026, 1, 5, tzinfo=UTC),
        trigger=Trigger.MESSAGE,
        status=TurnStatus.COMPLETED,
        served=calls,
        task_success=good,
        spoke=True,
        outsider=outsider,
    )


ANSWER, DOWN = served("dear"), served("cheap", failed=1)


def weight_of_cheap(*turns: TurnSignals) -> float:
    """How much the day's turns count for the model that gives no answers; all of them are 0."""
    sums = reward_sums_of_turns([judge_turn(each) for each in turns])
    assert all(sums.values[place] == 0 for place, name in enumerate(sums.names) if name == CHEAP)
    return sums.weight(CHEAP)


@pytest.mark.parametrize(("judged", "counted"), [(0, 0.0), (1, 0.25), (4, 1.0)])
def test_a_failure_that_nobody_judged_counts_as_seldom_as_an_answer_is_judged(
    judged: int, counted: float
) -> None:
    answers = [turn(ANSWER, good=True if number < judged else None) for number in range(4)]
    fell = [turn(DOWN) for _ in range(10)]
    whole = weight_of_cheap(*(turn(DOWN) for _ in range(10)))
    assert whole > 0
    assert weight_of_cheap(*answers, *fell) == pytest.approx(whole * counted)


def test_a_failure_is_counted_where_another_model_answered_instead() -> None:
    instead = [turn(DOWN, ANSWER) for _ in range(9)]
    assert weight_of_cheap(*instead) == 0, "no answer of the day was judged"
    seen = weight_of_cheap(*instead, turn(ANSWER, good=False))
    assert seen == pytest.approx(weight_of_cheap(*(turn(DOWN) for _ in range(9))) / 10 / 2)


def test_a_turn_of_an_outsider_tells_nothing_of_failures() -> None:
    assert weight_of_cheap(turn(DOWN, outsider=True)) == 0
    # Nor do outsiders' answers, which hardly anybody judges, make failures of others count less.
    unjudged = [turn(ANSWER, outsider=True) for _ in range(9)]
    assert weight_of_cheap(turn(DOWN), *unjudged) == weight_of_cheap(turn(DOWN)) > 0
