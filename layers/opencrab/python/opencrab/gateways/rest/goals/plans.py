"""Plans: what an agent is about to do for a goal, task by task, and what it gave up doing."""

from datetime import datetime

from opencrab.domain.access.policy import Area
from opencrab.domain.goals.goal import Goal, Task
from opencrab.domain.goals.plan import (
    PLAN,
    AbandonedPlan,
    PlanStatus,
    abandoned_goal_plan_id,
    plan_status,
)
from opencrab.domain.value import Value
from opencrab.engine.access.visibility import goals_principal_may_access, require_access_to_agent
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.gateways.rest.goals.goals import PlannedView
from opencrab.gateways.rest.goals.task_views import page_of_visible_goals
from opencrab.gateways.rest.http.access import Reader
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.page import Page, Paged
from opencrab.ports.documents import Documents

LISTING = "plans"

router = http_routes_below("/api/agents/{agent_id}", "tasks")


class GivenUpView(Value):
    """A plan that was replaced by another one, and why."""

    revision: int
    why: str
    tasks: tuple[PlannedView, ...]
    given_up_at: datetime


class PlanView(Value):
    """A goal's plan: a draft until its first task begins; `earlier` are abandoned plans.

    `revision` counts the plans of its goal.
    """

    goal_id: str
    goal_name: str
    revision: int
    status: PlanStatus
    tasks: tuple[PlannedView, ...]
    earlier: tuple[GivenUpView, ...]


@router.get("/plan")
def get_plan(api: Api, caller: Reader, agent_id: Id) -> PlanView | None:
    """Get the current plan, or null without one that the caller may see."""
    current = api.runtime.home.agents.get(agent_id).mind.agenda.current
    goal = None
    if current is not None:
        goal = require_goal_document(api.runtime.home.facts, agent_id, current).read(Goal)
    if goal is None or not goals_principal_may_access(api.runtime.home, caller.principal, (goal,)):
        require_access_to_agent(caller.principal, agent_id, Area.PROFILE)
        return None
    return _plan(api.runtime.home.facts, goal, private=caller.is_owner)


@router.get("/plans")
def list_plans(api: Api, caller: Reader, agent_id: Id, query: Paged) -> Page[PlanView]:
    """List plans, those of the newest goals first.

    Goals without a plan are left out.
    """
    goals, cursor = page_of_visible_goals(api.runtime, caller, agent_id, LISTING, query)
    shown = (_plan(api.runtime.home.facts, goal, private=caller.is_owner) for goal in goals)
    return Page(items=tuple(plan for plan in shown if plan is not None), next_cursor=cursor)


def _plan(facts: Documents, goal: Goal, *, private: bool) -> PlanView | None:
    status = plan_status(goal)
    if status is None:
        return None
    return PlanView(
        goal_id=goal.id,
        goal_name=goal.name,
        revision=goal.revision,
        status=status,
        tasks=_tasks(goal.tasks, private=private),
        earlier=tuple(
            GivenUpView(
                revision=old.revision,
                why=old.why,
                tasks=_tasks(old.tasks, private=private),
                given_up_at=old.given_up_at,
            )
            for old in _given_up(facts, goal)
        ),
    )


def _given_up(facts: Documents, goal: Goal) -> list[AbandonedPlan]:
    if goal.revision == 1:
        return []
    names = ((PLAN, abandoned_goal_plan_id(goal.id, each)) for each in range(1, goal.revision))
    found = facts.get_many(goal.agent_id, *names)
    return sorted((fact.read(AbandonedPlan) for fact in found), key=lambda old: old.revision)


def _tasks(listed: tuple[Task, ...], *, private: bool) -> tuple[PlannedView, ...]:
    return tuple(PlannedView.of(task, private=private) for task in listed)
