"""An owner's order sorts its own goals, and a goal is not held up by those behind it."""

from datetime import datetime, timedelta

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.goals.goal import GoalStatus
from opencrab.domain.goals.owner_order import (
    OwnerOrder,
    advance_ordered_goals,
    is_goal_orderable,
)
from opencrab.domain.goals.value_estimate import Horizon
from tests.unit.engine.goals.aims import aim
from tests.unit.engine.known_world import NOW

LATER = NOW + timedelta(hours=1)


@pytest.mark.parametrize(
    ("wanted", "sorted_"),
    [
        ((), "G1 G2 G3 G4"),
        (("G4", "G1"), "G4 G2 G3 G1"),
        (("G3", "G2", "G1"), "G3 G2 G1 G4"),
        (("G9", "G4", "G3"), "G1 G2 G4 G3"),
    ],
)
def test_goals_are_sorted_among_the_places_that_they_have(
    wanted: tuple[str, ...], sorted_: str
) -> None:
    goals = [aim(number) for number in range(1, 5)]
    found = OwnerOrder(goals=wanted).sort(goals)
    assert [goal.id for goal in found] == sorted_.split()


@pytest.mark.parametrize(
    ("wanted", "first", "second"),
    [
        ((), None, NOW),
        (("G1", "G2"), NOW, NOW),
        (("G2", "G1"), None, NOW),
    ],
)
def test_a_goal_begins_no_later_than_those_behind_it(
    wanted: tuple[str, ...], first: datetime | None, second: datetime
) -> None:
    found = advance_ordered_goals([(aim(1), None), (aim(2), NOW)], OwnerOrder(goals=wanted))
    assert [at for _, at in found] == [first, second]


def test_a_goal_that_rests_goes_on_resting() -> None:
    resting = aim(1, rests_until=LATER)
    found = advance_ordered_goals([(resting, LATER), (aim(2), NOW)], OwnerOrder(goals=("G1", "G2")))
    assert [at for _, at in found] == [LATER, NOW]


@pytest.mark.parametrize(
    ("changes", "orderable"),
    [
        ({}, True),
        ({"given": False}, False),
        ({"authority": Authority.SELF}, False),
        ({"horizon": Horizon.ASPIRATION}, False),
        ({"status": GoalStatus.COMPLETED}, False),
    ],
)
def test_an_owner_sorts_open_objectives_of_its_own(
    changes: dict[str, object], *, orderable: bool
) -> None:
    assert is_goal_orderable(aim(1, **{"given": True, **changes})) is orderable
