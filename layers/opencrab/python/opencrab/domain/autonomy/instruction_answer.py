"""Instruction answer: the check of what a model made of an owner's standing instructions.

What has another form is refused as a whole. A time or condition that cannot hold is left out and
named, and its goal stays without it: nothing that the owner asked for is lost.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import Field, StringConstraints, ValidationError

from opencrab.domain.agents.event import EventFilter
from opencrab.domain.autonomy.instruction_plan import (
    MOST_GOALS,
    NAME,
    NOTE,
    WORDS,
    PlanFlaw,
    PlannedGoal,
)
from opencrab.domain.autonomy.schedule import next_schedule_time
from opencrab.domain.errors import Invalid
from opencrab.domain.turn.success_condition import parse_turn_success_conditions
from opencrab.domain.value import Received, Stripped, Value

SHORTEST = timedelta(minutes=5)
"""The shortest time between two runs of a schedule that a plan may have."""

INSTRUCTION_ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "goals": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1, "maxLength": NAME},
                    "do": {"type": "string"},
                    "done_when": {"type": "string"},
                    "when": {"type": "string"},
                },
                "required": ["name", "do", "done_when", "when"],
                "additionalProperties": False,
            },
            "minItems": 1,
            "maxItems": MOST_GOALS,
        },
        "note": {"type": "string"},
    },
    "required": ["goals", "note"],
    "additionalProperties": False,
}
"""The form of an answer as JSON Schema; long limits are checked later: they make large grammars."""

_ANSWER = 16_000
_RUNS = 12
_ONCE_AT = re.compile(r"once\s+(\d{4}-\d{2}-\d{2})[ T](\d{1,2}:\d{2})")

_Name = Annotated[Stripped, StringConstraints(min_length=1, max_length=NAME)]


class _AnsweredGoal(Value):
    name: _Name
    do: Annotated[Received, StringConstraints(max_length=WORDS)] = ""
    done_when: Annotated[Received, StringConstraints(max_length=300)] = ""
    when: Annotated[Received, StringConstraints(max_length=200)] = ""


class _Answer(Value):
    goals: Annotated[tuple[_AnsweredGoal, ...], Field(min_length=1, max_length=MOST_GOALS)]
    note: Annotated[Received, StringConstraints(max_length=NOTE)] = ""


def parse_autonomy_instruction_plan(
    text: str, *, now: datetime, zone: str, is_action: Callable[[str], bool]
) -> tuple[tuple[PlannedGoal, ...], str]:
    """Return the goals and the note of an answer; raises ValueError saying why it is none."""
    answer = _read(text)
    names = [goal.name.casefold() for goal in answer.goals]
    if len({*names}) < len(names):
        raise ValueError("two goals have the same name")
    goals = tuple(_goal(each, now, zone, is_action) for each in answer.goals)
    return goals, " ".join(answer.note.split())


def _read(text: str) -> _Answer:
    first, last = text.find("{"), text.rfind("}")
    if len(text) > _ANSWER or first < 0:
        raise ValueError("the answer is no JSON object" if first < 0 else "the answer is too long")
    try:
        return _Answer.model_validate(json.loads(text[first : last + 1]))
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, wrong["loc"]))
        raise ValueError(f"{place}: {wrong['msg']}") from None
    except (ValueError, RecursionError):
        raise ValueError("the answer is no JSON object") from None


def _goal(
    said: _AnsweredGoal, now: datetime, zone: str, is_action: Callable[[str], bool]
) -> PlannedGoal:
    name = " ".join(said.name.split())
    goal = PlannedGoal(name=name, words=said.do.strip() or name)
    try:
        found = parse_turn_success_conditions(said.done_when)
    except Invalid:
        found = ()
    known = [f"{kind}:{what}" for kind, what in found if kind == "file" or is_action(what)]
    goal = goal.replaced(done_when=" ".join(known))
    if said.done_when.strip() and not known:
        goal = goal.replaced(flaw=PlanFlaw.NO_CONDITION)
    return _with_time(goal, " ".join(said.when.split()), now, zone)


def _with_time(goal: PlannedGoal, when: str, now: datetime, zone: str) -> PlannedGoal:
    if when.casefold() in {"", "always"}:
        return goal
    if when.casefold() == "once":
        return goal.replaced(once=True)
    if when.startswith("event "):
        return _with_event(goal, when.removeprefix("event ").strip())
    once = _ONCE_AT.fullmatch(when)
    try:
        rule = when if once is None else _one_time_rule(f"{once[1]} {once[2]}", zone, now)
        return _with_rule(goal.replaced(once=once is not None), rule, now, zone)
    except (Invalid, ValueError):
        return goal.replaced(once=once is not None, flaw=PlanFlaw.BAD_TIME)


def _with_event(goal: PlannedGoal, kind: str) -> PlannedGoal:
    try:
        return goal.replaced(event=EventFilter(type=kind).type)
    except ValidationError:
        return goal.replaced(flaw=PlanFlaw.BAD_TIME)


def _with_rule(goal: PlannedGoal, rule: str, now: datetime, zone: str) -> PlannedGoal:
    times = [next_schedule_time(rule, zone, now)]
    for _ in range(0 if goal.once else _RUNS):
        times.append(next_schedule_time(rule, zone, times[-1], times[-1]))
    often = any(later - earlier < SHORTEST for earlier, later in pairwise(times))
    return goal.replaced(flaw=PlanFlaw.TOO_OFTEN) if often else goal.replaced(times=rule)


def _one_time_rule(text: str, zone: str, now: datetime) -> str:
    """Return the cron line of one moment within a year; raises ValueError if it is over."""
    moment = datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=ZoneInfo(zone))
    if not now < moment < now + timedelta(days=365):
        raise ValueError("not within a year")
    return f"{moment.minute} {moment.hour} {moment.day} {moment.month} *"
