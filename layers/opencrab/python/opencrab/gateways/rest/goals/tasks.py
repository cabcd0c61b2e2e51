"""Tasks: instructions that an agent carries out in sight, and whoever gave them can steer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Response
from pydantic import AfterValidator, Field

from opencrab.domain.errors import Conflict, Invalid, Refused
from opencrab.domain.goals.goal import Goal, goal_id_of
from opencrab.domain.value import MessageText, Name, ShortText, Value
from opencrab.engine.goals import instructions
from opencrab.engine.goals.instructions import InstructionGiver, NewInstruction
from opencrab.engine.goals.pausing import stored_goal
from opencrab.engine.goals.progress import Standing, goal_summary
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.goals.task_views import (
    TaskSummary,
    TaskView,
    find_goal,
    task_summary,
    task_view,
)
from opencrab.gateways.rest.http.access import Caller, Reader, Talker
from opencrab.gateways.rest.http.body import Strict, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import IdempotentRequest, Repeatable
from opencrab.gateways.rest.http.page import Page, Paged, page_of, page_place

LISTING = "tasks"
_MICRO = 1_000_000

router = routes_below("/api/agents/{agent_id}/tasks", "tasks")


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank: write text")
    return text


Words = Annotated[MessageText, AfterValidator(_not_blank)]


class NewTask(Value, defer_build=False):
    """An instruction; without a name its first line is the name."""

    instruction: Words
    name: Name | None = None
    budget_usd: Annotated[float, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="most US dollars that its plan may cost"
    )


class Reason(Value, defer_build=False):
    """Reason of a change."""

    reason: ShortText = ""


class Steering(Value, defer_build=False):
    """A message that the agent reads before its next step."""

    text: Words


@dataclass(frozen=True)
class TaskCommand:
    """A request to change one task, by somebody who may."""

    runtime: Runtime
    caller: Caller
    agent_id: str
    task_id: str
    once: IdempotentRequest

    def goal(self) -> Goal:
        """The task as it is stored; raises NotFound."""
        return stored_goal(self.runtime.home.facts, self.agent_id, self.task_id).read(Goal)

    def cancel(self, reason: str) -> Goal:
        """Give the task up."""
        by = self.caller.principal.id
        return instructions.cancel_goal(
            self.runtime, self.agent_id, self.task_id, by=by, reason=reason
        )

    def answer(self, body: Value | None, act: Callable[[], Goal]) -> Response:
        """Do it once, and answer what it made of the task; raises Refused."""

        def make() -> TaskView:
            if not self.caller.is_owner and self.goal().principal_id != self.caller.principal.id:
                raise Refused(
                    "only the key that gave an instruction, or an owner key, may change its task",
                    cure="use that key, or one with scope owner",
                )
            return task_view(self.runtime, act(), self.caller)

        return self.once.answer(body, make)


async def _order(
    api: Api, caller: Talker, agent_id: Id, task_id: Id, once: Repeatable
) -> TaskCommand:
    goal_id = goal_id_of(task_id)
    if task_id != goal_id:
        raise Invalid(
            "a single task cannot be changed, only its whole goal",
            field="task_id",
            cure=f"use the goal, {goal_id}",
        )
    return TaskCommand(api.runtime, caller, agent_id, task_id, once)


Ordered = Annotated[TaskCommand, Depends(_order)]


@router.post("", status_code=202, response_model=TaskView)
def create_task(
    api: Api, caller: Talker, agent_id: Id, once: Repeatable, body: Strict[NewTask]
) -> Response:
    """Give an instruction, which is planned and carried out in a session of its own.

    It starts at once, or after the task that the agent is working on.
    """
    budget = None if body.budget_usd is None else round(body.budget_usd * _MICRO)
    asked = NewInstruction(instruction=body.instruction, name=body.name, budget_micro_usd=budget)
    key = once.id_of("task")

    def make() -> TaskView:
        goal = instructions.start_instruction(api.runtime, agent_id, asked, _asker(caller), key=key)
        return task_view(api.runtime, goal, caller)

    return once.answer(body, make, status=202)


@router.get("")
def list_tasks(api: Api, _caller: Reader, agent_id: Id, query: Paged) -> Page[TaskSummary]:
    """List instructions and own goals, newest first."""
    after = page_place(LISTING, query.cursor) or ""
    found = instructions.goals_of_agent(
        api.runtime.home, agent_id, after=after, limit=query.limit + 1
    )
    items, cursor = page_of(LISTING, found, query.limit, lambda goal: goal.id)
    return Page(
        items=tuple(task_summary(api.runtime.home.journal, goal) for goal in items),
        next_cursor=cursor,
    )


@router.get("/{task_id}")
def get_task(api: Api, caller: Reader, agent_id: Id, task_id: Id) -> TaskView:
    """Get a task's progress.

    Only owners see thoughts, arguments and results. The id of one task of a plan returns the whole
    plan.
    """
    goal = find_goal(api.runtime.home.facts, agent_id, task_id).read(Goal)
    return task_view(api.runtime, goal, caller)


@router.post("/{task_id}/cancel", response_model=TaskView)
def cancel_task(order: Ordered, body: Strict[Reason] | None = None) -> Response:
    """Cancel a task before its next call; completed actions are not undone.

    A task that has ended is returned unchanged.
    """
    wish = body or Reason()
    return order.answer(wish, lambda: order.cancel(wish.reason))


@router.post("/{task_id}/discard", response_model=TaskView)
def discard_task(order: Ordered, body: Strict[Reason] | None = None) -> Response:
    """Cancel a task that is paused, queued or waiting for approval; 409 if it runs."""
    wish = body or Reason()

    def act() -> Goal:
        if goal_summary(order.runtime.home.journal, order.goal()).status is Standing.ACTIVE:
            raise Conflict(f"{order.task_id} is running", cure="pause it first, or cancel it")
        return order.cancel(wish.reason)

    return order.answer(wish, act)


@router.post("/{task_id}/pause", response_model=TaskView)
def pause_task(order: Ordered, body: Strict[Reason] | None = None) -> Response:
    """Pause a task before its next call, until it is resumed or cancelled."""
    wish = body or Reason()
    by = order.caller.principal.id
    return order.answer(
        wish,
        lambda: instructions.pause_goal_by_label(
            order.runtime, order.agent_id, order.task_id, by=by, reason=wish.reason
        ),
    )


@router.post("/{task_id}/resume", response_model=TaskView)
def resume_task(order: Ordered) -> Response:
    """Resume a paused task where it stopped; 409 if it has ended."""
    return order.answer(
        None, lambda: instructions.resume_goal(order.runtime, order.agent_id, order.task_id)
    )


@router.post("/{task_id}/steer", response_model=TaskView)
def steer_task(order: Ordered, body: Strict[Steering]) -> Response:
    """Send a message that the agent reads before its next step; it starts no turn."""
    key = order.once.id_of("steering")
    asker = _asker(order.caller)

    def act() -> Goal:
        runtime, agent_id, task_id = order.runtime, order.agent_id, order.task_id
        return instructions.steer_goal(runtime, agent_id, task_id, body.text, asker=asker, key=key)

    return order.answer(body, act)


def _asker(caller: Caller) -> InstructionGiver:
    principal = caller.principal
    return InstructionGiver(principal.id, principal.name, caller.source, caller.authority)
