"""What follows for a goal when its turn ends: well, silently, badly, or without its world."""

from typing import Any

import pytest

from opencrab.domain.goals.goal import GOAL, Goal, TaskStatus
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.consequence import TurnEnding
from opencrab.engine.goals.after_turn import GoalConsequence
from opencrab.engine.phrases import system_phrase
from tests.unit.engine.goals.aims import aim, pursues, step
from tests.unit.engine.known_world import World


def after(
    world: World, status: TurnStatus, *, read: bool = False, mine: bool = True, **changes: Any
) -> list[Goal]:
    """Mika's goal as it is written when the turn for its first task ends; nothing if it is not."""
    turn, _ = world.say("灯台を数えて")
    turn_id = turn.id if mine else "another"
    tasks = (step(1, status=TaskStatus.ACTIVE, turn_id=turn_id), step(2))
    pursues(world, aim(turn_id=turn_id, tasks=tasks, **changes), current="G1")
    work = world.work(turn)
    work.turn = work.turn.replaced(task="G1-T1", taint=read)
    ended = TurnEnding(turn=work.turn, status=status, speech="三つです")
    following = GoalConsequence().on_close(work, ended)
    return [fact.read(Goal) for fact in following.facts if fact.kind == GOAL]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize(
    "status", [TurnStatus.COMPLETED, TurnStatus.IDLE, TurnStatus.FAILED, TurnStatus.EXHAUSTED]
)
def test_however_a_turn_ends_its_goal_keeps_that_foreign_words_were_read(
    world: World, status: TurnStatus, *, read: bool, known: bool
) -> None:
    (goal,) = after(world, status, read=read, taint=known)
    assert goal.taint is (known or read)


def test_a_task_whose_turn_said_something_is_done(world: World) -> None:
    (goal,) = after(world, TurnStatus.COMPLETED)
    assert (goal.tasks[0].status, goal.tasks[0].result) == (TaskStatus.DONE, "三つです")


def test_a_task_whose_turn_said_nothing_has_failed(world: World) -> None:
    (goal,) = after(world, TurnStatus.IDLE)
    assert goal.tasks[0].status is TaskStatus.FAIL
    assert goal.tasks[0].cause == system_phrase("task_silent", Language.JA)


@pytest.mark.parametrize("status", [TurnStatus.COMPLETED, TurnStatus.FAILED])
def test_a_turn_that_its_goal_no_longer_waits_for_moves_nothing(
    world: World, status: TurnStatus
) -> None:
    assert after(world, status, mine=False) == []


@pytest.mark.parametrize(("known", "read"), [(False, False), (False, True), (True, False)])
def test_a_goal_whose_turn_is_abandoned_waits_and_keeps_that_foreign_words_were_read(
    world: World, *, known: bool, read: bool
) -> None:
    turn, _ = world.say("Count the lighthouses")
    pursues(world, aim(taint=known, turn_id=turn.id), current="G1")
    served = turn.replaced(task="G1", taint=read)
    following = GoalConsequence().on_abandon(world.runtime, served, "消えました")
    (waits,) = (each.read(Goal) for each in following.facts if each.kind == GOAL)
    assert waits.taint == (known or read)
    assert waits.pause is not None
    assert waits.pause.reason == "消えました"
