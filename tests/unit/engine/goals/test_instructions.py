"""Instructions: who reads their sessions, and that a turn hears of what becomes of its goal."""

from dataclasses import replace

import pytest

from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.goals import instructions
from opencrab.ports.turn.queue import Queue
from tests.unit.engine.goals.test_panel_notice import PLACE, given, message
from tests.unit.engine.goals.test_progress import ASKER
from tests.unit.engine.known_world import World


def drained(queue: Queue) -> list[str]:
    """What has been queued since somebody last looked."""
    found = []
    while delivery := queue.receive(visibility_seconds=60, wait_seconds=0):
        found.append(delivery.body)
        queue.acknowledge(delivery.receipt)
    return found


@pytest.mark.parametrize("others_read", [True, False])
def test_a_session_knows_whether_others_read_where_it_was_asked_for(
    world: World, *, others_read: bool
) -> None:
    asker = replace(ASKER, channel=PLACE, others_read=others_read)
    asked = instructions.NewInstruction(instruction="ノートを整理して")
    goal = instructions.start_instruction_as_goal(world.runtime, "ken", asked, asker, key="k")
    stored = world.runtime.home.facts.get(INSTALLATION_FACTS, SESSION_ACCESS, goal.session_id)
    assert (stored is not None and stored.read(SessionAccess).others_read) is others_read


def test_a_turn_that_waits_is_queued_again_to_hear_that_its_goal_was_cancelled(
    world: World,
) -> None:
    given(world, None)
    home = world.runtime.home
    assert len(drained(home.turns)) == 1
    goal = instructions.cancel_goal(world.runtime, "ken", "G1", by="owner", reason="いらない")
    assert goal.turn_id is not None
    (body,) = drained(home.turns)
    assert goal.turn_id in body
    turn = home.journal.header(goal.turn_id)
    assert turn.stop is not None
    assert (turn.status, turn.stop.reason) == (TurnStatus.QUEUED, "いらない")


def test_a_channel_shows_a_goal_again_however_often_it_is_resumed(world: World) -> None:
    given(world, None)
    instructions.pause_goal_by_label(world.runtime, "ken", "G1", by="owner")
    drained(world.runtime.home.deliveries)
    for _ in range(2):
        instructions.resume_goal(world.runtime, "ken", "G1")
        assert drained(world.runtime.home.deliveries) == [message("G1").body]
