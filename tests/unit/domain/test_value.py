"""Values: a change returns a new value and leaves the old one as it was."""

import pytest
from pydantic import ValidationError

from opencrab.domain.turn.record import ActionCall
from opencrab.domain.value import Value


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
