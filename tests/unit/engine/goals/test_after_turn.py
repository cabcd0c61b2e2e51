"""What follows for a goal when its turn ends without its world: it waits, and stays tainted."""

from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import GOAL, Goal, goal_key
from opencrab.engine.goals.after_turn import GoalConsequence
from tests.unit.engine.known_world import NOW, World


def test_a_goal_whose_turn_is_abandoned_waits_and_keeps_that_foreign_words_were_read(
    world: World,
) -> None:
    for number, (known, read) in enumerate(((False, False), (False, True), (True, False)), 1):
        turn, _ = world.say("灯台を数えて")
        goal = Goal(
            id=f"G{number}",
            agent_id="mika",
            session_id="s1",
            name="Count the lighthouses",
            principal_id="owner",
            created_at=NOW,
            taint=known,
            turn_id=turn.id,
        )
        world.runtime.home.facts.commit(new_fact("mika", GOAL, goal_key(goal.id), goal))
        served = turn.replaced(task=goal.id, taint=read)
        following = GoalConsequence().on_abandon(world.runtime, served, "消えました")
        (after,) = (each.read(Goal) for each in following.facts if each.kind == GOAL)
        assert after.taint == (known or read)
        assert after.pause is not None
        assert after.pause.reason == "消えました"
