"""An owner sorts its goals, also those that wait in the queue already."""

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.errors import Invalid
from opencrab.domain.goals.goal import Goal, Pause
from opencrab.domain.goals.value_estimate import ValueEstimate
from opencrab.engine.goals.owner_order import goals_in_owner_order, order_owner_goals
from opencrab.engine.goals.selection import begin_best_goal
from tests.unit.engine.goals.aims import aim, board, pursues
from tests.unit.engine.known_world import NOW, World


def given(number: int, reward: float = 0.5, **changes: object) -> Goal:
    """A goal of the owner."""
    return aim(
        number,
        given=True,
        instruction="数える",
        worth=ValueEstimate(expected_reward=reward),
        **changes,
    )


def ids(goals: tuple[Goal, ...]) -> str:
    return " ".join(goal.id for goal in goals)


def test_the_agent_begins_the_goal_that_its_owner_puts_first(world: World) -> None:
    pursues(world, given(1, 0.9), given(2, 0.0), given(3, 0.5))
    assert ids(goals_in_owner_order(world.runtime, "mika")) == "G1 G3 G2"
    assert ids(order_owner_goals(world.runtime, "mika", ("G2", "G3"))) == "G1 G2 G3"
    assert ids(order_owner_goals(world.runtime, "mika", ("G2", "G1", "G3"))) == "G2 G1 G3"
    begun = begin_best_goal(world.runtime, board(world), NOW)
    assert begun is not None
    # By its priority it would never be begun.
    assert begun.id == "G2"


def test_a_goal_of_its_own_keeps_its_place(world: World) -> None:
    own = aim(1, authority=Authority.SELF, worth=ValueEstimate(expected_reward=1.0, novelty=1.0))
    pursues(world, own, given(2, 0.9), given(3, 0.5))
    assert ids(order_owner_goals(world.runtime, "mika", ("G3", "G2"))) == "G3 G2"
    with pytest.raises(Invalid, match="G1 is not an open objective"):
        order_owner_goals(world.runtime, "mika", ("G1", "G2"))
    with pytest.raises(Invalid, match="listed twice"):
        order_owner_goals(world.runtime, "mika", ("G2", "G2"))


@pytest.mark.parametrize(
    ("wanted", "waiting"),
    [("G3 G2 G4", "G3 G2"), ("G4 G3 G2", "G4 G3 G2"), ("G5 G3", "G3 G2"), ("", "G2 G3")],
)
def test_the_queue_is_sorted_as_well(world: World, wanted: str, waiting: str) -> None:
    pause = Pause(reason="待って", by="owner", at=NOW)
    goals = (given(1), given(2), given(3), given(4), given(5, pause=pause))
    pursues(world, *goals, current="G1", waiting="G2 G3")
    order_owner_goals(world.runtime, "mika", tuple(wanted.split()))
    agenda = board(world).agenda()
    assert (agenda.current, " ".join(agenda.waiting)) == ("G1", waiting)
    with pytest.raises(Invalid, match="G1 is not an open objective"):
        order_owner_goals(world.runtime, "mika", ("G1",))
