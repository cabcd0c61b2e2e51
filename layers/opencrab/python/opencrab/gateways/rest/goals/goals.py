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
)
from opencrab.domain.goals.priority import Score
from opencrab.domain.goals.value_estimate import Horizon, Satisfaction, ValueEstimate
from opencrab.domain.value import ShortText, Value
from opencrab.engine.goals import instructions as tasks
from opencrab.engine.goals.instructions import InstructionGiver
from opencrab.engine.goals.owner_goals import NewGoal, inject_owner_goal
from opencrab.engine.goals.selection import explain_goal_priorities
from opencrab.gateways.rest.agents.agents import save_agent_changes
from opencrab.gateways.rest.goals.task_views import (
    find_goal,
    find_visible_goal,
    page_of_visible_goals,
)
from opencrab.gateways.rest.goals.tasks import ReasonBody
from opencrab.gateways.rest.http.access import Owner, ProfileReader, Reader
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.etag import Edit, set_http_etag
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, PageQuery

LISTING = "goals"

router = http_routes_below("/api/agents/{agent_id}", "tasks")


class Purpose(Value, defer_build=False):
    """An agent's purpose, in one sentence; empty until one is set."""

    purpose: Annotated[ShortText, Field(max_length=500)]


class PurposeView(Value):
    """An agent's purpose."""

    purpose: str


class PlannedView(Value):
    """One task of a plan with its preconditions, effects and outcome.

    Only the owner may read `result`.
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
        """Convert a stored task to its view; without `private`, `result` is null."""
        shown = {name: getattr(task, name) for name in cls.model_fields}
        return cls(**shown | ({} if private else {"result": None}))


class GoalView(Value):
    """A goal with its plan; `completion` is the percentage of its tasks that are done.

    `horizon` and `worth` are its time horizon and expected value, `revision` counts its plans,
    `risk` is the highest risk of its tasks, `waits` is why it waits if it does. `satisfaction` is
    its outcome once it is completed. `score` is there for open goals on request: the weighted terms
    and their sum, with their values and weights.
    """

    id: str
    name: str
    instruction: str
    source: GoalSource
    horizon: Horizon
    worth: ValueEstimate
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
        """Convert a stored goal to its view; without `private`, results are null."""
        worked_out = {"tasks", "completion", "score", "waits"}
        shown = {name: getattr(goal, name) for name in cls.model_fields.keys() - worked_out}
        shown |= {"score": score, "waits": goal.pause and goal.pause.reason}
        plan = tuple(PlannedView.of(task, private=private) for task in goal.tasks)
        return cls(**shown, tasks=plan, completion=goal.completion_percent)


@router.get("/purpose")
def get_purpose(api: Api, _caller: ProfileReader, agent_id: Id, response: Response) -> PurposeView:
    """Get an agent's purpose.

    ETag holds the agent's version.
    """
    return _purpose(response, api.runtime.home.agents.get(agent_id))


@router.put("/purpose", operation_id="put_purpose")
def put_goal_purpose(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[Purpose], edit: Edit
) -> PurposeView:
    """Replace an agent's purpose.

    It applies from the next turn on.
    """
    purpose = body.purpose.strip()
    return _purpose(
        edit.response, save_agent_changes(api.runtime, agent_id, edit.version, {"purpose": purpose})
    )


class Explained(PageQuery):
    """The part of the list of goals, and whether it includes their scores."""

    explain: bool = Field(
        default=False,
        description="also return the score of each open goal, with the terms of its priority",
    )


@router.get("/goals")
def list_goals(
    api: Api, caller: Reader, agent_id: Id, query: Annotated[Explained, Query()]
) -> Page[GoalView]:
    """List goals with their plans, newest first.

    `explain=1` adds a score to each open goal: its current priority with each term of the sum.
    """
    items, cursor = page_of_visible_goals(api.runtime, caller, agent_id, LISTING, query)
    scores = explain_goal_priorities(api.runtime, agent_id, items) if query.explain else {}
    private = caller.is_owner
    return Page(
        items=tuple(
            GoalView.of(goal, private=private, score=scores.get(goal.id)) for goal in items
        ),
        next_cursor=cursor,
    )


@router.post("/goals", status_code=201, response_model=GoalView)
def inject_goal(
    api: Api, caller: Owner, agent_id: Id, once: Repeatable, body: Strict[NewGoal]
) -> Response:
    """Give an agent a goal.

    The agent starts it on its own, by its priority. An instruction starts at once instead (`POST
    .../tasks`). An aspiration is never started; the agent derives objectives from it.
    """
    key = once.id_of("goal")
    principal = caller.principal
    asker = InstructionGiver(principal.id, principal.name, caller.source, caller.authority)

    def make() -> GoalView:
        goal = inject_owner_goal(api.runtime, agent_id, body, asker, key=key)
        return GoalView.of(goal, private=True)

    return once.answer(body, make, status=201)


@router.post("/goals/{goal_id}/abandon", response_model=GoalView)
def abandon_goal(
    api: Api,
    caller: Owner,
    agent_id: Id,
    goal_id: Id,
    *,
    once: Repeatable,
    body: Strict[ReasonBody] | None = None,
) -> Response:
    """Abandon a goal before its next call.

    Completed actions are not undone. A goal that has ended is returned unchanged.
    """
    wish, by = body or ReasonBody(), caller.principal.id

    def make() -> GoalView:
        goal = find_goal(api.runtime.home.facts, agent_id, goal_id).read(Goal)
        ended = tasks.cancel_goal(api.runtime, agent_id, goal.id, by=by, reason=wish.reason)
        return GoalView.of(ended, private=True)

    return once.answer(wish, make)


@router.get("/goals/{goal_id}")
def get_goal(
    api: Api,
    caller: Reader,
    agent_id: Id,
    goal_id: Id,
    *,
    explain: Annotated[
        bool, Query(description="also return its score, with the terms of its priority")
    ] = False,
) -> GoalView:
    """Get a goal with its plan.

    `explain=1` adds the score of an open goal.
    """
    goal = find_visible_goal(api.runtime.home, caller, agent_id, goal_id)
    scores = explain_goal_priorities(api.runtime, agent_id, (goal,)) if explain else {}
    return GoalView.of(goal, private=caller.is_owner, score=scores.get(goal.id))


def _purpose(response: Response, profile: Profile) -> PurposeView:
    set_http_etag(response, profile.agent.version)
    return PurposeView(purpose=profile.agent.purpose)
