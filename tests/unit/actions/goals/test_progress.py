"""The end of a goal: what was read on the way to it stays known."""

from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.actions.goals.progress import FailTask, Report, fail_task, report
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid
from opencrab.domain.goals.goal import GOAL, Goal, Task, TaskStatus, goal_document_id
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
        mika.home.facts.commit(new_fact("mika", GOAL, goal_document_id("G1"), goal))
        turn = mika.at.turn.replaced(taint=read_now)
        told = report(Report(summary=text), replace(mika.at, turn=turn, goal=goal))
        (fact,) = told.facts
    ended = fact.read(Goal)
    assert text in ended.report
    assert ended.taint == (read_before or read_now)


@pytest.mark.parametrize(
    ("status", "wanted", "why", "cure"),
    [
        (TaskStatus.DONE, "G1-T1", "G1 has no current task", "call report"),
        (TaskStatus.ACTIVE, "G1-T2", "your current task is G1-T1", "give G1-T1"),
        (TaskStatus.ACTIVE, "G1-T1", "G1-T1 is carried out by another turn", "end your turn"),
    ],
)
def test_a_task_that_this_turn_does_not_serve_cannot_be_ended(
    tmp_path: Path, status: TaskStatus, wanted: str, why: str, cure: str
) -> None:
    task = Task(
        id="G1-T1",
        name="数える",
        precondition="地図がある",
        postcondition="数がある",
        status=status,
        turn_id="another",
    )
    goal = Goal(
        id="G1",
        agent_id="mika",
        session_id="s1",
        name="灯台を数える",
        principal_id="owner",
        created_at=NOW,
        tasks=(task,),
    )
    with desk(tmp_path) as mika:
        mika.home.facts.commit(new_fact("mika", GOAL, goal_document_id("G1"), goal))
        with pytest.raises(Invalid, match=why) as caught:
            fail_task(FailTask(task_id=wanted, cause="暗い"), replace(mika.at, goal=goal))
    assert cure in (caught.value.cure or "")
