"""Goal order: in which order an agent takes the goals of its owner."""

from collections.abc import Iterable

from pydantic import Field

from opencrab.domain.goals.goal import OPEN_GOALS, Goal
from opencrab.domain.value import GoalId, Value
from opencrab.engine.goals.owner_order import goals_in_owner_order, order_owner_goals
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id

router = http_routes_below("/api/agents/{agent_id}/goal-order", "tasks")


class GoalOrderPut(Value, defer_build=False):
    """The ids of goals, the first one first; goals that are left out follow by their priority."""

    goals: tuple[GoalId, ...] = Field(max_length=2 * OPEN_GOALS)


class OrderedGoalView(Value):
    """A goal that waits to be begun."""

    id: str
    name: str


class GoalOrderView(Value):
    """The owner's open objectives, without the one in progress, in the order of their turn."""

    goals: tuple[OrderedGoalView, ...]

    @classmethod
    def of(cls, goals: Iterable[Goal]) -> "GoalOrderView":
        """Convert goals in their order to the view."""
        return cls(goals=tuple(OrderedGoalView(id=each.id, name=each.name) for each in goals))


@router.get("")
def get_goal_order(api: Api, _caller: Owner, agent_id: Id) -> GoalOrderView:
    """Get the order in which an agent takes its owner's goals."""
    return GoalOrderView.of(goals_in_owner_order(api.runtime, agent_id))


@router.put("")
def put_goal_order(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[GoalOrderPut]
) -> GoalOrderView:
    """Set the order in which an agent takes its owner's goals.

    A goal begins no later than those behind it, even with a lower priority. Goals that the agent
    set itself keep their places among them.
    """
    return GoalOrderView.of(order_owner_goals(api.runtime, agent_id, body.goals))
