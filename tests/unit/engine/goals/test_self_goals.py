"""Goals of an agent's own: when one rests, is given up, or needs another plan."""

from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.goals.goal import Goal, GoalStatus, TaskStatus
from opencrab.domain.goals.plan import REPAIRS
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.goals.self_goals import (
    does_turn_give_up_own_goal,
    experience_of_failed_task,
    goal_after_failed_tasks,
    is_goal_resting,
    leave_goal_to_next_heartbeat,
)
from opencrab.engine.phrases import system_phrase
from tests.unit.engine.goals.aims import aim, board, step
from tests.unit.engine.known_world import World

FAILED = step(1, status=TaskStatus.FAIL, cause="暗い")
CAUSE = "G1-T1: 暗い"


def own(**changes: Any) -> Goal:
    """A goal that Mika has set herself."""
    return aim(authority=Authority.SELF, **changes)


def test_a_turn_that_did_not_start_is_left_to_a_heartbeat_and_is_not_counted() -> None:
    begun = step(1, status=TaskStatus.ACTIVE, turns=2)
    for goal, turns in (
        (own(status=GoalStatus.ACTIVE, tasks=(begun,)), 1),
        (own(status=GoalStatus.ACTIVE, tasks=(begun.replaced(turns=0),)), 0),
    ):
        left = leave_goal_to_next_heartbeat(goal)
        assert is_goal_resting(left)
        assert left.tasks[0].turns == turns
    assert is_goal_resting(leave_goal_to_next_heartbeat(own(status=GoalStatus.ACTIVE)))


@pytest.mark.parametrize(
    ("goal", "label", "status", "given_up"),
    [
        (own(), "G1", TurnStatus.IDLE, True),
        (own(), "G1", TurnStatus.COMPLETED, False),
        (own(tasks=(FAILED,)), "G1", TurnStatus.IDLE, False),
        (own(), "G2", TurnStatus.IDLE, False),
        (aim(), "G1", TurnStatus.IDLE, False),
        (own(status=GoalStatus.ABANDONED), "G1", TurnStatus.IDLE, False),
    ],
)
def test_only_silence_about_its_own_unplanned_goal_gives_it_up(
    world: World, goal: Goal, label: str, status: TurnStatus, *, given_up: bool
) -> None:
    work = world.begun("灯台を数えて")
    work.turn = work.turn.replaced(task=label)
    assert does_turn_give_up_own_goal(work, goal, status) is given_up


@pytest.mark.parametrize("language", Language)
def test_a_task_that_failed_makes_it_plan_again_and_at_last_ask_its_owner(
    world: World, language: Language
) -> None:
    agents = world.runtime.home.agents
    agents.save(agents.get("mika").agent.replaced(language=language))
    at = board(world)
    goal = own(tasks=(FAILED, step(2)))
    stuck = goal_after_failed_tasks(goal, [FAILED], at)
    assert (stuck.stuck, stuck.pause) == (CAUSE, None)
    assert goal_after_failed_tasks(stuck, [FAILED], at) == stuck
    asks = goal_after_failed_tasks(goal.replaced(revision=REPAIRS + 1), [FAILED], at)
    assert asks.pause is not None
    assert asks.pause.reason == system_phrase("goal_stuck", language, cause=CAUSE)
    for as_it_was, failed in ((goal, []), (aim(tasks=(FAILED,)), [FAILED])):
        assert goal_after_failed_tasks(as_it_was, failed, at) == as_it_was


@pytest.mark.parametrize(
    ("cause", "name", "lesson"),
    [
        ("暗い", "灯台", "暗い"),
        (" \u200b\n", "灯台", "灯台"),
        ("", "lamp", "lamp"),
    ],
)
def test_a_failed_task_teaches_something_whatever_its_cause_is_made_of(
    world: World, cause: str, name: str, lesson: str
) -> None:
    goal = own(report="\u2060\n")
    failed = FAILED.replaced(cause=cause, name=name)
    assert experience_of_failed_task(goal, failed, world.clock.now()).lesson == lesson
