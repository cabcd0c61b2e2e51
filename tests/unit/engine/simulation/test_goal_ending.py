"""How goals ended, by what is stored: a condition, a deed, words, or not at all."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.bootstrap.local.simulation import simulated_local_installation
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import (
    ActionReceipt,
    Goal,
    GoalSource,
    GoalStatus,
    Task,
    TaskStatus,
)
from opencrab.domain.goals.promise import PROMISE, Promise, PromiseStatus
from opencrab.domain.goals.value_estimate import Horizon
from opencrab.domain.peers.talk import PEER_TALK, PeerTalk
from opencrab.engine.simulation.goal_ending import GoalEnd, goal_ends_in_simulation

NINE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
WROTE = ActionReceipt(action="ws_write", path="a.md")
TALKED = ActionReceipt(action="talk_to_peer")
GOAL = Goal(
    id="G1",
    agent_id="crab",
    session_id="s",
    name="count shells",
    source=GoalSource.ROLE,
    authority=Authority.SELF,
    door=Source.HEARTBEAT,
    principal_id="crab",
    status=GoalStatus.COMPLETED,
    created_at=NINE,
    ended_at=NINE,
)
TASK = Task(
    id="G1-T1", name="a", precondition="-", postcondition="file:a.md", status=TaskStatus.DONE
)
SOCIAL = {"source": GoalSource.SOCIAL, "receipts": (TALKED,)}


def promise(status: PromiseStatus) -> Promise:
    return Promise(
        id="promise-1",
        agent_id="crab",
        name="Crab",
        to=("umi",),
        what="a",
        done_when="file:a.md",
        due=NINE + timedelta(hours=1),
        goal_id="G1",
        session_id="d",
        status=status,
        made_at=NINE,
    )


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"instruction": "Done when: file:a.md", "receipts": (WROTE,)}, GoalEnd.CHECKED),
        ({"instruction": "Done when: file:b.md", "receipts": (WROTE,)}, GoalEnd.DEED),
        ({"receipts": (WROTE,)}, GoalEnd.DEED),
        ({}, GoalEnd.WORDS),
        ({"status": GoalStatus.ABANDONED, "receipts": (WROTE,)}, GoalEnd.ABANDONED),
        ({"tasks": (TASK,)}, GoalEnd.CHECKED),
        ({"tasks": (TASK, TASK.replaced(postcondition="file:b.md"))}, GoalEnd.WORDS),
        ({"tasks": (TASK.replaced(postcondition="looks good"),)}, GoalEnd.WORDS),
        (SOCIAL, GoalEnd.CHECKED),
        ({**SOCIAL, "id": "G2"}, GoalEnd.DEED),
        ({"session_id": "promise-1"}, GoalEnd.CHECKED),
        ({"session_id": "promise-2"}, GoalEnd.ABANDONED),
        ({"status": GoalStatus.ACTIVE, "ended_at": None}, None),
        ({"horizon": Horizon.ASPIRATION}, None),
    ],
)
def test_a_goal_is_judged_by_what_is_stored(
    tmp_path: Path, changes: dict[str, Any], end: GoalEnd | None
) -> None:
    talk = PeerTalk(
        peer_id="umi",
        session_id="t",
        turn_id="t1",
        goal="G1",
        answer_turn="t2",
        day="2026-01-05",
        asked_at=NINE,
    )
    with simulated_local_installation(tmp_path, 1) as (runtime, _clock):
        home = runtime.home
        home.files.write("crab", "a.md", b"a")
        home.facts.commit(new_fact("crab", PEER_TALK, "umi", talk))
        kept = promise(PromiseStatus.KEPT)
        home.facts.commit(new_fact("crab", PROMISE, kept.id, kept))
        found = goal_ends_in_simulation(home, "crab", [GOAL.replaced(**changes)])
    assert dict(found) == ({} if end is None else {end: 1})


def test_a_broken_promise_is_not_reached_whatever_its_goal_says(tmp_path: Path) -> None:
    with simulated_local_installation(tmp_path, 1) as (runtime, _clock):
        broken = promise(PromiseStatus.BROKEN)
        runtime.home.facts.commit(new_fact("crab", PROMISE, broken.id, broken))
        found = goal_ends_in_simulation(
            runtime.home, "crab", [GOAL.replaced(session_id="promise-1")]
        )
    assert dict(found) == {GoalEnd.ABANDONED: 1}
