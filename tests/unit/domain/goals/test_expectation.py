"""What a goal that has ended is worth as an experience, by what the journal knows of it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from opencrab.domain.goals.expectation import ON_ITS_WORD, goal_satisfaction
from opencrab.domain.goals.goal import ActionReceipt, Goal, GoalStatus, Task, TaskStatus
from opencrab.domain.outcome import Outcome

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
WROTE = (ActionReceipt(action="ws_write"),)
DONE, FAIL = TaskStatus.DONE, TaskStatus.FAIL


def ended(**changes: Any) -> Goal:
    """A completed goal of the agent's own."""
    fields: dict[str, Any] = {
        "id": "G1",
        "agent_id": "crab",
        "session_id": "s",
        "name": "海",
        "principal_id": "crab",
        "status": GoalStatus.COMPLETED,
        "created_at": NOW,
    }
    return Goal(**fields | changes)


def task(status: TaskStatus) -> Task:
    """A task of which the journal knows nothing."""
    return Task(id="G1-T1", name="見る", precondition="-", postcondition="-", status=status)


@pytest.mark.parametrize(
    ("changes", "actual", "outcome"),
    [
        ({"receipts": WROTE}, 1.0, Outcome.SUCCESS),
        ({"receipts": WROTE, "claim": Outcome.PARTIAL}, 0.5, Outcome.PARTIAL),
        ({}, 0.0, Outcome.UNKNOWN),
        ({"claim": Outcome.SUCCESS}, 0.0, Outcome.UNKNOWN),
        ({"claim": Outcome.FAILURE}, 0.0, Outcome.FAILURE),
        ({"tasks": (task(DONE),), "receipts": WROTE}, ON_ITS_WORD, Outcome.SUCCESS),
        ({"tasks": (task(DONE),)}, 0.0, Outcome.UNKNOWN),
        ({"tasks": (task(FAIL),)}, 0.0, Outcome.FAILURE),
    ],
)
def test_what_the_journal_shows_is_known_and_words_alone_are_not(
    changes: dict[str, Any], actual: float, outcome: Outcome
) -> None:
    came = goal_satisfaction(ended(**changes), NOW)
    assert (came.reward_actual, came.outcome) == (actual, outcome)
