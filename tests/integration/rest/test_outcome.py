"""The outcome of a discussion over REST, with what became of the promises in it."""

from datetime import UTC, datetime
from typing import Any

from opencrab.domain.conversation.session import Ending
from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    DiscussionOutcome,
    OutcomeState,
    OutcomeTask,
    TaskAnswer,
)
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.goals.promise import PROMISE, Promise, PromiseStatus
from tests.integration.rest.house import House, problem

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def _task(number: int, agent_id: str, **fields: Any) -> OutcomeTask:
    return OutcomeTask(number=number, agent_id=agent_id, name="凪", what="書く", due=NOW, **fields)


def test_an_outcome_shows_tasks_and_promises(shared: House) -> None:
    agents = [shared.agent(name) for name in ("凪", "汐")]
    session_id = shared.session(*agents)
    path = f"/sessions/{session_id}/outcome"
    problem(shared.call("GET", path), 404)
    outcome = DiscussionOutcome(
        session_id=session_id,
        ended_by=Ending.DONE,
        state=OutcomeState.WRITTEN,
        writer_id=agents[0],
        decisions=("金曜に出す",),
        tasks=(
            _task(1, agents[0], answer=TaskAnswer.TAKEN_OVER, promise_id="promise-1"),
            _task(2, agents[1], answer=TaskAnswer.DECLINED, reason="忙しい"),
        ),
        at=NOW,
    )
    promise = Promise(
        id="promise-1",
        agent_id=agents[0],
        name="凪",
        to=(agents[1],),
        what="書く",
        due=NOW,
        goal_id="G1",
        session_id=session_id,
        status=PromiseStatus.BROKEN,
        evidence=("G1 active",),
        made_at=NOW,
    )
    facts = shared.runtime.home.facts
    facts.commit(
        new_fact(INSTALLATION_FACTS, DISCUSSION_OUTCOME, session_id, outcome),
        new_fact(agents[0], PROMISE, "promise-1", promise),
    )
    told = shared.got(path)
    assert (told["state"], told["decisions"]) == ("written", ["金曜に出す"])
    first, second = told["tasks"]
    assert (first["promise"], first["goal_id"]) == ("broken", "G1")
    assert first["evidence"] == ["G1 active"]
    assert (second["answer"], second["reason"], second["promise"]) == ("declined", "忙しい", None)
    assert shared.got(path, key=shared.chat) == told
    stranger, _ = shared.granted()
    problem(shared.call("GET", path, key=stranger), 404)
