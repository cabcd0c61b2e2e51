"""Success condition: what must have been done before an agent's own goal counts as reached.

`file:PATH` is a file that an action for the goal has written, with `*` for any part of its name;
`action:NAME` is an action that succeeded. The first line of the goal's description says them.
"""

import re
from collections.abc import Iterable

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.domain.workspace.path import workspace_path

SUCCESS_MARKS = {Language.EN: "Done when: ", Language.JA: "完了の条件: "}
"""How the first line of a goal's description begins if it says the goal's success conditions."""

_FOUND = re.compile(r"(?<![^\s,、。(（])(file|action):([^\s,、。)）]+)")
_ACTION = re.compile(r"[a-z][a-z0-9_]{0,63}")

SuccessCondition = tuple[str, str]
"""The kind and the name of a condition."""


def parse_turn_success_conditions(text: str) -> tuple[SuccessCondition, ...]:
    """Return the success conditions in a text; raises Invalid for a path or name that is none."""
    return tuple(
        (kind, _check_condition_name(kind, name.rstrip(".;")))
        for kind, name in _FOUND.findall(text)
    )


def turn_success_conditions_of_goal(description: str) -> tuple[SuccessCondition, ...]:
    """Return the conditions in the first line of a goal's description; none if it says none."""
    first = description.partition("\n")[0]
    mark = next((each for each in SUCCESS_MARKS.values() if first.startswith(each)), None)
    if mark is None:
        return ()
    try:
        return parse_turn_success_conditions(first.removeprefix(mark))
    except Invalid:
        return ()


def first_condition_unmet_by_turns(
    description: str, effects: Iterable[tuple[str, str | None]]
) -> str | None:
    """Return the first condition of a goal that no action meets, as written; None if all are met.

    `effects` are the actions that succeeded for the goal, each with the path that it wrote.
    """
    done = [(action, path) for action, path in effects if "delete" not in action]
    for kind, name in turn_success_conditions_of_goal(description):
        met = (
            any(path is not None and _matches(path, name) for _, path in done)
            if kind == "file"
            else any(action == name for action, _ in done)
        )
        if not met:
            return f"{kind}:{name}"
    return None


def _check_condition_name(kind: str, name: str) -> str:
    if kind == "file":
        if "*" not in name:
            return workspace_path(name)
        workspace_path(name.replace("*", "x"))
        return name
    if _ACTION.fullmatch(name) is None:
        raise Invalid(f"action:{name[:40]} is not the name of an action", cure="name an action")
    return name


def _matches(path: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), path) is not None
