"""Task views: how far a task has come, as much of it as the caller may see."""

from functools import partial

from opencrab.domain.access.policy import Area, Verb
from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.approvals.call_text import name_of_call_for_approval
from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import Goal
from opencrab.domain.value import Value
from opencrab.engine.access.list_cursor import principal_place_hider
from opencrab.engine.access.visibility import (
    collect_items_with_access,
    goals_principal_may_access,
    require_access_to_agent,
    require_access_to_goal,
)
from opencrab.engine.approvals import approvals
from opencrab.engine.goals.instructions import page_of_goals
from opencrab.engine.goals.pausing import goal_not_found_error, require_goal_document
from opencrab.engine.goals.progress import (
    GoalSummary,
    PendingApproval,
    Progress,
    Standing,
    goal_progress,
    goal_summary,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Caller, may_http_caller_see_details
from opencrab.gateways.rest.http.page import (
    PageQuery,
    http_cursor_after,
    unhidden_place_in_http_cursor,
)
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import Journal


class TaskSummary(GoalSummary):
    """Status of a task, in a line."""


class BlockingTask(Value):
    """The task that the agent works on while others are queued.

    `id` and `name` are empty if it is another person's.
    """

    id: str
    name: str
    status: Standing


class TaskView(Progress):
    """A task with its plan, and the progress of the turn that works on it.

    `step` counts the turn's model calls, `spent_micro_usd` is the turn's too. `current` is the
    current action or thought; `thinking` is the agent's last thought. `behind` is the task that a
    queued one waits for. `over` is true once the task has ended and no longer changes. Only owners
    and delegates see what an approval is about.
    """

    behind: BlockingTask | None = None


def find_goal(facts: Documents, agent_id: str, label: str) -> Document:
    """Find the stored goal with this id, or with a task of this id; raises NotFound, Invalid."""
    fact = require_goal_document(facts, agent_id, label)
    goal = fact.read(Goal)
    if label != goal.id and goal.task(label) is None:
        raise NotFound(
            f"goal {goal.id} has no task {label!r}", cure=f"read the tasks of goal {goal.id}"
        )
    return fact


def find_visible_goal(
    home: Home, caller: Caller, agent_id: str, label: str, verb: Verb = Verb.READ
) -> Goal:
    """Find the goal with this id or task; raises NotFound for one that the caller does not see."""
    stored = require_goal_document(home.facts, agent_id, label).read(Goal)
    missing = partial(goal_not_found_error, agent_id, label)
    require_access_to_goal(home, caller.principal, stored, missing, verb)
    return find_goal(home.facts, agent_id, label).read(Goal)


def page_of_visible_goals(
    runtime: Runtime, caller: Caller, agent_id: str, listing: str, query: PageQuery
) -> tuple[list[Goal], str | None]:
    """Return a page of an agent's goals that the caller sees, newest first, and its cursor.

    Raises NotFound for an agent that the caller does not see, unless it sees one of its goals.
    """
    home = runtime.home
    items, place = collect_items_with_access(
        lambda after, limit: page_of_goals(home, agent_id, after=after, limit=limit),
        lambda goals: goals_principal_may_access(home, caller.principal, goals),
        lambda goal: goal.id,
        after=unhidden_place_in_http_cursor(runtime, listing, query.cursor),
        limit=query.limit,
        hide=principal_place_hider(runtime, listing),
    )
    if not items:
        require_access_to_agent(caller.principal, agent_id, Area.PROFILE)
    return items, http_cursor_after(listing, place)


def goal_task_view(runtime: Runtime, goal: Goal, caller: Caller) -> TaskView:
    """Return a task as this caller may see it."""
    told = goal_progress(runtime, goal, private=caller.is_owner)
    shown = TaskView(**dict(told), behind=_visible_front(runtime.home, goal, caller))
    if told.approval is None or may_http_caller_see_details(
        runtime.home.agents, goal.agent_id, caller
    ):
        return shown
    return shown.replaced(approval=_redact_approval(runtime.home.facts, told.approval))


def goal_task_summary(journal: Journal, goal: Goal) -> TaskSummary:
    """Return a task's entry in a list."""
    return TaskSummary(**dict(goal_summary(journal, goal)))


def _visible_front(home: Home, goal: Goal, caller: Caller) -> BlockingTask | None:
    """Return the task in front; without its name if the caller does not see that task."""
    front = _goal_in_front(home, goal)
    if front is None:
        return None
    shown = _front(home, front)
    hidden = not goals_principal_may_access(home, caller.principal, (front,))
    return shown.replaced(id="", name="") if hidden else shown


def task_in_front(home: Home, goal: Goal) -> BlockingTask | None:
    """Return the task that a queued task waits for; None if it is not queued."""
    front = _goal_in_front(home, goal)
    return None if front is None else _front(home, front)


def _front(home: Home, goal: Goal) -> BlockingTask:
    return BlockingTask(id=goal.id, name=goal.name, status=goal_summary(home.journal, goal).status)


def _goal_in_front(home: Home, goal: Goal) -> Goal | None:
    if goal.status.is_end or goal.pause is not None:
        return None
    fact = home.facts.get(goal.agent_id, MIND, MIND)
    agenda = fact.read(AgentState).agenda if fact else Agenda()
    if agenda.current is None or goal.id not in agenda.waiting:
        return None
    try:
        return require_goal_document(home.facts, goal.agent_id, agenda.current).read(Goal)
    except NotFound:
        return None


def _redact_approval(facts: Documents, asked: PendingApproval) -> PendingApproval:
    try:
        found = approvals.find_approval(facts, asked.approval_id)
    except NotFound:
        return asked.replaced(what="", touches="")
    return asked.replaced(
        what=name_of_call_for_approval(found.action, found.impact.value), touches=""
    )
