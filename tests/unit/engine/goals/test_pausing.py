"""A goal and the turn at work on it: the turn does as the goal does, whoever was faster."""

import pytest

from opencrab.domain.goals.goal import GoalStatus, Pause
from opencrab.engine.goals.pausing import align_turn_with_goal, pause_goal
from tests.unit.engine.goals.aims import aim, pursues
from tests.unit.engine.known_world import NOW, World

WAITS = Pause(reason="待って", by="owner", at=NOW)


def test_the_turn_of_a_goal_that_was_given_up_stops_for_good(world: World) -> None:
    turn, _ = world.say("灯台を数えて")
    given_up = aim(status=GoalStatus.ABANDONED, turn_id=turn.id)
    pursues(world, given_up)
    stop = align_turn_with_goal(world.runtime, given_up, turn.id).stop
    assert stop is not None
    assert not stop.pause
    assert "abandoned" in stop.reason


@pytest.mark.parametrize("waits", [True, False])
def test_a_turn_does_as_its_goal_does_by_now(world: World, *, waits: bool) -> None:
    turn, _ = world.say("Count the lighthouses")
    read, now = (None, WAITS) if waits else (WAITS, None)
    pursues(world, aim(turn_id=turn.id, pause=now))
    stop = align_turn_with_goal(world.runtime, aim(turn_id=turn.id, pause=read), turn.id).stop
    assert (stop is not None and stop.pause) is waits


def test_while_a_goal_is_paused_the_next_one_begins(world: World) -> None:
    pursues(world, aim(1), aim(2), current="G1", waiting="G2")
    for _ in range(2):
        pause_goal(world.runtime, "mika", "G1", by="owner", reason="待って")
    begun = world.runtime.home.due.list_due(world.clock.now(), 10)
    assert [item.task for item in begun] == ["G2"]
