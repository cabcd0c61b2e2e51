"""Owner order: the order in which an owner wants its own goals, whatever their priority.

It sorts these goals among the places that they have by their priority; goals of others keep theirs.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from opencrab.domain.access.authority import Authority
from opencrab.domain.goals.goal import Goal
from opencrab.domain.goals.value_estimate import Horizon
from opencrab.domain.value import GoalId, Value

GOAL_ORDER = "goal_order"
"""Kind and id of the document that stores an owner's order of an agent's goals."""


class OwnerOrder(Value):
    """The goals that their owner sorted, the first one first; others may have ended since."""

    goals: tuple[GoalId, ...] = ()

    @property
    def places(self) -> Mapping[str, int]:
        """The place of each goal that was sorted."""
        return {goal_id: place for place, goal_id in enumerate(self.goals)}

    def sort(self, goals: Iterable[Goal]) -> list[Goal]:
        """Sort the goals of this order among the places that they have; the others keep theirs."""
        listed, places = list(goals), self.places
        ordered = iter(
            sorted((g for g in listed if g.id in places), key=lambda goal: places[goal.id])
        )
        return [next(ordered) if goal.id in places else goal for goal in listed]


def is_goal_orderable(goal: Goal) -> bool:
    """Check whether its owner may sort a goal: an open objective that the owner gave."""
    given = goal.given and goal.authority is Authority.OWNER
    return given and goal.horizon is Horizon.OBJECTIVE and not goal.status.is_end


def advance_ordered_goals(
    when: Iterable[tuple[Goal, datetime | None]], order: OwnerOrder
) -> list[tuple[Goal, datetime | None]]:
    """Let a goal begin no later than those that its owner sorted behind it, but not while it rests.

    `when` has the time from which each goal is worth beginning by its priority, None for never.
    """
    listed, places = list(when), order.places
    advanced = list[tuple[Goal, datetime | None]]()
    for goal, at in listed:
        place = places.get(goal.id)
        if place is None:
            advanced.append((goal, at))
            continue
        behind = (other for each, other in listed if places.get(each.id, -1) >= place)
        first = min((other for other in behind if other is not None), default=None)
        if first is not None and goal.rests_until is not None:
            first = max(first, goal.rests_until)
        advanced.append((goal, first))
    return advanced
