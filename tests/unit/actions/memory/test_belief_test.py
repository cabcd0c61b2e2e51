"""A belief with a declared test, as an agent declares it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.memory.belief import BELIEF, BELIEF_TESTS
from opencrab.domain.turn.declared_test import TESTS, DeclaredTest, DeclaredTests
from tests.unit.actions.knowing import Desk, desk

CLAIMS = ("蟹は日記を書く", "Crabs keep a diary")


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Desk]:
    """Mika's place."""
    with desk(tmp_path) as place:
        yield place


def declared(mika: Desk) -> tuple[DeclaredTest, ...]:
    stored = mika.home.facts.get("mika", BELIEF_TESTS, BELIEF_TESTS)
    return () if stored is None else stored.read(DeclaredTests).tests


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_test_is_stored_beside_its_belief_and_replaced_with_it(mika: Desk, claim: str) -> None:
    formed = mika.data("form_belief", claim=claim, test=" file:notes/diary.md\n")
    (test,) = declared(mika)
    assert (test.belief_id, test.test) == (formed["belief_id"], "file:notes/diary.md")
    assert (test.turn_id, test.tainted, test.holds) == ("t1", False, None)
    stored = mika.home.facts.get("mika", BELIEF, test.belief_id)
    assert stored is not None
    assert "test" not in (stored.body or {}), "a release before this one reads the belief"
    mika.data("form_belief", claim=claim, test="action:form_belief")
    mika.data("form_belief", claim=claim)
    (test,) = declared(mika)
    assert test.test == "action:form_belief"


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("the diary exists", "no condition that code can check"),
        ("日記がある", "no condition that code can check"),
        ("action:ws_wrote", "there is no action 'ws_wrote'"),
        ("file:../a.md", "contains '../'"),
        ("file:" + "a" * 200, "at most 200"),
    ],
)
def test_what_code_cannot_check_forms_no_belief(mika: Desk, test: str, why: str) -> None:
    told = mika.do("form_belief", claim=CLAIMS[0], test=test)
    assert not told.success
    assert why in str(told.error)
    assert mika.home.facts.page("mika", BELIEF) == ()
    assert declared(mika) == ()


def test_a_tainted_turn_declares_a_tainted_test_and_none_of_a_trusted_belief(mika: Desk) -> None:
    mika.data("form_belief", claim=CLAIMS[0], test="file:a.md")
    mika.at = replace(mika.at, turn=mika.at.turn.replaced(id="t2", taint=True))
    told = mika.do("form_belief", claim=CLAIMS[0], test="file:b.md")
    assert "untrusted text" in str(told.error)
    mika.data("form_belief", claim=CLAIMS[1], test="file:b.md")
    assert [(each.test, each.tainted) for each in declared(mika)] == [
        ("file:a.md", False),
        ("file:b.md", True),
    ]


def test_where_others_hear_the_answer_no_test_is_declared(mika: Desk) -> None:
    mika.on_behalf_of(Authority.USER, person="taro")
    told = mika.do("form_belief", claim=CLAIMS[0], test="file:a.md")
    assert "where others hear your answer" in str(told.error)
    assert mika.data("form_belief", claim=CLAIMS[0])


def test_tests_have_an_end(mika: Desk) -> None:
    for number in range(TESTS):
        mika.data("form_belief", claim=f"x{number}y", test="file:a.md")
    told = mika.do("form_belief", claim=CLAIMS[0], test="file:a.md")
    assert f"limit reached: {TESTS} declared tests" in str(told.error)
    assert mika.data("form_belief", claim="x7y", test="file:b.md")
