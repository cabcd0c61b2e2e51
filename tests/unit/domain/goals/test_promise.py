"""Promises: what a board keeps, what may still be withdrawn, and what was done in time."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.domain.goals.goal import Goal, GoalStatus
from opencrab.domain.goals.promise import (
    BOARD,
    Promise,
    PromiseBoard,
    PromiseStatus,
    brief_goal_promise,
    goal_promises_due_item,
    is_goal_done_in_time,
    is_goal_promised,
    promised_goal_id,
)
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.due_item import DueItem

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
DUE = NOW + timedelta(hours=2)


def promise(number: int = 1, **fields: object) -> Promise:
    return Promise(
        id=promised_goal_id("s", number),
        agent_id="nami",
        name="凪",
        to=("kai",),
        what="書く",
        due=DUE,
        goal_id="G1",
        session_id="s",
        made_at=NOW + timedelta(minutes=number),
    ).replaced(**fields)


def goal(**fields: object) -> Goal:
    return Goal(
        id="G1",
        agent_id="nami",
        session_id=promised_goal_id("s", 1),
        name="書く",
        principal_id="nami",
        created_at=NOW,
    ).replaced(**fields)


def test_a_board_keeps_open_promises_before_settled_ones_and_the_newest() -> None:
    board = PromiseBoard()
    for number in range(1, BOARD + 3):
        board = board.with_promise(brief_goal_promise(promise(number), ("Kai",)), own=True)
    assert len(board.made) == BOARD
    assert board.made[0].id == promised_goal_id("s", BOARD + 2)
    last = board.made[0]
    kept = brief_goal_promise(promise(BOARD + 2, status=PromiseStatus.KEPT, ended_at=DUE), ("Kai",))
    board = board.with_promise(kept, own=True)
    assert (board.made[-1].id, board.received) == (last.id, ())
    assert board.without({last.id}).made == board.made[:-1]


@pytest.mark.parametrize(
    ("at", "status", "is_open"),
    [
        (NOW, PromiseStatus.OPEN, True),
        (DUE, PromiseStatus.OPEN, False),
        (NOW, PromiseStatus.KEPT, False),
    ],
)
def test_only_an_open_promise_that_is_not_due_may_be_withdrawn(
    at: datetime, status: PromiseStatus, *, is_open: bool
) -> None:
    assert promise(status=status).is_open_at(at) is is_open
    assert promise().withdrawn("x" * 900, NOW).reason == "x" * 500


@pytest.mark.parametrize(
    ("fields", "in_time"),
    [
        ({"status": GoalStatus.COMPLETED, "ended_at": DUE}, True),
        ({"status": GoalStatus.COMPLETED, "ended_at": DUE + timedelta(seconds=1)}, False),
        ({"status": GoalStatus.ABANDONED, "ended_at": NOW}, False),
        ({}, False),
    ],
)
def test_a_goal_is_done_in_time_if_it_was_completed_by_then(
    fields: dict[str, object], *, in_time: bool
) -> None:
    assert is_goal_done_in_time(promise(), goal(**fields)) is in_time
    assert not is_goal_done_in_time(promise(), None)


def test_what_a_promise_means_for_trust() -> None:
    meant = {status: status.outcome for status in PromiseStatus}
    assert meant == {
        PromiseStatus.OPEN: Outcome.UNKNOWN,
        PromiseStatus.KEPT: Outcome.SUCCESS,
        PromiseStatus.BROKEN: Outcome.FAILURE,
        PromiseStatus.WITHDRAWN: Outcome.UNKNOWN,
    }


def test_a_promised_goal_is_known_by_its_session() -> None:
    assert is_goal_promised(goal())
    assert not is_goal_promised(goal(session_id="s"))
    assert promised_goal_id("s", 1) == promised_goal_id("s", 1) != promised_goal_id("s", 2)


def test_what_settles_a_promise_is_a_floor_that_the_release_before_reads_too() -> None:
    item = goal_promises_due_item("s", "due-1", DUE)
    assert DueItem.model_validate_json(item.model_dump_json()) == item
    assert (item.id, item.at, item.floor, item.taint) == ("floor-s-due-1", DUE, 0, True)
