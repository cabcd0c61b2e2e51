"""An owner's word in an ordinary conversation goes before the goal that the agent carries out."""

from collections.abc import Callable

import pytest

from opencrab.domain.goals.goal import GoalStatus
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules
from tests.e2e.conftest import Build
from tests.e2e.house import House
from tests.e2e.instructed import at_rest, carried, crab, goal, instruct, told

GAVE_WAY = {Language.JA: "先に答えるため、ここで区切りました", Language.EN: "to answer my owner"}


def once_in_call(house: House, call: int, happens: Callable[[], object]) -> None:
    """Let something happen once, during the n-th model call."""
    count = [0]

    def count_call() -> None:
        count[0] += 1
        if count[0] == call:
            happens()

    house.interrupt(count_call)


def spoken_to(house: House, language: Language, interrupt: Interrupt) -> tuple[str, list[Turn]]:
    """Carry an instruction out while its owner speaks in `s`, during a call of its third task."""
    crab(house, language)
    agent = house.home.agents.get("crab").agent
    if interrupt is not agent.interrupt:
        house.home.agents.save(agent.replaced(interrupt=interrupt))
    said: list[Turn] = []
    stopped: list[str] = []

    def speak() -> None:
        stopped.append(goal(house).turn_id or "")
        said.extend(house.say("今どう? / how is it going?", "m1"))

    once_in_call(house, 4, speak)
    instruct(house, "メモを整理して")
    house.work()
    for _ in range(10):
        house.later(1)
        if said:
            break
    return stopped[0], said


@pytest.mark.parametrize(
    ("language", "interrupt"),
    [(Language.JA, Interrupt.AFTER_STEP), (Language.EN, Interrupt.AT_ONCE)],
)
def test_the_goal_gives_way_and_goes_on_by_itself(
    build: Build, language: Language, interrupt: Interrupt
) -> None:
    house = build(Rules(stop_check_ms=0))
    turn_id, said = spoken_to(house, language, interrupt)
    assert house.home.journal.header(turn_id).status is TurnStatus.STOPPED
    assert goal(house).pause is None
    lines = house.home.journal.lines(goal(house).session_id, limit=100)
    assert any(GAVE_WAY[language] in line.text for line in lines)
    house.work()
    assert house.statuses(tuple(said)) == [TurnStatus.COMPLETED]
    assert goal(house).status is GoalStatus.ACTIVE
    house.later(59)
    carried(house)
    done = goal(house)
    assert done.status is GoalStatus.COMPLETED
    assert len(told(house)) == len(done.tasks) + 1
    at_rest(house)


def test_with_queue_the_goal_goes_on_beside_the_answer(build: Build) -> None:
    house = build(Rules(stop_check_ms=0))
    turn_id, said = spoken_to(house, Language.JA, Interrupt.QUEUE)
    assert house.home.journal.header(turn_id).status is not TurnStatus.STOPPED
    carried(house)
    assert house.statuses(tuple(said)) == [TurnStatus.COMPLETED]
    assert goal(house).status is GoalStatus.COMPLETED
