"""Purpose and goals: what an agent is there for, what it wants, and its plans for that."""

from datetime import datetime
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from opencrab.domain.agents.agent import Profile
from opencrab.domain.goals.goal import (
    Goal,
    GoalSource,
    GoalStatus,
    Task,
    TaskStatus,
    task_completion_percent,
)
from opencrab.domain.goals.priority import Score
from opencrab.domain.goals.value_estimate import Horizon, Satisfaction, Worth
from opencrab.domain.value import ShortText, Value
from opencrab.engine.goals import instructions as tasks
from opencrab.engine.goals.instructions import InstructionGiver
from opencrab.engine.goals.owner_goals import NewGoal, inject_owner_goal
from opencrab.engine.goals.selection import explain_goal_priorities
from opencrab.gateways.rest.agents.agents import save_changes
from opencrab.gateways.rest.goals.task_views import find_goal
from opencrab.gateways.rest.goals.tasks import Reason
from opencrab.gateways.rest.http.access import Owner, Reader
from opencrab.gateways.rest.http.body import Strict, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.etag import Edit, set_etag
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, PageQuery, page_of, place_in

LISTING = "goals"

router = routes_below("/api/agents/{agent_id}", "tasks")


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
    risk: float
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
    """A goal with its plan; completion is the share of its tasks that are done, in percent.

    `horizon` and `worth` say how far away it lies and what it promises, `revision` counts its
    plans, `risk` is the greatest of its tasks, `waits` is why it waits if it does. `satisfaction`
    is what came of it once it is completed. `score` is there for open goals if it was asked for:
    the weighted terms and their sum, with the values and the weights that they came of.
    """

    id: str
    name: str
    instruction: str
    source: GoalSource
    horizon: Horizon
    worth: Worth
    deadline: datetime | None
    status: GoalStatus
    waits: str | None
    revision: int
    completion: int
    risk: float
    tasks: tuple[PlannedView, ...]
    session_id: str
    satisfaction: Satisfaction | None
    score: Score | None = None
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, goal: Goal, *, private: bool, score: Score | None = None) -> "GoalView":
        """A stored goal as it is shown."""
        worked_out = {"tasks", "completion", "score", "waits"}
        shown = {name: getattr(goal, name) for name in cls.model_fields.keys() - worked_out}
        shown |= {"score": score, "waits": goal.pause and goal.pause.reason}
        plan = tuple(PlannedView.of(task, private=private) for task in goal.tasks)
        reached = goal.tasks or goal.status is GoalStatus.COMPLETED
        return cls(
            **shown, tasks=plan, completion=task_completion_percent(goal.tasks) if reached else 0
        )


@router.get("/purpose", summary="What is it there for?")
def get_purpose(api: Api, _caller: Reader, agent_id: Id, response: Response) -> PurposeView:
    """An agent's purpose; ETag holds the agent's version."""
    return _purpose(response, api.runtime.home.agents.get(agent_id))


@router.put("/purpose", summary="Give it a purpose")
def put_purpose(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[Purpose], edit: Edit
) -> PurposeView:
    """Say what an agent is there for; it counts from its next turn on."""
    purpose = body.purpose.strip()
    return _purpose(
        edit.response, save_changes(api.runtime, agent_id, edit.version, {"purpose": purpose})
    )


class Explained(PageQuery):
    """Which part of the goals, and whether their scores are shown."""

    explain: bool = Field(
        default=False, description="also how each open goal's priority comes about"
    )


@router.get("/goals", summary="List goals")
def list_goals(
    api: Api, caller: Reader, agent_id: Id, query: Annotated[Explained, Query()]
) -> Page[GoalView]:
    """An agent's goals with their plans, the newest first.

    With `explain=1` each open one has its score: how much the agent wants it now, term by term.
    """
    after = place_in(LISTING, query.cursor) or ""
    found = tasks.goals_of_agent(api.runtime.home, agent_id, after=after, limit=query.limit + 1)
    items, cursor = page_of(LISTING, found, query.limit, lambda goal: goal.id)
    scores = explain_goal_priorities(api.runtime, agent_id, items) if query.explain else {}
    private = caller.is_owner
    return Page(
        items=tuple(
            GoalView.of(goal, private=private, score=scores.get(goal.id)) for goal in items
        ),
        next_cursor=cursor,
    )


@router.post("/goals", status_code=201, response_model=GoalView, summary="Give it a goal")
def inject_goal(
    api: Api, caller: Owner, agent_id: Id, once: Repeatable, body: Strict[NewGoal]
) -> Response:
    """Give an agent a goal that it begins by itself, by its priority; an instruction begins now.

    An aspiration is never begun: it leads the agent to objectives of its own.
    """
    key = once.id_of("goal")
    principal = caller.principal
    asker = InstructionGiver(principal.id, principal.name, caller.source, caller.authority)

    def make() -> GoalView:
        goal = inject_owner_goal(api.runtime, agent_id, body, asker, key=key)
        return GoalView.of(goal, private=True)

    return once.answer(body, make, status=201)


@router.post("/goals/{goal_id}/abandon", response_model=GoalView, summary="Give a goal up")
def abandon_goal(
    api: Api,
    caller: Owner,
    agent_id: Id,
    goal_id: Id,
    *,
    once: Repeatable,
    body: Strict[Reason] | None = None,
) -> Response:
    """End a goal before its next call; what is done stays done, and one that ended stays so."""
    wish, by = body or Reason(), caller.principal.id

    def make() -> GoalView:
        goal = find_goal(api.runtime.home.facts, agent_id, goal_id).read(Goal)
        ended = tasks.cancel_goal(api.runtime, agent_id, goal.id, by=by, reason=wish.reason)
        return GoalView.of(ended, private=True)

    return once.answer(wish, make)


@router.get("/goals/{goal_id}", summary="Look at a goal")
def get_goal(
    api: Api,
    caller: Reader,
    agent_id: Id,
    goal_id: Id,
    *,
    explain: Annotated[bool, Query(description="also how its priority comes about")] = False,
) -> GoalView:
    """One goal with its plan; with `explain=1` an open one has its score."""
    goal = find_goal(api.runtime.home.facts, agent_id, goal_id).read(Goal)
    scores = explain_goal_priorities(api.runtime, agent_id, (goal,)) if explain else {}
    return GoalView.of(goal, private=caller.is_owner, score=scores.get(goal.id))


def _purpose(response: Response, profile: Profile) -> PurposeView:
    set_etag(response, profile.agent.version)
    return PurposeView(purpose=profile.agent.purpose)
