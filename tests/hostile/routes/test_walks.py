"""A share of the laundering routes; `make hostile` walks them all."""

from pathlib import Path

import pytest

from opencrab.domain.turn.turn import Trigger
from tests.hostile.routes.entries import ENTRIES
from tests.hostile.routes.fields import SLUG, Field, action_fields, actions
from tests.hostile.routes.rooms import readings
from tests.hostile.routes.walks import VOUCHED, every_walk, excused, problems, walk
from tests.soak import SOAK, count

FIELDS = action_fields()
SLUGS = [each for each in FIELDS if each.word == SLUG][:: 1 if SOAK else 3]
SHARE = FIELDS[:: 1 if SOAK else len(FIELDS) // count("text fields of actions")]
UNHEARD = {
    Trigger.DECISION: "goes on with the turn that waited",
    Trigger.EMBEDDING: "asks for vectors, not for words",
}
"""Causes of turns that have no prompt of their own, and why."""


def test_no_word_of_a_tainted_turn_stands_in_a_clean_prompt(tmp_path: Path) -> None:
    done = list(every_walk(SHARE, tmp_path))
    assert [problem for each in done for problem in problems(each)] == []
    assert any(each.routes for each in done)


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_no_word_that_enters_otherwise_stands_in_a_clean_prompt(
    entry: Field, tmp_path: Path
) -> None:
    assert list(problems(walk(entry, tmp_path))) == []


@pytest.mark.parametrize("slug", SLUGS, ids=str)
def test_no_slug_of_a_tainted_turn_stands_in_a_clean_prompt(slug: Field, tmp_path: Path) -> None:
    assert list(problems(walk(slug, tmp_path))) == []


def test_turns_of_every_kind_follow(tmp_path: Path) -> None:
    # Through a task the word comes into the prompts of a goal, too.
    done = walk(Field("action", "plan_goal", ("tasks", "[]", "name")), tmp_path)
    met = {sink.partition(" ")[0] for sink in done.met}
    assert met == {each.value for each in Trigger} - {each.value for each in UNHEARD}
    assert len(done.met) * len(FIELDS) >= 200


def test_every_excuse_is_about_a_field_that_there_is() -> None:
    assert {*excused(), *VOUCHED} <= {str(each) for each in FIELDS}
    assert len(readings()) > 15


@pytest.mark.parametrize("name", ["plan_goal", "world_send"])
def test_fields_within_lists_and_mappings_are_found(name: str) -> None:
    inner = [each for each in FIELDS if each.owner == name and {"[]", "{}"} & set(each.path)]
    assert inner, actions()[name].arguments
