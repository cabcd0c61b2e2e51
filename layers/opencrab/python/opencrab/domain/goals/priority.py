"""Priority: how much an agent wants a goal, and every number that this is made of."""

from datetime import datetime
from functools import lru_cache

from opencrab.domain.agents.soul import Drives
from opencrab.domain.goals.value_estimate import ValueEstimate
from opencrab.domain.value import Unit, Value

NEUTRAL = 0.5
"""The capability that is assumed without an estimate."""


class Terms(Value):
    """One number for each of the five terms of a priority."""

    urgency: float
    expected_reward: float
    capability_match: float
    novelty: float
    social_value: float


class Score(Value):
    """The weighted terms of a goal and their sum, with the `values` and `weights` behind them."""

    urgency: float
    expected_reward: float
    capability_match: float
    novelty: float
    social_value: float
    priority: float
    values: Terms
    weights: Terms


@lru_cache(maxsize=256)
def goal_priority_weights(drives: Drives) -> Terms:
    """Compute the weight of each term from an agent's drives (Kingdom 10.2)."""
    return Terms(
        urgency=1.0,
        expected_reward=0.5 + 0.5 * (1.0 - drives.quality_vs_speed),
        capability_match=0.5 + 0.5 * (1.0 - drives.depth_vs_breadth),
        novelty=0.5 * drives.risk_tolerance,
        social_value=0.5 * drives.collaboration,
    )


def goal_priority(
    worth: ValueEstimate, urgency: float, drives: Drives, capability: float = NEUTRAL
) -> Score:
    """Compute the priority of a goal for an agent with these drives (Kingdom 10.2).

    The sum of urgency, expected reward, capability match, novelty and social value, each times its
    weight. `capability` is used if the goal's capability match is unset.
    """
    heavy, able = goal_priority_weights(drives), worth.capability_match
    values = Terms(
        urgency=urgency,
        expected_reward=worth.expected_reward,
        capability_match=capability if able is None else able,
        novelty=worth.novelty,
        social_value=worth.social_value,
    )
    pressing = values.urgency * heavy.urgency
    reward = values.expected_reward * heavy.expected_reward
    match = values.capability_match * heavy.capability_match
    novelty = values.novelty * heavy.novelty
    social = values.social_value * heavy.social_value
    return Score(
        urgency=pressing,
        expected_reward=reward,
        capability_match=match,
        novelty=novelty,
        social_value=social,
        priority=pressing + reward + match + novelty + social,
        values=values,
        weights=heavy,
    )


def goal_deadline_urgency(deadline: datetime | None, created_at: datetime, now: datetime) -> Unit:
    """Compute a goal's urgency: 0 without a deadline, else the share of its time that is over.

    It is 1 from the deadline on, also if the deadline was already past at the beginning.
    """
    if deadline is None:
        return 0.0
    if now >= deadline:
        return 1.0
    if now <= created_at:
        return 0.0
    return (now - created_at) / (deadline - created_at)


def goal_priority_reached_at(
    worth: ValueEstimate,
    created_at: datetime,
    deadline: datetime | None,
    drives: Drives,
    threshold: float,
) -> datetime | None:
    """Return when a goal's priority reaches a threshold; None if it never does.

    That is at its creation, or on the way to its deadline.
    """
    missing = threshold - goal_priority(worth, 0.0, drives).priority
    if missing <= 0:
        return created_at
    if deadline is None or missing > 1:
        return None
    if deadline <= created_at:
        return created_at
    return min(created_at + missing * (deadline - created_at), deadline)
