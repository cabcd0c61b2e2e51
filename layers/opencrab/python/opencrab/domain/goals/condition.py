"""Condition: those parts of what must hold before and after a task that code can check.

`file:PATH` is a file of the workspace, `task:G1-T1` a task that is done; each stands alone between
spaces or commas. Everything else in the text is for whoever carries the task out.
"""

import re
from collections.abc import Callable

from opencrab.domain.errors import Invalid
from opencrab.domain.goals.goal import PlannedTask
from opencrab.domain.workspace.path import workspace_path

_FOUND = re.compile(r"(?<![^\s,、。(（])(file|task):([^\s,、。)）]+)")
_TASK = re.compile(r"G[1-9][0-9]{0,5}-T[1-9][0-9]?")


def parse_goal_conditions(text: str) -> tuple[tuple[str, str], ...]:
    """Return the kind and name of each condition in a text; raises Invalid for a bad one."""
    return tuple(
        (kind, _validate_condition_name(kind, name.rstrip(".;")))
        for kind, name in _FOUND.findall(text)
    )


def require_checkable_goal_conditions(tasks: tuple[PlannedTask, ...]) -> None:
    """Raise Invalid if a condition of the plan can never hold as written."""
    for task in tasks:
        parse_goal_conditions(task.precondition)
        parse_goal_conditions(task.postcondition)


def first_unmet_goal_condition(
    text: str, has_file: Callable[[str], bool], is_done: Callable[[str], bool]
) -> str | None:
    """Return the first condition in a text that does not hold, or None.

    The result is the condition as written, or the message of the error if one cannot be parsed.
    """
    holds = {"file": has_file, "task": is_done}
    try:
        found = parse_goal_conditions(text)
    except Invalid as error:
        return error.message
    return next((f"{kind}:{name}" for kind, name in found if not holds[kind](name)), None)


def _validate_condition_name(kind: str, name: str) -> str:
    if kind == "file":
        return workspace_path(name)
    if _TASK.fullmatch(name) is None:
        raise Invalid(
            f"task:{name[:40]} is not a valid task reference",
            field="tasks",
            cure="use one like task:G1-T1",
        )
    return name
