"""Values: a change returns a new value and leaves the old one as it was."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from opencrab.domain.conversation.message import Line
from opencrab.domain.conversation.session import Session
from opencrab.domain.turn.record import ActionCall, ModelIntent, ModelResult
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import Value

LEFT_OUT = Path(__file__).with_name("left_out_defaults.json")
STORED = (Session, Line, Turn, ModelIntent, ModelResult, UsageRow, DailyTally)
"""The values that are stored without the fields that have their default."""


def values_within(annotation: Any) -> Iterator[type[Value]]:
    """The values that a field of this type may hold."""
    if isinstance(annotation, type) and issubclass(annotation, Value):
        yield annotation
    for argument in get_args(annotation):
        yield from values_within(argument)


def defaults_of(*values: type[Value]) -> dict[str, Any]:
    """The default of each optional field of these values and of all within them."""
    found, seen, waiting = dict[str, Any](), set[type[Value]](), list(values)
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        for name, field in value.model_fields.items():
            waiting += values_within(field.annotation)
            if not field.is_required():
                default = field.get_default(call_default_factory=True, validated_data={})
                found[f"{value.__name__}.{name}"] = to_jsonable_python(default)
    return found


class Shell(Value):
    name: str = "蟹"
    size: int = 1


def test_a_change_is_what_a_copy_with_other_fields_would_be() -> None:
    shell = Shell(name="海老")
    changed = shell.replaced(size=2)
    copied = shell.model_copy(update={"size": 2})
    assert (changed, changed.model_fields_set) == (copied, copied.model_fields_set)
    assert (shell, shell.model_fields_set) == (Shell(name="海老"), {"name"})
    assert changed.model_dump_json() == copied.model_dump_json()
    assert hash(changed) == hash(copied)
    with pytest.raises(ValidationError):
        changed.size = 3  # type: ignore[misc]


def test_what_was_computed_of_a_value_is_not_kept_by_its_changes() -> None:
    call = ActionCall(id="c1", name="ws_write", arguments={"path": "海.md"})
    assert call.arguments_as_json == '{"path": "海.md"}'
    assert call.replaced(arguments={}).arguments_as_json == "{}"
    assert call.replaced(id="c2").arguments_as_json == call.arguments_as_json


def test_the_defaults_that_stored_rows_leave_out_are_those_of_every_release() -> None:
    """A new default would change what is stored: set it where a value is made instead."""
    known: dict[str, Any] = json.loads(LEFT_OUT.read_text(encoding="utf-8"))
    now = defaults_of(*STORED)
    changed = {
        key: now.get(key, "no field any more") for key in known if now.get(key) != known[key]
    }
    assert not changed, f"{changed} would change rows that leave these fields out"
    assert now == known, f"add new fields to {LEFT_OUT.name}"
