"""Wanting: which of an agent's open goals it wants most, and when one is worth beginning."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.soul import Drives
from opencrab.domain.errors import Invalid
from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus
from opencrab.domain.goals.priority import (
    Score,
    deadline_urgency,
    goal_priority,
    reaches_priority_at,
)
from opencrab.domain.goals.value_estimate import ASPIRATIONS, OBJECTIVES, Horizon, Worth
from opencrab.domain.value import Unit

OWNERS_PLACES = 5
"""Places among the objectives that only the owner's goals may take."""

AT_ONCE = {
    GoalSource.SURVIVAL: 1,
    GoalSource.OPPORTUNITY: 3,
    GoalSource.CURIOSITY: 1,
    GoalSource.SOCIAL: 1,
}
"""Goals of one source that are open at once where nobody asked for them."""

PROMISES = {
    GoalSource.SURVIVAL: Worth(expected_reward=0.9, novelty=0.1),
    GoalSource.ROLE: Worth(expected_reward=0.7),
    GoalSource.OPPORTUNITY: Worth(expected_reward=0.6, novelty=0.6),
    GoalSource.CURIOSITY: Worth(expected_reward=0.5, novelty=1.0),
    GoalSource.SOCIAL: Worth(expected_reward=0.5, novelty=0.3, social_value=1.0),
}
"""What goals promise that nobody gave, before there was one of their source."""

SETTLING = timedelta(minutes=10)
"""How long a goal that came up in a conversation is left to that conversation."""

FARTHEST = timedelta(days=3_660)
"""How far away a deadline may lie."""


def score_goal(goal: Goal, capability: Unit, drives: Drives, now: datetime) -> Score:
    """How much an agent wants a goal now, term by term."""
    pressing = deadline_urgency(goal.deadline, goal.created_at, now)
    return goal_priority(goal.worth, pressing, drives, capability)


def rank_goals(
    goals: Iterable[Goal], capability: Unit, drives: Drives, now: datetime
) -> list[tuple[Goal, Score]]:
    """Goals by their priority, the highest first; the older one first where they are equal."""
    listed = [(goal, score_goal(goal, capability, drives, now)) for goal in goals]
    listed.sort(key=lambda each: (-each[1].priority, int(each[0].id[1:])))
    return listed


def may_begin_goal(goal: Goal, *, unasked: bool) -> bool:
    """Whether a heartbeat may begin a goal: an objective that nobody works on or lets wait.

    `unasked` says that the agent acts of its own accord; without that it begins only what its
    owner gave it. What others than its owner and itself have put up is never begun so.
    """
    if goal.horizon is not Horizon.OBJECTIVE or goal.status is not GoalStatus.PENDING:
        return False
    if goal.pause is not None:
        return False
    if goal.authority is Authority.OWNER and goal.given:
        return True
    return unasked and goal.authority in {Authority.OWNER, Authority.SELF}


def goal_begins_at(
    goal: Goal, capability: Unit, drives: Drives, threshold: float
) -> datetime | None:
    """When a goal comes to the threshold, or None if it never does."""
    worth = _fill_capability_match(goal.worth, capability)
    reached = reaches_priority_at(worth, goal.created_at, goal.deadline, drives, threshold)
    if reached is None:
        return None
    if not goal.given and goal.authority is not Authority.SELF:
        reached = max(reached, goal.created_at + SETTLING)
    return reached if goal.rests_until is None else max(reached, goal.rests_until)


def require_goal_room(horizon: Horizon, taken: int, authority: Authority) -> None:
    """Raise Invalid where no more goals of a horizon fit beside those that are open."""
    most = open_goal_limit(horizon, authority)
    if taken >= most:
        raise Invalid(
            f"limit reached: {taken} open goals with horizon {horizon.value!r} (at most {most})",
            field="horizon",
            cure="complete or abandon one of them first",
        )


def open_goal_limit(horizon: Horizon, authority: Authority) -> int:
    """How many goals of a horizon may be open before one more is added on this authority."""
    if horizon is Horizon.ASPIRATION:
        return ASPIRATIONS
    return OBJECTIVES if authority is Authority.OWNER else OBJECTIVES - OWNERS_PLACES


def require_valid_deadline(deadline: datetime | None, now: datetime) -> None:
    """Raise Invalid for a deadline without a time zone, that is over, or that is absurdly far."""
    if deadline is None:
        return
    if deadline.tzinfo is None:
        raise Invalid(
            "the deadline has no time zone",
            field="deadline",
            cure="end it in Z or in an offset such as +09:00",
        )
    if deadline <= now:
        raise Invalid("the deadline is in the past", field="deadline", cure="use a later one")
    if deadline - now > FARTHEST:
        raise Invalid(
            "the deadline is more than ten years away", field="deadline", cure="use an earlier one"
        )


def _fill_capability_match(worth: Worth, capability: Unit) -> Worth:
    if worth.capability_match is not None:
        return worth
    return worth.replaced(capability_match=capability)
