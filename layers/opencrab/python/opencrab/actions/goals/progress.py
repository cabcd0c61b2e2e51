"""Ending tasks and goals: the result of each task, and the report on the goal."""

from typing import Annotated, Any, Literal

from pydantic import Field

from opencrab.actions.goals.plan import find_open_goal_for_action, group
from opencrab.domain.access.impact import Impact
from opencrab.domain.document import Document
from opencrab.domain.errors import Invalid
from opencrab.domain.goals.condition import first_unmet_goal_condition
from opencrab.domain.goals.goal import (
    RECEIPTS,
    ActionReceipt,
    Goal,
    GoalStatus,
    Line,
    Task,
    TaskId,
    TaskStatus,
    goal_message,
    goal_task_message,
)
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.action import ActionResult, Effect, GoalEnded, SpeechSent, TaskEnded
from opencrab.domain.turn.success_condition import first_condition_unmet_by_turns
from opencrab.domain.value import Language, ShortText, Text, Value
from opencrab.ports.turn.action import ActionContext

__all__ = ["group"]

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


class FinishTask(Value):
    task_id: TaskId
    result: Annotated[Text, Field(min_length=1, max_length=1_500)]


class FailTask(Value):
    task_id: TaskId
    cause: Line


class Report(Value):
    summary: Annotated[Text, Field(min_length=1, max_length=8_000)]
    results: Annotated[tuple[Claim, ...], Field(max_length=30)] = ()
    outcome: Literal["success", "failure", "partial"] = "success"


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
    _, goal, task = _current(context, arguments.task_id)
    missing = _missing(context, goal, task.postcondition)
    if missing is not None:
        raise Invalid(
            f"{task.id} is not done: {missing} does not hold",
            field="task_id",
            cure="make it true, or fail the task",
        )
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
    ja="目標の結果を報告して終えます。results は作成・変更したファイルのパスだけです。",
    ends_turn=True,
)
def report(arguments: Report, context: ActionContext) -> ActionResult:
    """Report what came of your goal, and end it. `results`: paths of files made or changed."""
    if context.goal is None:
        raise Invalid("this turn serves no goal", cure="answer in plain words")
    fact, goal = find_open_goal_for_action(context, context.goal.id)
    left = [task.id for task in goal.tasks if not task.status.is_end]
    if left:
        raise Invalid(
            f"tasks not finished: {', '.join(left)}", cure="finish or fail the current task first"
        )
    receipts = _together(goal.receipts, context)
    known = tuple(dict.fromkeys((*(r for task in goal.tasks for r in task.receipts), *receipts)))
    _require_success(arguments, goal, known)
    language = context.agent.language
    unconfirmed = _unconfirmed_claims(arguments, goal, known, language)
    ended = goal.replaced(
        status=GoalStatus.COMPLETED,
        stuck="",
        claim=Outcome(arguments.outcome),
        receipts=receipts,
        unconfirmed=unconfirmed,
        taint=goal.taint or context.turn.taint,
        ended_at=context.clock.now(),
    )
    text = _render_report(arguments, ended, known, language)
    ended = ended.replaced(report=text)
    effect = GoalEnded(goal=goal.id, message=goal_message(ended))
    return ActionResult.ok(
        SpeechSent(text=text), effect, reported=True, unconfirmed=list(unconfirmed)
    ).keeping(fact.with_body(ended))


def _require_success(arguments: Report, goal: Goal, known: tuple[ActionReceipt, ...]) -> None:
    """Raise Invalid for a report of success while a goal's success condition is not met."""
    if goal.children or goal.given or Outcome(arguments.outcome) is not Outcome.SUCCESS:
        return
    effects = ((receipt.action, receipt.path) for receipt in known)
    unmet = first_condition_unmet_by_turns(goal.instruction, effects)
    if unmet is not None:
        raise Invalid(
            f"{goal.id} is not done: no action for it has met {unmet}",
            field="outcome",
            cure="do it first, or report another outcome",
        )


def _current(context: ActionContext, task_id: str) -> tuple[Document, Goal, Task]:
    """Return the task that this turn serves; raises Invalid if task_id is not that task."""
    if context.goal is None:
        raise Invalid("this turn serves no task", cure="start_task begins one")
    fact, goal = find_open_goal_for_action(context, context.goal.id)
    task = goal.current
    if task is None:
        raise Invalid(
            f"{goal.id} has no current task",
            field="task_id",
            cure="call report, or plan_goal if it has no plan",
        )
    if task.id != task_id:
        raise Invalid(
            f"your current task is {task.id}, not {task_id!r}",
            field="task_id",
            cure=f"give {task.id} as task_id",
        )
    if task.turn_id != context.turn.id:
        raise Invalid(
            f"{task.id} is carried out by another turn", field="task_id", cure="end your turn"
        )
    return fact, goal, task


def _missing(context: ActionContext, goal: Goal, text: str) -> str | None:
    """Return the first condition in a text that code can check and that is not met, else None."""
    files, agent_id = context.reach.files, context.agent.id

    def is_done(task_id: str) -> bool:
        other = goal.task(task_id)
        return other is not None and other.status is TaskStatus.DONE

    return first_unmet_goal_condition(
        text, lambda path: files.info(agent_id, path) is not None, is_done
    )


def _task_ended(
    context: ActionContext, arguments: FinishTask | FailTask, **end: Any
) -> ActionResult:
    """Return a result that ends the turn's task, with the receipts that the journal has for it."""
    fact, goal, current = _current(context, arguments.task_id)
    receipts = _together(current.receipts, context)
    task = current.replaced(receipts=receipts, ended_at=context.clock.now(), **end)
    changed = goal.with_task(task).replaced(taint=goal.taint or context.turn.taint)
    following = changed.next_task
    effect = TaskEnded(task=task.id, status=task.status.value, message=goal_task_message(task))
    return ActionResult.ok(
        effect,
        task_id=task.id,
        status=task.status.value,
        tasks_left=sum(not other.status.is_end for other in changed.tasks),
        next=f"{following.id} begins in its own turn" if following else "call report now",
    ).keeping(fact.with_body(changed))


def _together(
    earlier: tuple[ActionReceipt, ...], context: ActionContext
) -> tuple[ActionReceipt, ...]:
    return tuple(dict.fromkeys((*earlier, *context.receipts)))[:RECEIPTS]


def _unconfirmed_claims(
    arguments: Report, goal: Goal, known: tuple[ActionReceipt, ...], language: Language
) -> tuple[str, ...]:
    """Return the claims of a report that no receipt in the journal confirms."""
    paths = {receipt.path for receipt in known if receipt.path is not None}
    claims = [path for path in arguments.results if path.strip().removeprefix("./") not in paths]
    if arguments.outcome == "success":
        if any(task.status is not TaskStatus.DONE for task in goal.tasks):
            claims.append(_FAILED[language])
        elif not known:
            claims.append(_NOTHING[language])
    return tuple(claims)


def _render_report(
    arguments: Report, goal: Goal, known: tuple[ActionReceipt, ...], language: Language
) -> str:
    """Format the report for people: the agent's summary, the tasks, files, unconfirmed claims."""
    rows = [arguments.summary.strip(), "", *map(goal_task_message, goal.tasks)]
    rows.append(f"[{goal.id}] {goal.name} / {goal.completion_percent}%")
    paths = list(dict.fromkeys(receipt.path for receipt in known if receipt.path))
    if paths:
        rows.append(f"{_RESULTS[language]}: {', '.join(paths)}")
    if goal.unconfirmed:
        rows.append(f"{_UNCONFIRMED[language]}: {', '.join(goal.unconfirmed)}")
    return "\n".join(rows)
