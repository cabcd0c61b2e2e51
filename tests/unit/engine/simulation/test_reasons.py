"""The simulation's own account: which turns nothing in the made-up world stands for."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.autonomy.schedule import ScheduleDraft, new_schedule
from opencrab.domain.goals.goal import Goal, GoalSource
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.simulation.reasons import SimulatedTurn, simulated_turns_without_reason

NINE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def at(minute: int) -> datetime:
    return NINE + timedelta(minutes=minute)


def look(minute: int, trigger: Trigger = Trigger.HEARTBEAT) -> SimulatedTurn:
    return SimulatedTurn(id=f"look-{minute}", at=at(minute), trigger=trigger)


def work(minute: int, task: str) -> SimulatedTurn:
    return SimulatedTurn(
        id=f"work-{minute}", at=at(minute), trigger=Trigger.CONTINUATION, task=task
    )


GOAL = Goal(
    id="G1",
    agent_id="crab",
    session_id="s",
    name="count shells",
    instruction="count shells",
    source=GoalSource.CURIOSITY,
    authority=Authority.SELF,
    door=Source.HEARTBEAT,
    principal_id="crab",
    principal_name="crab",
    created_at=at(10),
    ended_at=at(20),
)


@pytest.mark.parametrize(
    ("told", "looks", "unasked"),
    [
        ([], [5], [5]),
        ([4], [5], []),
        ([6], [5], [5]),
        ([4], [5, 6], [6]),
        ([3, 4], [5, 6], [6]),
        ([4, 6], [5, 7, 8], [8]),
        ([5], [5, 6], [6]),
        ([4, 5], [5, 6], []),
    ],
)
def test_a_turn_that_nobody_began_needs_an_event_that_no_turn_had_before(
    told: list[int], looks: list[int], unasked: list[int]
) -> None:
    found = simulated_turns_without_reason(map(look, reversed(looks)), map(at, told), {})
    assert found == {f"look-{minute}" for minute in unasked}


@pytest.mark.parametrize("trigger", list(Trigger))
def test_only_what_nobodys_words_began_needs_an_event(trigger: Trigger) -> None:
    counted = {Trigger.HEARTBEAT, Trigger.SCHEDULE, Trigger.EVENT}
    assert bool(simulated_turns_without_reason([look(1, trigger)], [], {})) is (trigger in counted)


def test_a_turn_for_a_goal_needs_this_goal_to_be_open() -> None:
    turns = [work(9, "G1"), work(10, "G1"), work(20, "G1-T2"), work(21, "G1"), work(15, "G2-T1")]
    assert simulated_turns_without_reason(turns, [], {"G1": GOAL}) == {
        "work-9",
        "work-21",
        "work-15",
    }
    assert (
        simulated_turns_without_reason(
            [work(9_000, "G1")], [], {"G1": GOAL.replaced(ended_at=None)}
        )
        == set()
    )


def test_a_turn_among_others_needs_that_somebody_spoke_before() -> None:
    spoken, silent = (look(minute).replaced(heard=minute == 1) for minute in (1, 2))
    assert simulated_turns_without_reason([spoken, silent], [], {}) == {"look-2"}


def test_a_turn_of_a_schedule_needs_its_time() -> None:
    draft = ScheduleDraft(name="meet", when="30 9 * * *", instructions="meet")
    daily = new_schedule("s1", "crab", draft, NINE)
    turns = [look(minute, Trigger.SCHEDULE) for minute in (29, 30, 31, 40)]
    found = simulated_turns_without_reason(turns, [], {}, [daily])
    assert found == {"look-29", "look-40"}


def test_instructions_are_planned_once() -> None:
    turns = [look(minute, Trigger.COMPACTION) for minute in (2, 1)]
    assert simulated_turns_without_reason(turns, [], {}) == {"look-2"}
