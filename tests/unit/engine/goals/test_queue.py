"""The line of an agent's goals: one at work, each of the others once, and none that waits."""

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.conversation.message import Channel
from opencrab.domain.goals.goal import GoalStatus, Pause
from opencrab.engine.goals.queue import begin_goal_turn, dequeue_goal_and_begin_next, queue_goal
from tests.unit.engine.goals.aims import aim, board, pursues
from tests.unit.engine.known_world import NOW, World

WAITS = Pause(reason="待って", by="owner", at=NOW)


def test_a_goal_stands_in_line_once(world: World) -> None:
    pursues(world, aim(1), aim(2), aim(3), current="G1", waiting="G2")
    at = board(world)
    for goal in (aim(2), aim(3), aim(2), aim(3)):
        queue_goal(at, goal)
    assert at.agenda().waiting == ("G2", "G3")
    assert at.due == []


def test_after_a_goal_the_next_one_begins_that_does_not_wait_for_somebody(world: World) -> None:
    ended = aim(1, status=GoalStatus.COMPLETED)
    pursues(world, ended, aim(2, pause=WAITS), aim(3), aim(4), current="G1", waiting="G2 G3 G4")
    at = board(world)
    dequeue_goal_and_begin_next(at, ended)
    assert (at.agenda().current, at.agenda().waiting) == ("G3", ("G4",))
    assert [item.task for item in at.due] == ["G3"]


def test_a_goal_of_its_own_speaks_where_its_heartbeat_does_unless_it_has_read_foreign_words(
    world: World,
) -> None:
    room = Channel(kind="wall", address="room")
    agents = world.runtime.home.agents
    mika = agents.get("mika").agent
    agents.save(mika.replaced(heartbeat=Heartbeat(channel=room)))
    own = aim(1, authority=Authority.SELF)
    pursues(world, own)
    for taint, channel in ((False, room), (True, None)):
        at = board(world)
        begin_goal_turn(at, own.replaced(taint=taint))
        assert at.due[0].message.channel == channel
        assert at.due[0].taint is taint
