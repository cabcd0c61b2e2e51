"""Success conditions: what code sees of a goal that is done."""

import pytest

from opencrab.domain.errors import Invalid
from opencrab.domain.turn.success_condition import (
    first_condition_unmet_by_turns,
    parse_turn_success_conditions,
    turn_success_conditions_of_goal,
)

WROTE = ("ws_write", "notes/a.md")


@pytest.mark.parametrize(
    ("conditions", "unmet"),
    [
        ("file:notes/a.md", None),
        ("file:notes/*.md", None),
        ("file:notes/b.md", "file:notes/b.md"),
        ("file:notes", "file:notes"),
        ("action:ws_write", None),
        ("action:save_memory", "action:save_memory"),
        ("file:notes/a.md、action:save_memory", "action:save_memory"),
    ],
)
@pytest.mark.parametrize("mark", ["Done when: ", "完了の条件: "])
def test_an_action_meets_a_condition(mark: str, conditions: str, unmet: str | None) -> None:
    text = f"{mark}{conditions}\nWrite it."
    assert first_condition_unmet_by_turns(text, [WROTE]) == unmet


def test_deleting_a_file_is_not_writing_it() -> None:
    told = "Done when: file:notes/a.md"
    assert first_condition_unmet_by_turns(told, [("ws_delete", "notes/a.md")]) == "file:notes/a.md"


def test_only_the_first_line_says_conditions() -> None:
    assert turn_success_conditions_of_goal("Write it.\nDone when: file:a.md") == ()
    assert turn_success_conditions_of_goal("Done when: file:../a.md") == ()


@pytest.mark.parametrize("text", ["file:../a.md", "file:/a.md", "action:No", "file:a<b.md"])
def test_a_name_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_turn_success_conditions(text)
