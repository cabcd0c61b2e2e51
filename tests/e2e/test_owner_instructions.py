"""What its owner wants an agent to do unasked: when it is done, and what does not count as done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.access.authority import Source
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.goals.goal import GOAL, Goal, GoalStatus
from opencrab.domain.memory.memory import EXPERIENCE
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.agents.settings import change_agent
from opencrab.engine.agents.vital_signs import make_agent_dormant
from tests.contract.homes import HOMES
from tests.crash.outside import Reply, Script
from tests.e2e.beating import living, minutes, note, signs, turns
from tests.e2e.house import START, House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    opened = House(HOMES[0], tmp_path)
    yield opened
    opened.close()


def asked(house: House, script: Script, instructions: str) -> None:
    """Let the owner of an agent without a purpose say what it shall do unasked."""
    living(house, "crab", script)
    profile = house.home.agents.get("crab")
    heartbeat = profile.agent.heartbeat.replaced(instructions=instructions)
    change_agent(house.runtime, profile, {"heartbeat": heartbeat})


def test_what_its_owner_asks_for_is_done_within_the_first_cycle(house: House) -> None:
    writes = (Reply(calls=(("ws_write", {"path": "a.md", "content": "x"}),)), Reply("Done"))
    asked(house, writes, "Keep a.md up to date")
    minutes(house, 5, step=30)
    (turn,) = turns(house, "crab")
    assert (turn.source, turn.status) == (Source.HEARTBEAT, TurnStatus.COMPLETED)
    assert house.home.files.read("crab", "a.md")[1] == b"x"
    shown = str(house.provider.seen[0])
    assert "[Instruction from the owner] Keep a.md up to date" in shown
    assert "Do what your owner asked for: Keep a.md up to date" in shown
    minutes(house, 60, step=60)
    assert len(turns(house, "crab")) == 1, "and no more before the pause is over"


def test_what_an_owner_asks_of_an_agent_that_sleeps_wakes_it(house: House) -> None:
    living(house, "crab", (Reply("Yes."),))
    note(house, "crab", in_vain=10)
    make_agent_dormant(house.runtime, "crab")
    profile = house.home.agents.get("crab")
    heartbeat = profile.agent.heartbeat.replaced(instructions="Feed Kani")
    after = change_agent(house.runtime, profile, {"heartbeat": heartbeat})
    assert after.agent.status is AgentStatus.ACTIVE
    minutes(house, 5, step=30)
    assert len(turns(house, "crab")) == 1


def test_words_alone_are_neither_done_nor_an_experience_and_end_in_dormancy(house: House) -> None:
    asked(house, (Reply("Yes."),), "Keep a.md up to date")
    minutes(house, 5, step=30)
    assert len(turns(house, "crab")) == 1
    (goal,) = (
        fact.read(Goal) for fact in house.home.facts.page("crab", GOAL) if "Do what" in str(fact)
    )
    assert (goal.status, goal.report, goal.satisfaction) == (GoalStatus.ABANDONED, "Yes.", None)
    assert house.home.facts.page("crab", EXPERIENCE) == ()
    assert signs(house, "crab").lived_at == START
    assert signs(house, "crab").in_vain == 1
