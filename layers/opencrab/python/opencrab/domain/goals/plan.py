"""Plans: the status of a goal's plan, replanning, and abandoned plans."""

from datetime import datetime
from enum import StrEnum

from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.goals.goal import (
    MOST_TASKS,
    Goal,
    GoalStatus,
    PlannedTask,
    Task,
    TaskStatus,
    goal_document_id,
    number_tasks,
)
from opencrab.domain.value import GoalId, ShortText, Value

PLAN = "plan"
"""The kind of documents that store abandoned plans; their ids are `plan_key`s."""

REPAIRS = 2
"""The number of times that a goal is replanned before the agent asks its owner."""


class PlanStatus(StrEnum):
    """Status of a plan: a draft, being carried out, or ended."""

    DRAFT = "draft"
    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class AbandonedPlan(Value):
    """A plan that was replaced by another one, and why."""

    goal_id: GoalId
    revision: int
    tasks: tuple[Task, ...]
    why: ShortText = ""
    given_up_at: datetime


def plan_status(goal: Goal) -> PlanStatus | None:
    """Return the status of a goal's present plan; None if it has none."""
    if not goal.tasks:
        return None
    if goal.status is GoalStatus.COMPLETED:
        return PlanStatus.COMPLETED
    if goal.status is GoalStatus.ABANDONED:
        return PlanStatus.ABANDONED
    begun = any(task.status is not TaskStatus.PENDING for task in goal.tasks)
    return PlanStatus.ACTIVE if begun else PlanStatus.DRAFT


def abandoned_goal_plan_id(goal_id: str, revision: int) -> str:
    """Return the id of the document that holds an abandoned plan."""
    return f"{goal_document_id(goal_id)}.{revision:02d}"


def is_plan_repairable(goal: Goal) -> bool:
    """Check whether a goal may be replanned: at most `REPAIRS` (2) times."""
    return goal.revision <= REPAIRS


def replan_goal(
    goal: Goal, tasks: tuple[PlannedTask, ...], now: datetime
) -> tuple[Goal, AbandonedPlan]:
    """Return the goal with other tasks for what is not done, and the abandoned plan.

    Done tasks stay. Raises Conflict if a task is being carried out or the limit of plans is
    reached, and Invalid for a plan that is empty, too long or cyclic.
    """
    if goal.current is not None:
        raise Conflict(f"task {goal.current.id} is running", cure="complete or fail it first")
    if not is_plan_repairable(goal):
        raise Conflict(
            f"limit reached: goal {goal.id} was replanned {REPAIRS} times",
            cure="ask your owner how to go on",
        )
    if not 1 <= len(tasks) <= MOST_TASKS:
        raise Invalid(
            f"the plan has {len(tasks)} tasks; 1 to {MOST_TASKS} are allowed",
            field="tasks",
            cure="split or merge tasks",
        )
    old = AbandonedPlan(
        goal_id=goal.id,
        revision=goal.revision,
        tasks=goal.tasks,
        why=goal.stuck,
        given_up_at=now,
    )
    done = tuple(task for task in goal.tasks if task.status is TaskStatus.DONE)
    last = max((int(task.id.rpartition("-T")[2]) for task in goal.tasks), default=0)
    fresh = (*done, *number_tasks(goal.id, tasks, after=last))
    return goal.replaced(tasks=fresh, revision=goal.revision + 1, stuck=""), old
