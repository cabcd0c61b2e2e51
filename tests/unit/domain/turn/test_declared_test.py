"""Conditions by which code tests a belief: what can be checked, and what they show."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.domain.errors import Invalid
from opencrab.domain.turn.declared_test import (
    DeclaredTest,
    DeclaredTests,
    KnownFacts,
    is_test_declared_in_turn_met,
    order_of_tests_declared_in_turns,
    parse_test_declared_in_turn,
)

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
FILES = {"a.md": True, "外部.md": None}


def known(**facts: float) -> KnownFacts:
    actions = {"ws_write": True, "ws_read": False}
    return KnownFacts(has_file=lambda path: FILES.get(path, False), actions=actions, **facts)


@pytest.mark.parametrize(
    ("test", "met"),
    [
        ("file:a.md", True),
        ("file:b.md", False),
        ("file:外部.md", None),
        ("action:ws_write", True),
        ("action:ws_read", False),
        ("action:ws_edit", None),
        ("file:a.md、action:ws_write。", True),
        ("file:外部.md, action:ws_read", False),
        ("file:a.md action:ws_edit", None),
        ("balance>=20", True),
        ("balance > 20", False),
        ("balance<=20", True),
        ("balance<20", False),
        ("reputation>=0.5", None),
        ("file:a.md balance>=20", True),
    ],
)
def test_all_conditions_must_hold_and_what_is_unknown_shows_nothing(
    test: str, *, met: bool | None
) -> None:
    assert is_test_declared_in_turn_met(parse_test_declared_in_turn(test), known(balance=20)) is met


@pytest.mark.parametrize(
    "test", ["", "it rains", "雨が降る", "file:a.md exists", "file:*.md", "balance", "balance=20"]
)
def test_words_that_code_cannot_check_are_refused(test: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_test_declared_in_turn(test)
    assert "no condition that code can check" in caught.value.message
    assert caught.value.field == "test"


def declared(name: str, minutes: int | None = None, **changes: object) -> DeclaredTest:
    at = None if minutes is None else NOW + timedelta(minutes=minutes)
    return DeclaredTest(belief_id=name, test="file:a.md", declared_at=NOW, checked_at=at).replaced(
        **changes
    )


def test_the_least_recently_checked_comes_first() -> None:
    tests = (declared("b1", 5), declared("b2", 1), declared("b3"))
    assert [each.belief_id for each in order_of_tests_declared_in_turns(tests)] == [
        "b3",
        "b2",
        "b1",
    ]


def test_a_belief_has_one_test() -> None:
    tests = DeclaredTests().with_test(declared("b1")).with_test(declared("b2"))
    tests = tests.with_test(declared("b1", test="file:b.md")).changed("b2", holds=True)
    assert [(each.belief_id, each.test, each.holds) for each in tests.tests] == [
        ("b2", "file:a.md", True),
        ("b1", "file:b.md", None),
    ]
    assert tests.without("b1", "b2") == DeclaredTests()
    assert tests.of_belief("b3") is None
