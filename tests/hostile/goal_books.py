"""The books of goals: no end is taken back, no taint lost, and only its own turn moves a goal."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from opencrab.domain.document import Document
from opencrab.domain.goals.goal import goal_id_of_label
from opencrab.domain.turn.turn import Turn
from tests.hostile import words

_ENDS = {"done", "fail", "completed", "abandoned"}
_MOVED = ("spent_micro_usd", "runs", "turn_id", "status", "report")

Body = dict[str, Any]


class GoalBooks:
    """Every goal as it was last written; `problem` is told of what must not have been written."""

    def __init__(self, problem: Callable[[str], None]) -> None:
        self._problem = problem
        self._goals: dict[tuple[str, str], Body] = {}
        self._ended: dict[tuple[str, str], str] = {}

    def saved(self, turn: Turn, fact: Document, *, dirty: bool) -> None:
        """A change of a turn writes this goal, after foreign words or not."""
        body = fact.body or {}
        before = self._goals.get((fact.owner, str(body.get("id"))))
        if turn.task is None or goal_id_of_label(turn.task) != body.get("id"):
            return
        if dirty and turn.status.is_end and not body.get("taint", False):
            self._problem(f"goal {body['id']} is clean after {turn.id} read foreign words for it")
        is_old = before is not None and before.get("turn_id") != turn.id
        if turn.status.is_end and is_old and _differs(before or {}, body):
            self._problem(f"{turn.id} ended and moved goal {body['id']} of another turn")

    def kept(self, fact: Document, vouched: set[str]) -> None:
        """A goal was written, by a turn or by a person."""
        body = fact.body or {}
        told = set(words.FOREIGN.findall(json.dumps(body))) - vouched
        if told and not body.get("taint", False):
            self._problem(f"goal {body['id']} is clean and holds {sorted(told)}")
        self._goals[fact.owner, str(body.get("id"))] = body
        for name, status in _stages(fact, body):
            before = self._ended.get(name)
            if before is not None and before != status:
                self._problem(f"{name} was {before} and became {status}")
            if status in _ENDS:
                self._ended[name] = status


def _differs(before: Body, after: Body) -> bool:
    if any(before.get(name) != after.get(name) for name in _MOVED):
        return True
    return [_stage(task) for task in before.get("tasks", ())] != [
        _stage(task) for task in after.get("tasks", ())
    ]


def _stage(task: Body) -> tuple[Any, Any]:
    return task.get("id"), task.get("status")


def _stages(fact: Document, body: Body) -> Iterator[tuple[tuple[str, str], str]]:
    yield (fact.owner, fact.id), str(body.get("status", "pending"))
    for task in body.get("tasks", ()):
        yield (fact.owner, str(task["id"])), str(task.get("status", "pending"))
