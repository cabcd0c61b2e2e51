"""Task views: how far a task has come, as much of it as the caller may see."""

from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import Goal
from opencrab.domain.value import Value
from opencrab.engine.approvals import approvals
from opencrab.engine.goals.pausing import stored_goal
from opencrab.engine.goals.progress import (
    Asked,
    Progress,
    Standing,
    Summary,
    goal_progress,
    goal_summary,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Caller, caller_sees_approvals, named_session_only
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import Journal


class TaskSummary(Summary):
    """Status of a task, in a line."""


class Front(Value):
    """The task that the agent works on while others are queued."""

    id: str
    name: str
    status: Standing


class TaskView(Progress):
    """A task with its plan, and the progress of the turn that works on it.

    `step` counts the turn's model calls, `spent_micro_usd` is the turn's too. `current` is the
    current action or thought; `thinking` is the agent's last thought. `behind` is the task that a
    queued one waits for. `over` says that nothing here changes any more. Only owners and those who
    may decide in their place see what an approval is about.
    """

    behind: Front | None = None


def find_goal(facts: Documents, agent_id: str, label: str) -> Document:
    """The fact of a goal, by its id or by that of a task that it has; raises NotFound, Invalid."""
    fact = stored_goal(facts, agent_id, label)
    goal = fact.read(Goal)
    if label != goal.id and goal.task(label) is None:
        raise NotFound(f"{goal.id} has no task {label!r}", cure=f"look at {goal.id}")
    return fact


def task_view(runtime: Runtime, goal: Goal, caller: Caller) -> TaskView:
    """A task as this caller may see it."""
    told = goal_progress(runtime, goal, private=caller.is_owner)
    shown = TaskView(**dict(told), behind=task_in_front(runtime.home, goal))
    if told.approval is None or caller_sees_approvals(runtime.home.agents, goal.agent_id, caller):
        return shown
    return shown.replaced(approval=_redact_approval(runtime.home.facts, told.approval))


def task_summary(journal: Journal, goal: Goal) -> TaskSummary:
    """A task's line in a list."""
    return TaskSummary(**dict(goal_summary(journal, goal)))


def task_in_front(home: Home, goal: Goal) -> Front | None:
    """The task that a task in line waits for; None for one that is not in line."""
    if goal.status.is_end or goal.pause is not None:
        return None
    fact = home.facts.get(goal.agent_id, MIND, MIND)
    agenda = fact.read(AgentState).agenda if fact else Agenda()
    if agenda.current is None or goal.id not in agenda.waiting:
        return None
    try:
        front = stored_goal(home.facts, goal.agent_id, agenda.current).read(Goal)
    except NotFound:
        return None
    return Front(id=front.id, name=front.name, status=goal_summary(home.journal, front).status)


def _redact_approval(facts: Documents, asked: Asked) -> Asked:
    try:
        found = approvals.find_approval(facts, asked.approval_id)
    except NotFound:
        return asked.replaced(what="", touches="")
    return asked.replaced(what=named_session_only(found.action, found.impact.value), touches="")
