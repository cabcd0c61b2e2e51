"""The text of a call: every byte of its arguments, and the lines that it changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.approvals.call_text import (
    TextChange,
    approval_call_arguments,
    approval_question_with_call,
    hash_shown_in_approval,
    is_approval_hash_of,
    unified_diff_for_approval,
)

HASH = "0123456789abcdef" * 4


def change(before: str | None, after: str | None, name: str = "a.md") -> str:
    return unified_diff_for_approval(TextChange(name=name, before=before, after=after))


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"q": "x" * 388 + " payload"}, "x" * 388 + " payload"),
        ({"q": "a\u202eb"}, '"a⟨U+202E⟩b"'),
        ({"c": "一\n二\\n三"}, '"一\\n\n    二\\\\n三"'),
        ({"c": '",\n  "path": "safe'}, '\\",\\n\n      \\"path\\": \\"safe"'),
        ({"n": 1, "s": "1", "l": [None, True]}, '"n": 1,\n  "s": "1",\n  "l": [\n    null,'),
    ],
)
def test_arguments_are_shown_to_the_last_byte(arguments: dict[str, Any], shown: str) -> None:
    assert shown in approval_call_arguments(arguments)


@given(st.text(alphabet='a\\n\n" 海:{}', max_size=30))
def test_the_arguments_can_be_read_back_from_what_is_shown(text: str) -> None:
    shown = approval_call_arguments({"a": text})
    assert json.loads(shown.replace("\\n\n    ", "\\n")) == {"a": text}


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", "--- a.md\n+++ a.md\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"),
        (None, "x\u200b\ry\n", "--- /dev/null\n+++ a.md\n@@ -0,0 +1 @@\n+x⟨U+200B⟩⟨U+000D⟩y"),
        ("x\n", None, "--- a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x"),
        (
            "x",
            "x\n",
            "--- a.md\n+++ a.md\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x",
        ),
        ("x\n", "x\n", ""),
    ],
)
def test_a_change_is_a_unified_diff(before: str | None, after: str | None, shown: str) -> None:
    assert change(before, after) == shown


def test_a_name_cannot_add_a_line_to_a_diff() -> None:
    assert change("a\n", "b\n", "x\n+good").splitlines()[0] == "--- x⟨U+000A⟩+good"


def test_a_change_of_many_lines_shows_all_that_differ() -> None:
    same, old = ["same\n"] * 2_000, [f"old {n}\n" for n in range(3_000)]
    new = [f"new {n}\n" for n in range(4_000)]
    shown = change("".join([*same, *old, *same]), "".join([*same, *new, *same])).splitlines()
    assert shown[2] == "@@ -1998,3006 +1998,4006 @@"
    assert [each[1:] + "\n" for each in shown if each.startswith("-old")] == old
    assert [each[1:] + "\n" for each in shown if each.startswith("+new")] == new


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("", "new\n", "@@ -1998,3 +1998,4 @@\n same\n same\n same\n+new"),
        ("old\n", "", "@@ -1998,4 +1998,3 @@\n same\n same\n same\n-old"),
    ],
)
def test_a_long_text_may_grow_or_shrink_at_its_end(before: str, after: str, shown: str) -> None:
    same = "same\n" * 2_000
    assert change(same + before, same + after).endswith(f"\n{shown}")


def test_only_a_question_with_the_whole_call_shows_a_hash() -> None:
    text = approval_question_with_call("May I? ```", '{"a": "```"}', HASH)
    assert text.count("```") == 2
    assert hash_shown_in_approval(text) == HASH[:16]
    for other in ("May I?", f"{text} …", text[1_000:], f"x SHA-256 `{HASH[:16]}`"):
        assert hash_shown_in_approval(other) == ""


@pytest.mark.parametrize(
    ("shown", "same"),
    [(HASH, True), (HASH[:16], True), (HASH[:15], False), ("", False), ("f" * 16, False)],
)
def test_a_hash_is_that_of_a_call_whole_or_short(shown: str, *, same: bool) -> None:
    assert is_approval_hash_of(shown, HASH) is same
