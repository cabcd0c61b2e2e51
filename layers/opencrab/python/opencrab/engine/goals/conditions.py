"""Preconditions of tasks: a task whose precondition does not hold fails before it begins."""

from opencrab.domain.errors import Invalid
from opencrab.domain.goals.condition import first_unmet_goal_condition
from opencrab.domain.goals.goal import Goal, Task, TaskStatus
from opencrab.domain.value import Language
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.phrases import system_phrase
from opencrab.ports.workspace.files import Files


def check_task_preconditions(
    files: Files, board: GoalBoard, goal: Goal, *, first: bool = False
) -> tuple[Goal, list[Task]]:
    """Fail the next tasks whose precondition does not hold; return goal and failures.

    With `first` only the first of them fails.
    """
    failed = list[Task]()
    language = board.profile.agent.language
    while (task := goal.next_task) is not None and task.status is TaskStatus.PENDING:
        missing = _missing(files, goal, task)
        if missing is None:
            break
        ended = _fail_unmet_task(task, missing, language).replaced(ended_at=board.now)
        goal = goal.with_task(ended)
        failed.append(ended)
        if first:
            break
    return goal, failed


def _missing(files: Files, goal: Goal, task: Task) -> str | None:
    """Return the first unmet condition of a task; None if all that code can check are met."""

    def is_done(task_id: str) -> bool:
        other = goal.task(task_id)
        return other is not None and other.status is TaskStatus.DONE

    def exists(path: str) -> bool:
        try:
            return files.info(goal.agent_id, path) is not None
        except Invalid:
            # In a folder of the owner that is not there for now.
            return False

    return first_unmet_goal_condition(task.precondition, exists, is_done)


def _fail_unmet_task(task: Task, missing: str, language: Language) -> Task:
    """Return the task as failed, with the unmet condition as its cause."""
    cause = system_phrase("task_unmet", language, what=missing)
    return task.replaced(status=TaskStatus.FAIL, cause=cause)
