"""Goals and their tasks: what is to be reached, in which steps, and how far that has come."""

import re
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from unicodedata import category

from pydantic import BeforeValidator, Field, StringConstraints

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import Channel
from opencrab.domain.errors import Invalid
from opencrab.domain.goals.value_estimate import Horizon, Satisfaction, ValueEstimate
from opencrab.domain.outcome import Outcome
from opencrab.domain.value import (
    GoalId,
    Identifier,
    MicroUsd,
    Received,
    ShortText,
    Stripped,
    Unit,
    Value,
)

GOAL = "goal"
"""The kind of documents that store goals; the id is the goal's `goal_key`."""

FEWEST_TASKS, MOST_TASKS = 5, 10
OPEN_GOALS = 20
"""The limit of goals of one agent that have not ended."""

RECEIPTS = 20

DEPTH, CHILDREN = 2, 3
"""The limits of levels of subgoals, and of subgoals of one goal: one instruction makes at most 13.
"""

TaskId = Annotated[str, StringConstraints(pattern=r"^G[1-9][0-9]{0,5}-T[1-9][0-9]?$")]
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _on_one_line(text: object) -> object:
    """Join a name to one line without invisible characters: it is shown in one line."""
    if not isinstance(text, str):
        return text
    kept = (" " if c.isspace() or category(c) in _INVISIBLE else c for c in text)
    return " ".join("".join(kept).split())


Line = Annotated[
    Stripped, StringConstraints(min_length=1, max_length=300), BeforeValidator(_on_one_line)
]


class GoalStatus(StrEnum):
    """Status of a goal; an open one is pending or active."""

    PENDING = "pending"
    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"

    @property
    def is_end(self) -> bool:
        """True if no more work is done for the goal."""
        return self in {GoalStatus.COMPLETED, GoalStatus.ABANDONED}


class TaskStatus(StrEnum):
    """Status of a task."""

    PENDING = "pending"
    ACTIVE = "active"
    DONE = "done"
    FAIL = "fail"

    @property
    def is_end(self) -> bool:
        """True if the task is done or failed."""
        return self in {TaskStatus.DONE, TaskStatus.FAIL}


class GoalSource(StrEnum):
    """Source of a goal."""

    OWNER = "owner"
    SURVIVAL = "survival"
    ROLE = "role"
    OPPORTUNITY = "opportunity"
    CURIOSITY = "curiosity"
    SOCIAL = "social"


class ActionReceipt(Value):
    """An action of the journal that succeeded, as evidence for work done."""

    action: str
    path: str | None = None
    turn_id: str = ""


class PlannedTask(Value):
    """A task as an agent plans it; `depends_on` are positions in the plan, the first is 1."""

    name: Line
    precondition: Line
    postcondition: Line
    depends_on: tuple[Annotated[int, Field(ge=1, le=MOST_TASKS)], ...] = ()
    estimated_turns: Annotated[int, Field(ge=1, le=20)] = 1
    estimated_cost_usd: Annotated[float, Field(ge=0, le=1_000)] = 0.0
    risk: Unit = 0.5


class Task(Value):
    """One piece of work of a goal."""

    id: TaskId
    name: Line
    precondition: Line
    postcondition: Line
    depends_on: tuple[TaskId, ...] = ()
    estimated_turns: int = 1
    estimated_micro_usd: MicroUsd = 0
    risk: Unit = 0.5
    status: TaskStatus = TaskStatus.PENDING
    turns: int = 0
    cause: ShortText = ""
    result: Received = ""
    receipts: tuple[ActionReceipt, ...] = ()
    turn_id: str | None = None
    ended_at: datetime | None = None

    @property
    def confirmed(self) -> bool:
        """True if the journal has a successful action for the task."""
        return bool(self.receipts)


class Pause(Value):
    """The reason why a goal waits, who set it, and whether its turn waits too (else it ended)."""

    reason: ShortText
    by: str
    at: datetime
    turn_waits: bool = False


class Goal(Value):
    """An objective or aspiration of an agent, with its tasks and its report.

    `given` says that the instruction is a person's own words, not an agent's wording. `channel` is
    where it was given, if progress is reported there. `turn_id` is the turn that works on it now,
    `runs` how many turns did, and `spent_micro_usd` the cost of those that ended. `taint` is never
    reset: a plan made from untrusted words stays tainted. `depth` is how many goals it descends
    from, `children` how many goals it created. `revision` counts its plans: abandoned ones are
    stored apart; while it is `stuck` it waits for the next plan. No heartbeat continues it before
    `rests_until`, `claim` is the outcome that its report states. `reputation` is the agent's
    reputation in its world when the goal began.
    """

    id: GoalId
    agent_id: Identifier
    session_id: Identifier
    name: Line
    instruction: Received = ""
    given: bool = False
    source: GoalSource = GoalSource.OWNER
    horizon: Horizon = Horizon.OBJECTIVE
    worth: ValueEstimate = Field(default_factory=ValueEstimate)
    deadline: datetime | None = None
    status: GoalStatus = GoalStatus.PENDING
    tasks: tuple[Task, ...] = ()
    authority: Authority = Authority.OWNER
    door: Source = Source.REST
    channel: Channel | None = None
    principal_id: Identifier
    principal_name: str = ""
    taint: bool = False
    budget_micro_usd: MicroUsd | None = None
    spent_micro_usd: MicroUsd = 0
    depth: int = 0
    children: int = 0
    pause: Pause | None = None
    turn_id: str | None = None
    runs: int = 0
    revision: int = 1
    stuck: ShortText = ""
    rests_until: datetime | None = None
    claim: Outcome | None = None
    reputation: Unit | None = None
    satisfaction: Satisfaction | None = None
    report: Received = ""
    unconfirmed: tuple[Received, ...] = ()
    receipts: tuple[ActionReceipt, ...] = ()
    created_at: datetime
    ended_at: datetime | None = None

    @property
    def left_micro_usd(self) -> MicroUsd | None:
        """The budget left for its next turns; None if it has no limit."""
        if self.budget_micro_usd is None:
            return None
        return max(self.budget_micro_usd - self.spent_micro_usd, 0)

    @property
    def risk(self) -> Unit:
        """The greatest risk among its tasks, 0 to 1; 0 without a plan."""
        return max((task.risk for task in self.tasks), default=0.0)

    @property
    def current(self) -> Task | None:
        """The task that is being carried out, or None."""
        return next((task for task in self.tasks if task.status is TaskStatus.ACTIVE), None)

    @property
    def next_task(self) -> Task | None:
        """The task to carry out next: the active one, else the first pending one; None if stuck."""
        if self.stuck:
            return None
        pending = (task for task in self.tasks if task.status is TaskStatus.PENDING)
        return self.current or next(pending, None)

    @property
    def label(self) -> str:
        """The id of the task that a turn works on now, else the goal's id."""
        task = self.next_task
        return task.id if task else self.id

    @property
    def has_only_words(self) -> bool:
        """True if it was completed and the journal has no action that was done for it."""
        return self.status is GoalStatus.COMPLETED and not self.has_deeds

    @property
    def has_deeds(self) -> bool:
        """True if an action was done for it, or it was divided into subgoals."""
        return bool(self.receipts or self.children) or any(task.confirmed for task in self.tasks)

    @property
    def completion_percent(self) -> int:
        """The share of tasks that are done, in whole percent; without a plan 0 until it ends well.

        It stays 0 if nothing was done for it.
        """
        if self.has_only_words or not (self.tasks or self.status is GoalStatus.COMPLETED):
            return 0
        return _goal_task_completion_percent(self.tasks)

    def task(self, task_id: str) -> Task | None:
        """Return the task with this id, or None if the goal does not have it."""
        return next((task for task in self.tasks if task.id == task_id), None)

    def with_task(self, changed: Task) -> "Goal":
        """Return the goal with one of its tasks replaced."""
        tasks = tuple(changed if task.id == changed.id else task for task in self.tasks)
        return self.replaced(tasks=tasks)


_GOAL_OF = re.compile(r"^(G[1-9][0-9]{0,5})(-T[1-9][0-9]?)?$")


def goal_id_of_label(label: str) -> str:
    """Return the goal id in a label such as G1 or G1-T2; raises Invalid for anything else."""
    found = _GOAL_OF.match(label)
    if found is None:
        raise Invalid(
            f"{label[:40]!r} is not a valid goal or task ID", cure="use one like G1 or G1-T2"
        )
    return found[1]


def goal_document_id(goal_id: str) -> str:
    """Return the id of the document that holds a goal: as text it sorts like the goals' numbers."""
    return f"{int(goal_id[1:]):06d}"


def with_plan(goal: Goal, tasks: tuple[PlannedTask, ...]) -> Goal:
    """Return the goal with its plan, which is fixed from now on.

    Raises Invalid if the goal already has one, or if the plan is too short, too long or cyclic.
    """
    if goal.tasks:
        raise Invalid(
            f"goal {goal.id} already has a plan, fixed until every task is done or failed",
            cure="complete its tasks, or fail them",
        )
    if not FEWEST_TASKS <= len(tasks) <= MOST_TASKS:
        many = "is empty" if not tasks else f"has {len(tasks)} tasks"
        raise Invalid(
            f"the plan {many}; a goal has {FEWEST_TASKS} to {MOST_TASKS}",
            field="tasks",
            cure="split or merge tasks; smaller work needs no plan: do it and report",
        )
    return goal.replaced(tasks=number_tasks(goal.id, tasks))


def number_tasks(
    goal_id: str, tasks: tuple[PlannedTask, ...], *, after: int = 0
) -> tuple[Task, ...]:
    """Return the planned tasks in the order of their dependencies, numbered from `after` + 1.

    Raises Invalid for a cyclic plan, or a dependency that is not in it.
    """
    order = _dependency_order(tasks)
    places = {place: number for number, place in enumerate(order, after + 1)}
    return tuple(_task(goal_id, places, tasks[place - 1], place) for place in order)


def _task(goal_id: str, places: dict[int, int], task: PlannedTask, place: int) -> Task:
    return Task(
        id=f"{goal_id}-T{places[place]}",
        name=task.name,
        precondition=task.precondition,
        postcondition=task.postcondition,
        depends_on=tuple(f"{goal_id}-T{places[other]}" for other in task.depends_on),
        estimated_turns=task.estimated_turns,
        estimated_micro_usd=round(task.estimated_cost_usd * 1_000_000),
        risk=task.risk,
    )


def _dependency_order(tasks: tuple[PlannedTask, ...]) -> list[int]:
    """Return the positions of the tasks, each after those that it depends on, else as given.

    Raises Invalid for a cycle or a dependency that is not in the plan.
    """
    left, order = list(range(1, len(tasks) + 1)), list[int]()
    for place, task in enumerate(tasks, 1):
        wrong = [other for other in task.depends_on if other > len(tasks) or other == place]
        if wrong:
            raise Invalid(
                f"task {place} depends on task {wrong[0]}, which is "
                + ("itself" if wrong[0] == place else "not in the plan"),
                field="depends_on",
                cure="use the numbers of other tasks of this plan",
            )
    while left:
        ready = next((p for p in left if set(tasks[p - 1].depends_on) <= set(order)), None)
        if ready is None:
            cycle = ", ".join(map(str, left))
            raise Invalid(
                f"the plan is cyclic: tasks {cycle} depend on each other",
                field="depends_on",
                cure="remove one of the dependencies",
            )
        left.remove(ready)
        order.append(ready)
    return order


def _goal_task_completion_percent(tasks: Iterable[Task]) -> int:
    """Compute the share of tasks that are done, in whole percent; 100 without tasks."""
    listed = tuple(tasks)
    done = sum(task.status is TaskStatus.DONE for task in listed)
    return 100 * done // len(listed) if listed else 100


def goal_task_message(task: Task) -> str:
    """Format the message about a task's end."""
    if task.status is TaskStatus.FAIL:
        return f"[{task.id}] FAIL {task.name} / {task.cause}"
    return f"[{task.id}] DONE {task.name}"


def goal_message(goal: Goal) -> str:
    """Format the message about a goal's end; `ANSWERED` says that no action was done for it."""
    end = "ANSWERED" if goal.has_only_words else "DONE"
    return f"[{goal.id}] {end} {goal.name} / {goal.completion_percent}%"
