"""What an agent begins by itself, and when it has waited for its owner too long."""

from datetime import timedelta
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus, Pause
from opencrab.domain.goals.value_estimate import Horizon
from opencrab.engine.goals.selection import (
    UNANSWERED,
    are_paused_goals_overdue,
    begin_or_queue_goal,
    goal_preferences,
)
from tests.unit.engine.goals.aims import aim, board, pursues
from tests.unit.engine.known_world import NOW, World

ASKED = NOW + timedelta(hours=1)
LATER = ASKED + UNANSWERED
WAITS = Pause(reason="待って", by="opencrab", at=ASKED)
SIGNS = VitalSigns(agent_id="mika", next_beat_at=NOW, lived_at=NOW, reviewed_at=NOW)


def own(number: int = 1, **changes: Any) -> Goal:
    """A goal that Mika has set herself."""
    return aim(number, authority=Authority.SELF, **changes)


@pytest.fixture
def alive(world: World) -> World:
    """Mika acts unasked."""
    agents = world.runtime.home.agents
    agents.save(agents.get("mika").agent.replaced(heartbeat=Heartbeat(instructions="海を知る")))
    return world


@pytest.mark.parametrize(
    ("goals", "changes", "signs", "after", "overdue"),
    [
        ((own(pause=WAITS),), {}, None, UNANSWERED, True),
        ((own(pause=WAITS),), {}, SIGNS, UNANSWERED, True),
        ((own(pause=WAITS),), {}, None, UNANSWERED - timedelta(seconds=1), False),
        ((own(pause=WAITS),), {}, SIGNS.replaced(unread=1), UNANSWERED, False),
        ((own(pause=WAITS),), {"current": "G1"}, None, UNANSWERED, False),
        ((own(pause=WAITS), own(2)), {}, None, UNANSWERED, False),
        ((own(pause=WAITS), own(2, horizon=Horizon.ASPIRATION)), {}, None, UNANSWERED, True),
        ((aim(pause=WAITS),), {}, None, UNANSWERED, False),
        ((), {}, None, UNANSWERED, False),
    ],
)
def test_an_agent_waits_a_day_for_its_owner_if_it_has_nothing_else_to_do(
    alive: World,
    goals: tuple[Goal, ...],
    changes: dict[str, Any],
    signs: VitalSigns | None,
    after: timedelta,
    *,
    overdue: bool,
) -> None:
    pursues(alive, *goals, **changes)
    assert are_paused_goals_overdue(board(alive), signs, ASKED + after) is overdue


def test_an_agent_that_does_not_act_unasked_waits_for_nobody(world: World) -> None:
    pursues(world, own(pause=WAITS))
    assert not are_paused_goals_overdue(board(world), None, LATER)


def test_a_goal_that_is_begun_is_answered_as_it_is_then(alive: World) -> None:
    pursues(alive, own(), own(2, pause=WAITS))
    at = board(alive)
    begun = begin_or_queue_goal(at, own())
    assert begun is not None
    assert (begun.status, begun.runs) == (GoalStatus.ACTIVE, 1)
    assert begin_or_queue_goal(at, own(2, pause=WAITS)) is None


@pytest.mark.parametrize("current", [None, "G1"])
def test_nothing_else_is_worth_beginning_while_a_goal_is_at_work(
    alive: World, current: str | None
) -> None:
    agents = alive.runtime.home.agents
    pursues(alive, aim(status=GoalStatus.COMPLETED), current=current)
    found = goal_preferences(alive.runtime, agents.get("mika"), NOW)
    assert (found.taken, found.goal_at, found.exploring) == (current is not None, None, False)


@pytest.mark.parametrize("pause", [None, WAITS])
def test_an_agent_explores_while_its_goal_of_curiosity_does_not_wait(
    alive: World, pause: Pause | None
) -> None:
    pursues(alive, own(source=GoalSource.CURIOSITY, pause=pause))
    found = goal_preferences(alive.runtime, alive.runtime.home.agents.get("mika"), NOW)
    assert found.exploring is (pause is None)
    assert not found.taken
