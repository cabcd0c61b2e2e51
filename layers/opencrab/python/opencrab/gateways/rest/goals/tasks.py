"""Tasks: instructions that an agent carries out in sight, and whoever gave them can steer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Response
from pydantic import AfterValidator, Field

from opencrab.domain.access.policy import Verb
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.goals.goal import Goal, goal_id_of_label
from opencrab.domain.name import NewName
from opencrab.domain.value import MessageText, ShortText, Value
from opencrab.engine.goals import instructions
from opencrab.engine.goals.instructions import InstructionGiver, NewInstruction
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.engine.goals.progress import Standing, goal_summary
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.goals.task_views import (
    TaskSummary,
    TaskView,
    find_visible_goal,
    goal_task_summary,
    goal_task_view,
    page_of_visible_goals,
)
from opencrab.gateways.rest.http.access import Caller, Reader, Talker
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import IdempotentRequest, Repeatable
from opencrab.gateways.rest.http.page import Page, Paged

LISTING = "tasks"
_MICRO = 1_000_000

router = http_routes_below("/api/agents/{agent_id}/tasks", "tasks")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank: write text")
    return text


Words = Annotated[MessageText, AfterValidator(_not_blank)]


class NewTask(Value, defer_build=False):
    """An instruction; without a name its first line is the name."""

    instruction: Words
    name: NewName | None = None
    budget_usd: Annotated[float, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="maximum cost of its plan in US dollars"
    )


class ReasonBody(Value, defer_build=False):
    """The reason of a change."""

    reason: ShortText = ""


class Steering(Value, defer_build=False):
    """A message that the agent reads before its next step."""

    text: Words


@dataclass(frozen=True)
class TaskCommand:
    """A change of one task by a caller who may change it."""

    runtime: Runtime
    caller: Caller
    agent_id: str
    task_id: str
    once: IdempotentRequest

    def goal(self) -> Goal:
        """Load the task as it is stored; raises NotFound."""
        return require_goal_document(self.runtime.home.facts, self.agent_id, self.task_id).read(
            Goal
        )

    def cancel(self, reason: str) -> Goal:
        """Cancel the task."""
        by = self.caller.principal.id
        return instructions.cancel_goal(
            self.runtime, self.agent_id, self.task_id, by=by, reason=reason
        )

    def answer(self, body: Value | None, act: Callable[[], Goal]) -> Response:
        """Apply a change once and return the changed task; raises Refused."""

        def make() -> TaskView:
            find_visible_goal(
                self.runtime.home, self.caller, self.agent_id, self.task_id, Verb.CHANGE
            )
            return goal_task_view(self.runtime, act(), self.caller)

        return self.once.answer(body, make)


async def _order(
    api: Api, caller: Talker, agent_id: Id, task_id: Id, once: Repeatable
) -> TaskCommand:
    goal_id = goal_id_of_label(task_id)
    if task_id != goal_id:
        raise Invalid(
            "a single task cannot be changed, only its whole goal",
            field="task_id",
            cure=f"use the goal, {goal_id}",
        )
    return TaskCommand(api.runtime, caller, agent_id, task_id, once)


Ordered = Annotated[TaskCommand, Depends(_order)]


@router.post("", status_code=202, response_model=TaskView, operation_id="create_task")
def create_goal_task(
    api: Api, caller: Talker, agent_id: Id, once: Repeatable, body: Strict[NewTask]
) -> Response:
    """Give an instruction.

    It is planned and carried out in a session of its own. It starts at once, or after the task that
    the agent is working on.
    """
    budget = None if body.budget_usd is None else round(body.budget_usd * _MICRO)
    asked = NewInstruction(instruction=body.instruction, name=body.name, budget_micro_usd=budget)
    key = once.id_of("task")

    def make() -> TaskView:
        goal = instructions.start_instruction_as_goal(
            api.runtime, agent_id, asked, _asker(caller), key=key
        )
        return goal_task_view(api.runtime, goal, caller)

    return once.answer(body, make, status=202)


@router.get("")
def list_tasks(api: Api, caller: Reader, agent_id: Id, query: Paged) -> Page[TaskSummary]:
    """List instructions and the agent's own goals, newest first.

    A chat key lists those that its principal gave or is invited to.
    """
    items, cursor = page_of_visible_goals(api.runtime, caller, agent_id, LISTING, query)
    return Page(
        items=tuple(goal_task_summary(api.runtime.home.journal, goal) for goal in items),
        next_cursor=cursor,
    )


@router.get("/{task_id}")
def get_task(api: Api, caller: Reader, agent_id: Id, task_id: Id) -> TaskView:
    """Get a task's progress.

    Only owners see thoughts, arguments and results. The id of one task of a plan returns the whole
    plan.
    """
    goal = find_visible_goal(api.runtime.home, caller, agent_id, task_id)
    return goal_task_view(api.runtime, goal, caller)


@router.post("/{task_id}/cancel", response_model=TaskView)
def cancel_task(order: Ordered, body: Strict[ReasonBody] | None = None) -> Response:
    """Cancel a task before its next call.

    Completed actions are not undone. A task that has ended is returned unchanged.
    """
    wish = body or ReasonBody()
    return order.answer(wish, lambda: order.cancel(wish.reason))


@router.post("/{task_id}/discard", response_model=TaskView)
def discard_task(order: Ordered, body: Strict[ReasonBody] | None = None) -> Response:
    """Cancel a task only if it does not run; a running one gives status 409.

    It must be paused, queued or waiting for approval.
    """
    wish = body or ReasonBody()

    def act() -> Goal:
        if goal_summary(order.runtime.home.journal, order.goal()).status is Standing.ACTIVE:
            raise Conflict(
                f"task {order.task_id!r} is running", cure="pause it first, or cancel it"
            )
        return order.cancel(wish.reason)

    return order.answer(wish, act)


@router.post("/{task_id}/pause", response_model=TaskView)
def pause_task(order: Ordered, body: Strict[ReasonBody] | None = None) -> Response:
    """Pause a task before its next call.

    It stays paused until it is resumed or cancelled.
    """
    wish = body or ReasonBody()
    by = order.caller.principal.id
    return order.answer(
        wish,
        lambda: instructions.pause_goal_by_label(
            order.runtime, order.agent_id, order.task_id, by=by, reason=wish.reason
        ),
    )


@router.post("/{task_id}/resume", response_model=TaskView)
def resume_task(order: Ordered) -> Response:
    """Resume a paused task where it stopped.

    A task that has ended gives status 409.
    """
    return order.answer(
        None, lambda: instructions.resume_goal(order.runtime, order.agent_id, order.task_id)
    )


@router.post("/{task_id}/steer", response_model=TaskView)
def steer_task(order: Ordered, body: Strict[Steering]) -> Response:
    """Send a message that the agent reads before its next step.

    It starts no turn.
    """
    key = order.once.id_of("steering")
    asker = _asker(order.caller)

    def act() -> Goal:
        runtime, agent_id, task_id = order.runtime, order.agent_id, order.task_id
        return instructions.steer_goal(runtime, agent_id, task_id, body.text, asker=asker, key=key)

    return order.answer(body, act)


def _asker(caller: Caller) -> InstructionGiver:
    principal = caller.principal
    return InstructionGiver(principal.id, principal.name, caller.source, caller.authority)
