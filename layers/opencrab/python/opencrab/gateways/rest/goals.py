"""Purpose and goals: what an agent is there for, what it wants, and its plans for that."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from opencrab.domain.agent import Profile
from opencrab.domain.goal import Goal, GoalSource, GoalStatus, Task, TaskStatus, completion
from opencrab.domain.value import ShortText, Value
from opencrab.engine import tasks
from opencrab.gateways.rest.access import Owner, Reader
from opencrab.gateways.rest.agents import changed, etag
from opencrab.gateways.rest.body import JsonRoute, strictly
from opencrab.gateways.rest.page import Page, Paged, paged, place_in
from opencrab.gateways.rest.rest import Api, Id
from opencrab.gateways.rest.task_views import stored
from opencrab.gateways.rest.version import IfMatch

LISTING = "goals"

router = APIRouter(prefix="/api/agents/{agent_id}", tags=["tasks"], route_class=JsonRoute)


class Purpose(Value, defer_build=False):
    """What an agent is there for, in one sentence; empty while nobody has said."""

    purpose: Annotated[ShortText, Field(max_length=500)]


class PurposeView(Value):
    """An agent's purpose."""

    purpose: str


class PlannedView(Value):
    """One task of a plan: what must be true before it and after it, and what became of it.

    `result` is only the owner's to read.
    """

    id: str
    name: str
    precondition: str
    postcondition: str
    depends_on: tuple[str, ...]
    estimated_turns: int
    estimated_micro_usd: int
    status: TaskStatus
    cause: str
    result: str | None
    confirmed: bool
    ended_at: datetime | None

    @classmethod
    def of(cls, task: Task, *, private: bool) -> "PlannedView":
        """A stored task as it is shown."""
        shown = {name: getattr(task, name) for name in cls.model_fields}
        return cls(**shown | ({} if private else {"result": None}))


class GoalView(Value):
    """A goal with its plan; completion is the share of its tasks that are done, in percent."""

    id: str
    name: str
    instruction: str
    source: GoalSource
    status: GoalStatus
    completion: int
    tasks: tuple[PlannedView, ...]
    session_id: str
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, goal: Goal, *, private: bool) -> "GoalView":
        """A stored goal as it is shown."""
        own = ("id", "name", "instruction", "source", "status", "session_id")
        shown = {name: getattr(goal, name) for name in (*own, "created_at", "ended_at")}
        plan = tuple(PlannedView.of(task, private=private) for task in goal.tasks)
        reached = goal.tasks or goal.status is GoalStatus.COMPLETED
        return cls(**shown, tasks=plan, completion=completion(goal.tasks) if reached else 0)


@router.get("/purpose", summary="What is it there for?", operation_id="get_purpose")
def get_purpose(api: Api, _caller: Reader, agent_id: Id, response: Response) -> PurposeView:
    """An agent's purpose; ETag holds the agent's version."""
    return _purpose(response, api.runtime.home.agents.get(agent_id))


@router.put("/purpose", summary="Give it a purpose", operation_id="put_purpose")
def put_purpose(
    api: Api,
    _caller: Owner,
    agent_id: Id,
    body: Annotated[Purpose, strictly(Purpose)],
    response: Response,
    if_match: IfMatch = None,
) -> PurposeView:
    """Say what an agent is there for; it counts from its next turn on."""
    purpose = body.purpose.strip()
    return _purpose(response, changed(api.runtime, agent_id, if_match, {"purpose": purpose}))


@router.get("/goals", summary="List goals", operation_id="list_goals")
def list_goals(api: Api, caller: Reader, agent_id: Id, query: Paged) -> Page[GoalView]:
    """An agent's goals with their plans, the newest first."""
    after = place_in(LISTING, query.cursor) or ""
    found = tasks.goals(api.runtime, agent_id, after=after, limit=query.limit + 1)
    items, cursor = paged(LISTING, found, query.limit, lambda goal: goal.id)
    private = caller.is_owner
    return Page(
        items=tuple(GoalView.of(goal, private=private) for goal in items), next_cursor=cursor
    )


@router.get("/goals/{goal_id}", summary="Look at a goal", operation_id="get_goal")
def get_goal(api: Api, caller: Reader, agent_id: Id, goal_id: Id) -> GoalView:
    """One goal with its plan."""
    goal = stored(api.runtime, agent_id, goal_id).read(Goal)
    return GoalView.of(goal, private=caller.is_owner)


def _purpose(response: Response, profile: Profile) -> PurposeView:
    response.headers["ETag"] = etag(profile)
    return PurposeView(purpose=profile.agent.purpose)
