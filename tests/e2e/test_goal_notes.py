"""What an agent notes for itself while it pursues a goal of its own, and when that is gone."""

import pytest

from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import GoalStatus
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.engine.agents.settings import change_agent
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.engine.goals.generation import generate_exploration_goal
from opencrab.engine.goals.pausing import pause_goal
from tests.e2e.beating import minutes, signs, tell
from tests.e2e.house import House
from tests.e2e.instructed import carried, goal
from tests.e2e.wanting import begins, lives


@pytest.mark.parametrize("session", ["other", "own"])
def test_notes_end_with_a_goal_and_not_before(home: House, session: str) -> None:
    lives(home)
    begun = begins(home, generate_exploration_goal)
    wrote = begun.session_id if session == "own" else session
    noted = WorkingMemory(text="雨のこと", turn_id="x", session_id=wrote, at=home.clock.now())
    home.home.facts.commit(new_fact("crab", WORKING, WORKING, noted))
    home.work()
    home.later(1)
    assert not goal(home).status.is_end
    assert home.home.facts.get("crab", WORKING, WORKING) is not None
    carried(home)
    assert goal(home).status is GoalStatus.COMPLETED
    assert home.home.facts.get("crab", WORKING, WORKING) is None


@pytest.mark.parametrize(("session", "stays"), [("other", False), ("own", True)])
def test_notes_of_an_open_goal_outlast_a_waking_for_something_else(
    home: House, session: str, *, stays: bool
) -> None:
    lives(home)
    create_agent_vital_signs(home.runtime, home.home.agents.get("crab"))
    begun = begins(home, generate_exploration_goal)
    wrote = begun.session_id if session == "own" else session
    noted = WorkingMemory(text="雨のこと", turn_id="x", session_id=wrote, at=home.clock.now())
    home.home.facts.commit(new_fact("crab", WORKING, WORKING, noted))
    pause_goal(home.runtime, "crab", "G1", by="owner", reason="…")
    home.work()
    tell(home, "crab")
    profile = home.home.agents.get("crab")
    heartbeat = profile.agent.heartbeat.replaced(enabled=True)
    change_agent(home.runtime, profile, {"heartbeat": heartbeat})
    minutes(home, 3, step=30)
    assert signs(home, "crab").unread == 0
    assert not goal(home).status.is_end
    assert (home.home.facts.get("crab", WORKING, WORKING) is not None) is stays
