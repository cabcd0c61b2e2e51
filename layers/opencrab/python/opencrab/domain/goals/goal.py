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
from opencrab.domain.goals.value_estimate import Horizon, Satisfaction, Worth
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
"""Kind of the facts that hold goals; a fact's id is its goal's `goal_key`."""

FEWEST_TASKS, MOST_TASKS = 5, 10
OPEN_GOALS = 20
"""Goals of one agent that have not ended."""

RECEIPTS = 20

DEPTH, CHILDREN = 2, 3
"""How far goals may beget goals, and how many each: one instruction is at most 13 of them."""

TaskId = Annotated[str, StringConstraints(pattern=r"^G[1-9][0-9]{0,5}-T[1-9][0-9]?$")]
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _on_one_line(text: object) -> object:
    """Names of goals and tasks are told in one line each, whatever a model put into them."""
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
        """Whether nothing more will be done for it."""
        return self in {GoalStatus.COMPLETED, GoalStatus.ABANDONED}


class TaskStatus(StrEnum):
    """Status of a task."""

    PENDING = "pending"
    ACTIVE = "active"
    DONE = "done"
    FAIL = "fail"

    @property
    def is_end(self) -> bool:
        """Whether it is over, one way or the other."""
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
    """Something that the journal knows to have happened: an action that succeeded."""

    action: str
    path: str | None = None
    turn_id: str = ""


class PlannedTask(Value):
    """A task as an agent plans it; `depends_on` are places in the plan, the first one is 1."""

    name: Line
    precondition: Line = Field(description="True before")
    postcondition: Line = Field(description="True after")
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
        """Whether the journal knows of anything that was done for it."""
        return bool(self.receipts)


class Pause(Value):
    """Why a goal waits, who said so, and whether its turn waits too (else it has ended)."""

    reason: ShortText
    by: str
    at: datetime
    turn_waits: bool = False


class Goal(Value):
    """What is to be reached, with its tasks and its report.

    `given` says that the instruction is somebody's own words, and not how an agent put them.
    `channel` is where it was given, if that is told how far it has come.
    `turn_id` is the turn that works on it now, `runs` how many turns did, and `spent` what those
    that ended have cost. `taint` is sticky: a plan that was made from foreign words stays one.
    `depth` is how many goals it descends from, `children` how many it begot. `revision` counts its
    plans: those that it gave up are kept beside it; while it is `stuck` it waits for the next one.
    `rests_until` is before when no heartbeat goes on with it, `claim` how its report says it went.
    `reputation` is what the agent counted in its world when the goal began.
    """

    id: GoalId
    agent_id: Identifier
    session_id: Identifier
    name: Line
    instruction: Received = ""
    given: bool = False
    source: GoalSource = GoalSource.OWNER
    horizon: Horizon = Horizon.OBJECTIVE
    worth: Worth = Field(default_factory=Worth)
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
        """What its next turns may cost; None where nobody set a limit."""
        if self.budget_micro_usd is None:
            return None
        return max(self.budget_micro_usd - self.spent_micro_usd, 0)

    @property
    def risk(self) -> Unit:
        """The greatest risk among its tasks; 0 while there is no plan."""
        return max((task.risk for task in self.tasks), default=0.0)

    @property
    def current(self) -> Task | None:
        """The task that is being carried out."""
        return next((task for task in self.tasks if task.status is TaskStatus.ACTIVE), None)

    @property
    def next_task(self) -> Task | None:
        """The task to carry out next: the active one, else the first pending one; none if stuck."""
        if self.stuck:
            return None
        pending = (task for task in self.tasks if task.status is TaskStatus.PENDING)
        return self.current or next(pending, None)

    @property
    def label(self) -> str:
        """What a turn for this goal serves now: a task, or the goal itself."""
        task = self.next_task
        return task.id if task else self.id

    def task(self, task_id: str) -> Task | None:
        """The task of this id, if it is one of this goal's."""
        return next((task for task in self.tasks if task.id == task_id), None)

    def with_task(self, changed: Task) -> "Goal":
        """The goal with one of its tasks changed."""
        tasks = tuple(changed if task.id == changed.id else task for task in self.tasks)
        return self.replaced(tasks=tasks)


_GOAL_OF = re.compile(r"^(G[1-9][0-9]{0,5})(-T[1-9][0-9]?)?$")


def goal_id_of(label: str) -> str:
    """The goal that a label such as G1 or G1-T2 belongs to; raises Invalid for anything else."""
    found = _GOAL_OF.match(label)
    if found is None:
        raise Invalid(
            f"{label[:40]!r} is not a valid goal or task ID", cure="use one like G1 or G1-T2"
        )
    return found[1]


def goal_key(goal_id: str) -> str:
    """The id of the fact that holds a goal: as text it sorts like the goals' numbers."""
    return f"{int(goal_id[1:]):06d}"


def with_plan(goal: Goal, tasks: tuple[PlannedTask, ...]) -> Goal:
    """The goal with its tasks, fixed from now on.

    Raises Invalid for a plan that is empty, too short or long, or cyclic.
    """
    if goal.tasks:
        raise Invalid(
            f"{goal.id} has its plan already, and it is fixed until every task is done or failed",
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
    """Tasks as they are carried out, their numbers after one; raises Invalid for a cyclic plan."""
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
    """Places of the tasks, each after those that it depends on, else as they were given."""
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


def task_completion_percent(tasks: Iterable[Task]) -> int:
    """Share of tasks that are done, in whole percent; computed whenever it is shown."""
    listed = tuple(tasks)
    done = sum(task.status is TaskStatus.DONE for task in listed)
    return 100 * done // len(listed) if listed else 100


def task_message(task: Task) -> str:
    """How a task's end is told."""
    if task.status is TaskStatus.FAIL:
        return f"[{task.id}] FAIL {task.name} / {task.cause}"
    return f"[{task.id}] DONE {task.name}"


def goal_message(goal: Goal) -> str:
    """How a goal's end is told."""
    return f"[{goal.id}] DONE {goal.name} / {task_completion_percent(goal.tasks)}%"
