"""Purpose, goals and tasks: deciding what is to be reached, and saying what became of it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.action import (
    ActionResult,
    Effect,
    GoalBegun,
    GoalEnded,
    Impact,
    Spoke,
    TaskEnded,
)
from opencrab.domain.authority import Authority
from opencrab.domain.errors import Conflict, Invalid, NotFound, Refused
from opencrab.domain.fact import Fact, new_fact
from opencrab.domain.goal import (
    CHILDREN,
    DEPTH,
    GOAL,
    OPEN_GOALS,
    RECEIPTS,
    Goal,
    GoalId,
    GoalSource,
    GoalStatus,
    Line,
    PlannedTask,
    Receipt,
    Task,
    TaskId,
    TaskStatus,
    completion,
    goal_key,
    goal_message,
    goal_of,
    planned,
    task_message,
)
from opencrab.domain.identifier import stable_id
from opencrab.domain.mind import MIND, Mind
from opencrab.domain.value import Language, ShortText, Text, Value
from opencrab.ports.action import ActionContext

group = Group("planning")

_MILLION = 1_000_000
_UNCONFIRMED = {Language.EN: "Unconfirmed", Language.JA: "未確認"}
_RESULTS = {Language.EN: "Results", Language.JA: "結果"}
_NOTHING = {
    Language.EN: "success (the journal knows of no action for it)",
    Language.JA: "成功 (記録に残る行動がありません)",
}
_FAILED = {
    Language.EN: "success (not every task is done)",
    Language.JA: "成功 (終わっていないタスクがあります)",
}


Claim = Annotated[ShortText, Field(max_length=300)]


class SetPurpose(Value):
    purpose: Annotated[ShortText, Field(min_length=1, max_length=500)]


class AddGoal(Value):
    name: Line
    description: ShortText = ""


class PlanGoal(Value):
    goal_id: GoalId
    tasks: Annotated[tuple[PlannedTask, ...], Field(max_length=50)]


class StartTask(Value):
    task_id: Annotated[str, Field(max_length=20, description="G1 or G1-T2")]


class FinishTask(Value):
    task_id: TaskId
    result: Annotated[Text, Field(min_length=1, max_length=1_500)]


class FailTask(Value):
    task_id: TaskId
    cause: Line


class Report(Value):
    summary: Annotated[Text, Field(min_length=1, max_length=8_000)]
    results: Annotated[tuple[Claim, ...], Field(max_length=30)] = Field(
        (), description="Paths of files that were made or changed"
    )
    outcome: Literal["success", "failure", "partial"] = "success"


def _purpose_impact(_arguments: SetPurpose, context: ActionContext) -> Impact:
    """A purpose is part of every later prompt: foreign words get there only if a human agrees."""
    return Impact.SHARED if context.turn.taint else Impact.SELF


def _version(_arguments: SetPurpose, context: ActionContext) -> dict[str, Any]:
    return {"version": context.reach.agents.get(context.agent.id).agent.version}


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Take as purpose: {purpose}", "目的にする: {purpose}"),
    ja="自分の目的を定めます。オーナーに尋ねて決めます。",
    prepare=_version,
    impact_of=_purpose_impact,
)
def set_purpose(arguments: SetPurpose, context: ActionContext) -> ActionResult:
    """Set your purpose, as your owner told you."""
    if context.turn.authority is not Authority.OWNER:
        raise Invalid("only the owner gives a purpose", cure="ask your owner what it is to be")
    agent = context.reach.agents.get(context.agent.id).agent
    if agent.purpose != arguments.purpose:
        if agent.version != context.prepared["version"]:
            raise Conflict("somebody changed you meanwhile", cure="look again, then decide")
        changed = agent.replaced(purpose=arguments.purpose, updated_at=context.clock.now())
        context.reach.agents.save(changed)
    return ActionResult.done(purpose=arguments.purpose)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Add the goal: {name}", "目標を加える: {name}"),
    ja="目標を加えます。続けて plan_goal で計画し、start_task で始めます。",
)
def add_goal(arguments: AddGoal, context: ActionContext) -> ActionResult:
    """Add a goal; then plan it with plan_goal and begin with start_task."""
    stored = context.reach.facts.get(context.agent.id, MIND, MIND)
    fact = stored or Fact(owner=context.agent.id, kind=MIND, id=MIND, version=0, body={})
    mind = fact.read(Mind)
    agenda = mind.agenda
    if len(agenda.open) >= OPEN_GOALS:
        raise Conflict(f"you have {OPEN_GOALS} open goals", cure="reach or give up one first")
    parent = _parent(context)
    turn, number = context.turn, agenda.last_number + 1
    goal = Goal(
        id=f"G{number}",
        agent_id=context.agent.id,
        session_id=stable_id("task", context.agent.id, context.key),
        name=arguments.name,
        instruction=arguments.description,
        source=GoalSource.ROLE if turn.authority is Authority.SELF else GoalSource.OWNER,
        authority=turn.authority,
        door=turn.source,
        principal_id=turn.principal_id,
        taint=turn.taint,
        created_at=context.clock.now(),
    )
    result = ActionResult.done(goal_id=goal.id, name=goal.name)
    if parent is not None:
        above = parent.read(Goal)
        goal = goal.replaced(depth=above.depth + 1, budget_micro_usd=above.left_micro_usd)
        result = result.keeping(parent.holding(above.replaced(children=above.children + 1)))
    grown = agenda.replaced(last_number=number, open=(*agenda.open, goal.id))
    return result.keeping(
        fact.holding(mind.replaced(agenda=grown)),
        new_fact(goal.agent_id, GOAL, goal_key(goal.id), goal),
    )


def _parent(context: ActionContext) -> Fact | None:
    """The goal that this turn serves, which is to beget another one; raises Refused beyond that."""
    if context.goal is None:
        return None
    fact, goal = _open_goal(context, context.goal.id)
    if goal.depth >= DEPTH or goal.children >= CHILDREN:
        raise Refused(
            f"{goal.id} may not lead to more goals",
            cure="do what is left in its own tasks, or say in the report what is still to do",
        )
    return fact


def _begins(_arguments: PlanGoal, result: ActionResult) -> bool:
    return bool((result.data or {}).get("begins"))


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Plan {goal_id}", "{goal_id}の計画を立てる"),
    ja="目標を5から10のタスクに分けます。各タスクに、前に必要なことと、後に成り立つことを書きます。"
    "計画は後から変えられません。",
    ends_turn=_begins,
)
def plan_goal(arguments: PlanGoal, context: ActionContext) -> ActionResult:
    """Split a goal into 5 to 10 tasks, each with what must be true before and after; for good."""
    fact, goal = _own_goal(context, arguments.goal_id)
    with_plan = planned(goal, arguments.tasks)
    _require_affordable(context, with_plan)
    own = context.goal is not None and context.goal.id == goal.id
    with_plan = with_plan.replaced(taint=goal.taint or context.turn.taint)
    return ActionResult.done(
        goal_id=goal.id,
        tasks=[{"id": task.id, "name": task.name} for task in with_plan.tasks],
        begins=own,
        next="the tasks begin now, each in a turn of its own" if own else "start_task begins it",
    ).keeping(fact.holding(with_plan))


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Begin with {task_id}", "{task_id}を始める"),
    ja="目標のタスクに取りかかります。この番のあとで、順番に始まります。",
)
def start_task(arguments: StartTask, context: ActionContext) -> ActionResult:
    """Begin to carry out a goal: its tasks run in order, after this turn and goals before it."""
    _, goal = _own_goal(context, goal_of(arguments.task_id))
    if goal.runs:
        raise Conflict(f"{goal.id} has begun already")
    if goal.pause is not None:
        raise Conflict(f"{goal.id} waits: {goal.pause.reason}", cure="somebody must resume it")
    return ActionResult.done(GoalBegun(goal=goal.id), goal_id=goal.id, begins="after this turn")


def _more_tasks(_arguments: FinishTask | FailTask, result: ActionResult) -> bool:
    return bool((result.data or {}).get("tasks_left"))


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Finish {task_id}: {result}", "{task_id}を終える: {result}"),
    ja="いまのタスクが終わったことと、その結果を記録します。",
    ends_turn=_more_tasks,
)
def finish_task(arguments: FinishTask, context: ActionContext) -> ActionResult:
    """Record that your current task is done, and its result."""
    return _task_ended(context, arguments, status=TaskStatus.DONE, result=arguments.result)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Give {task_id} up: {cause}", "{task_id}をあきらめる: {cause}"),
    ja="いまのタスクができなかったことと、その原因を記録します。次のタスクに進みます。",
    ends_turn=_more_tasks,
)
def fail_task(arguments: FailTask, context: ActionContext) -> ActionResult:
    """Record that your current task cannot be done, and why; the next task begins."""
    return _task_ended(context, arguments, status=TaskStatus.FAIL, cause=arguments.cause)


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    sentences=("Report", "報告する"),
    ja="目標の結果を報告して終えます。results には実際に作ったファイルだけを書きます。",
    ends_turn=True,
)
def report(arguments: Report, context: ActionContext) -> ActionResult:
    """Report what came of your goal, and end it. In `results` name only files that you made."""
    if context.goal is None:
        raise Invalid("this turn serves no goal", cure="answer in plain words")
    fact, goal = _open_goal(context, context.goal.id)
    left = [task.id for task in goal.tasks if not task.status.is_end]
    if left:
        raise Invalid(
            f"{', '.join(left)} are not over", cure="finish or fail the current task first"
        )
    receipts = _together(goal.receipts, context)
    known = tuple(dict.fromkeys((*(r for task in goal.tasks for r in task.receipts), *receipts)))
    language = context.agent.language
    unconfirmed = _unconfirmed(arguments, goal, known, language)
    ended = goal.replaced(
        status=GoalStatus.COMPLETED,
        receipts=receipts,
        unconfirmed=unconfirmed,
        ended_at=context.clock.now(),
    )
    text = _told(arguments, ended, known, language)
    ended = ended.replaced(report=text)
    effect = GoalEnded(goal=goal.id, message=goal_message(ended))
    return ActionResult.done(
        Spoke(text=text), effect, reported=True, unconfirmed=list(unconfirmed)
    ).keeping(fact.holding(ended))


def _open_goal(context: ActionContext, goal_id: str) -> tuple[Fact, Goal]:
    fact = context.reach.facts.get(context.agent.id, GOAL, goal_key(goal_id))
    if fact is None:
        raise NotFound(f"there is no goal {goal_id!r}", cure="add it with add_goal")
    goal = fact.read(Goal)
    if goal.status.is_end:
        raise Conflict(f"{goal.id} has ended", cure="add a new goal")
    return fact, goal


def _own_goal(context: ActionContext, goal_id: str) -> tuple[Fact, Goal]:
    """A goal that whoever is behind this turn may plan and begin; raises Refused for another's."""
    fact, goal = _open_goal(context, goal_id)
    turn = context.turn
    serves = context.goal is not None and context.goal.id == goal.id
    same = (goal.authority, goal.principal_id) == (turn.authority, turn.principal_id)
    if not (serves or same or turn.authority is Authority.OWNER):
        raise Refused(f"{goal.id} is somebody else's goal", cure="add a goal of your own")
    return fact, goal


def _current(context: ActionContext, task_id: str) -> tuple[Fact, Goal, Task]:
    """The task that this turn serves; nobody ends another one."""
    if context.goal is None:
        raise Invalid("this turn serves no task", cure="start_task begins one")
    fact, goal = _open_goal(context, context.goal.id)
    task = goal.current
    if task is None or task.id != task_id or task.turn_id != context.turn.id:
        current = task.id if task else "none"
        raise Invalid(f"your current task is {current}, not {task_id!r}", field="task_id")
    return fact, goal, task


def _task_ended(
    context: ActionContext, arguments: FinishTask | FailTask, **end: Any
) -> ActionResult:
    """The turn's own task as it ended, with what the journal knows to have been done for it."""
    fact, goal, current = _current(context, arguments.task_id)
    receipts = _together(current.receipts, context)
    task = current.replaced(receipts=receipts, ended_at=context.clock.now(), **end)
    changed = goal.with_task(task).replaced(taint=goal.taint or context.turn.taint)
    following = changed.next_task
    effect = TaskEnded(task=task.id, status=task.status.value, message=task_message(task))
    return ActionResult.done(
        effect,
        task_id=task.id,
        status=task.status.value,
        tasks_left=sum(not other.status.is_end for other in changed.tasks),
        next=f"{following.id} begins in its own turn" if following else "call report now",
    ).keeping(fact.holding(changed))


def _together(earlier: tuple[Receipt, ...], context: ActionContext) -> tuple[Receipt, ...]:
    return tuple(dict.fromkeys((*earlier, *context.receipts)))[:RECEIPTS]


def _require_affordable(context: ActionContext, goal: Goal) -> None:
    """Refuse a plan that would cost more than there is, by its own estimates."""
    estimated = sum(task.estimated_micro_usd for task in goal.tasks)
    limits = (goal.left_micro_usd, context.agent.day_limit_micro_usd)
    most = min((limit for limit in limits if limit is not None), default=None)
    if most is not None and estimated > most:
        raise Invalid(
            f"the plan is estimated at ${estimated / _MILLION:.2f}, and there are "
            f"${most / _MILLION:.2f}",
            field="tasks",
            cure="plan less, or cheaper",
        )


def _unconfirmed(
    arguments: Report, goal: Goal, known: tuple[Receipt, ...], language: Language
) -> tuple[str, ...]:
    """What the report claims and the journal does not know."""
    paths = {receipt.path for receipt in known if receipt.path is not None}
    claims = [path for path in arguments.results if path.strip().removeprefix("./") not in paths]
    if arguments.outcome == "success":
        if any(task.status is not TaskStatus.DONE for task in goal.tasks):
            claims.append(_FAILED[language])
        elif not known:
            claims.append(_NOTHING[language])
    return tuple(claims)


def _told(arguments: Report, goal: Goal, known: tuple[Receipt, ...], language: Language) -> str:
    """The report as people read it: the agent's words, then what the journal knows."""
    rows = [arguments.summary.strip(), "", *map(task_message, goal.tasks)]
    rows.append(f"[{goal.id}] {goal.name} / {completion(goal.tasks)}%")
    paths = list(dict.fromkeys(receipt.path for receipt in known if receipt.path))
    if paths:
        rows.append(f"{_RESULTS[language]}: {', '.join(paths)}")
    if goal.unconfirmed:
        rows.append(f"{_UNCONFIRMED[language]}: {', '.join(goal.unconfirmed)}")
    return "\n".join(rows)
