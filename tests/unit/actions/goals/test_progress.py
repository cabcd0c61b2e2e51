"""The end of a goal: what was read on the way to it stays known."""

from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.actions.goals.progress import Report, report
from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import GOAL, Goal, goal_key
from tests.unit.actions.knowing import NOW, desk


@pytest.mark.parametrize("read_before", [True, False])
@pytest.mark.parametrize("read_now", [True, False])
@pytest.mark.parametrize("text", ["灯台は三つあります", "There are three lighthouses"])
def test_a_goal_that_is_reported_keeps_that_foreign_words_were_read_for_it(
    text: str, tmp_path: Path, *, read_now: bool, read_before: bool
) -> None:
    goal = Goal(
        id="G1",
        agent_id="mika",
        session_id="s1",
        name="灯台を数える",
        principal_id="owner",
        created_at=NOW,
        taint=read_before,
    )
    with desk(tmp_path) as mika:
        mika.home.facts.commit(new_fact("mika", GOAL, goal_key("G1"), goal))
        turn = mika.at.turn.replaced(taint=read_now)
        told = report(Report(summary=text), replace(mika.at, turn=turn, goal=goal))
        (fact,) = told.facts
    ended = fact.read(Goal)
    assert text in ended.report
    assert ended.taint == (read_before or read_now)
