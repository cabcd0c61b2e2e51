"""Goals that an owner adds to an agent's agenda: in the owner's words, while the agent lives."""

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.errors import Conflict
from opencrab.engine.goals.owner_goals import NewGoal, inject_owner_goal
from tests.unit.engine.goals.aims import board
from tests.unit.engine.goals.test_progress import ASKER
from tests.unit.engine.known_world import World


@pytest.mark.parametrize(
    ("asked", "instruction"),
    [
        (NewGoal(name="掃除"), "掃除"),
        (NewGoal(name="掃除", description="机の上を\n片づける"), "机の上を\n片づける"),
        (NewGoal(name="Tidy up", description="Clear the desk"), "Clear the desk"),
    ],
)
def test_a_goal_says_what_its_owner_described_else_its_name(
    world: World, asked: NewGoal, instruction: str
) -> None:
    goal = inject_owner_goal(world.runtime, "mika", asked, ASKER, key="k")
    assert (goal.name, goal.instruction, goal.given) == (asked.name, instruction, True)


def test_an_agent_that_has_retired_takes_no_goal(world: World) -> None:
    agents = world.runtime.home.agents
    agents.save(agents.get("mika").agent.replaced(status=AgentStatus.RETIRED))
    with pytest.raises(Conflict, match="'mika' has retired") as refused:
        inject_owner_goal(world.runtime, "mika", NewGoal(name="掃除"), ASKER, key="k")
    assert refused.value.cure == "choose another agent"
    assert board(world).agenda().open == ()
