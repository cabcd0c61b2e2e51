"""Goals: a goal for which nothing was done is not complete, whatever was said."""

from datetime import UTC, datetime
from typing import Any

import pytest

from opencrab.domain.goals.goal import ActionReceipt, Goal, GoalStatus, Task, TaskStatus

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
RECEIPT = (ActionReceipt(action="ws_write", path="茶.md"),)


def goal(**changes: Any) -> Goal:
    made = Goal(
        id="G1",
        agent_id="hana",
        session_id="s1",
        name="お茶を書く",
        principal_id="owner",
        status=GoalStatus.COMPLETED,
        created_at=NOW,
    )
    return made.replaced(**changes)


def task(status: TaskStatus = TaskStatus.DONE, **changes: Any) -> Task:
    made = Task(id="G1-T1", name="書く", precondition="-", postcondition="-", status=status)
    return made.replaced(**changes)


@pytest.mark.parametrize(
    ("changes", "percent", "only_words"),
    [
        ({}, 0, True),
        ({"tasks": (task(), task())}, 0, True),
        ({"receipts": RECEIPT}, 100, False),
        ({"tasks": (task(receipts=RECEIPT), task())}, 100, False),
        ({"tasks": (task(receipts=RECEIPT), task(TaskStatus.FAIL))}, 50, False),
        ({"children": 1}, 100, False),
        ({"status": GoalStatus.ACTIVE}, 0, False),
        ({"status": GoalStatus.ACTIVE, "tasks": (task(), task(TaskStatus.PENDING))}, 50, False),
        ({"status": GoalStatus.ABANDONED}, 0, False),
    ],
)
def test_a_completed_goal_without_an_action_has_only_words(
    changes: dict[str, Any], percent: int, *, only_words: bool
) -> None:
    made = goal(**changes)
    assert (made.completion_percent, made.has_only_words) == (percent, only_words)
