"""Wanting: which of an agent's open goals it wants most, and when one is worth beginning."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.soul import Drives
from opencrab.domain.errors import Invalid
from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus
from opencrab.domain.goals.priority import (
    Score,
    goal_deadline_urgency,
    goal_priority,
    goal_priority_reached_at,
)
from opencrab.domain.goals.promise import is_goal_promised
from opencrab.domain.goals.value_estimate import ASPIRATIONS, OBJECTIVES, Horizon, ValueEstimate
from opencrab.domain.value import Unit

OWNERS_PLACES = 5
"""The number of open objectives reserved for the owner's goals."""

AT_ONCE = {
    GoalSource.SURVIVAL: 1,
    GoalSource.OPPORTUNITY: 3,
    GoalSource.CURIOSITY: 1,
    GoalSource.SOCIAL: 1,
}
"""The limit of open goals of one source that the agent set itself."""

PROMISES = {
    GoalSource.SURVIVAL: ValueEstimate(expected_reward=0.9, novelty=0.1),
    GoalSource.ROLE: ValueEstimate(expected_reward=0.7),
    GoalSource.OPPORTUNITY: ValueEstimate(expected_reward=0.6, novelty=0.6),
    GoalSource.CURIOSITY: ValueEstimate(expected_reward=0.5, novelty=1.0),
    GoalSource.SOCIAL: ValueEstimate(expected_reward=0.5, novelty=0.3, social_value=1.0),
}
"""The expected value of goals that the agent sets itself, before the first of their source."""

SETTLING = timedelta(minutes=10)
"""The time in which a goal that came up in a conversation is left to that conversation."""

FARTHEST = timedelta(days=3_660)
"""The longest time until a deadline."""


def score_goal(goal: Goal, capability: Unit, drives: Drives, now: datetime) -> Score:
    """Compute a goal's present priority, term by term."""
    pressing = goal_deadline_urgency(goal.deadline, goal.created_at, now)
    return goal_priority(goal.worth, pressing, drives, capability)


def rank_goals(
    goals: Iterable[Goal], capability: Unit, drives: Drives, now: datetime
) -> list[tuple[Goal, Score]]:
    """Sort goals by priority, the highest first; the older one first if they are equal."""
    listed = [(goal, score_goal(goal, capability, drives, now)) for goal in goals]
    listed.sort(key=lambda each: (-each[1].priority, int(each[0].id[1:])))
    return listed


def may_begin_goal(goal: Goal, *, unasked: bool) -> bool:
    """Check whether a heartbeat may begin a goal: a pending objective that is not paused.

    `unasked` says that the agent may act on its own; without it, it begins only goals that its
    owner gave it, or that it promised. Goals of others than its owner and itself are never begun
    so.
    """
    if goal.horizon is not Horizon.OBJECTIVE or goal.status is not GoalStatus.PENDING:
        return False
    if goal.pause is not None:
        return False
    if (goal.authority is Authority.OWNER and goal.given) or is_goal_promised(goal):
        return True
    return unasked and goal.authority in {Authority.OWNER, Authority.SELF}


def goal_begins_at(
    goal: Goal, capability: Unit, drives: Drives, threshold: float
) -> datetime | None:
    """Return when a goal reaches the threshold, or None if it never does."""
    worth = _fill_capability_match(goal.worth, capability)
    reached = goal_priority_reached_at(worth, goal.created_at, goal.deadline, drives, threshold)
    if reached is None:
        return None
    if not goal.given and goal.authority is not Authority.SELF:
        reached = max(reached, goal.created_at + SETTLING)
    return reached if goal.rests_until is None else max(reached, goal.rests_until)


def require_goal_room(horizon: Horizon, taken: int, authority: Authority) -> None:
    """Raise Invalid if the limit of open goals of a horizon is reached."""
    most = open_goal_limit(horizon, authority)
    if taken >= most:
        raise Invalid(
            f"limit reached: {taken} open goals with horizon {horizon.value!r} (at most {most})",
            field="horizon",
            cure="complete or abandon one of them first",
        )


def open_goal_limit(horizon: Horizon, authority: Authority) -> int:
    """Return how many goals of a horizon may be open, for goals added with this authority."""
    if horizon is Horizon.ASPIRATION:
        return ASPIRATIONS
    return OBJECTIVES if authority is Authority.OWNER else OBJECTIVES - OWNERS_PLACES


def require_valid_goal_deadline(deadline: datetime | None, now: datetime) -> None:
    """Raise Invalid for a deadline without time zone, in the past or over ten years away."""
    if deadline is None:
        return
    if deadline.tzinfo is None:
        raise Invalid(
            f"the deadline {deadline.isoformat()} has no time zone",
            field="deadline",
            cure="end it in Z or in an offset such as +09:00",
        )
    if deadline <= now:
        raise Invalid(
            f"the deadline {deadline.isoformat()} is in the past",
            field="deadline",
            cure="use a later one",
        )
    if deadline - now > FARTHEST:
        raise Invalid(
            f"the deadline {deadline.isoformat()} is more than ten years away",
            field="deadline",
            cure="use an earlier one",
        )


def _fill_capability_match(worth: ValueEstimate, capability: Unit) -> ValueEstimate:
    if worth.capability_match is not None:
        return worth
    return worth.replaced(capability_match=capability)
