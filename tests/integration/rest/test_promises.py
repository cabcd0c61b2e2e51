"""Promises over REST: an owner sees those an agent made and those made to it."""

from datetime import UTC, datetime, timedelta
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
from opencrab.domain.goals.promise import (
    PROMISE,
    PROMISE_BOARD,
    Promise,
    PromiseBoard,
    PromiseStatus,
    brief_goal_promise,
)
from tests.integration.rest.house import House, problem

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def a_promise(number: int, agent_id: str, to: str, session_id: str, **fields: Any) -> Promise:
    return Promise(
        id=f"promise-{number}",
        agent_id=agent_id,
        name="凪",
        to=(to,),
        what="潮の報告を書く",
        due=NOW + timedelta(days=1),
        goal_id=f"G{number}",
        session_id=session_id,
        made_at=NOW + timedelta(minutes=number),
        **fields,
    )


def store(house: House, *promises: Promise) -> None:
    """Store promises of one discussion as settling them does: documents, outcome and boards."""
    session_id, (maker, receiver) = promises[0].session_id, (promises[0].agent_id, promises[0].to)
    tasks = tuple(
        OutcomeTask(
            number=number,
            agent_id=each.agent_id,
            name=each.name,
            what=each.what,
            due=each.due,
            answer=TaskAnswer.TAKEN_OVER,
            promise_id=each.id,
        )
        for number, each in enumerate(promises, 1)
    )
    outcome = DiscussionOutcome(
        session_id=session_id,
        ended_by=Ending.DONE,
        state=OutcomeState.WRITTEN,
        tasks=tasks,
        at=NOW,
    )
    boards = {maker: PromiseBoard(), receiver[0]: PromiseBoard()}
    for each in promises:
        for agent_id, board in boards.items():
            brief = brief_goal_promise(each, ["汐"])
            boards[agent_id] = board.with_promise(brief, own=agent_id == maker)
    house.runtime.home.facts.commit(
        new_fact(INSTALLATION_FACTS, DISCUSSION_OUTCOME, session_id, outcome),
        *(new_fact(maker, PROMISE, each.id, each) for each in promises),
        *(new_fact(owner, PROMISE_BOARD, PROMISE_BOARD, each) for owner, each in boards.items()),
    )


def test_both_sides_see_a_promise_with_how_code_judged_it(shared: House) -> None:
    nagi, shio = shared.agent("凪"), shared.agent("汐")
    assert shared.got(f"/agents/{nagi}/promises") == {"made": [], "received": []}
    session_id = shared.session(nagi, shio)
    kept = {"status": PromiseStatus.KEPT, "evidence": ("ws_write tide.md T1",)}
    store(
        shared,
        a_promise(1, nagi, shio, session_id, ended_at=NOW + timedelta(hours=1), **kept),
        a_promise(2, nagi, shio, session_id),
    )
    mine, theirs = (shared.got(f"/agents/{agent}/promises") for agent in (nagi, shio))
    assert mine["made"] == theirs["received"]
    assert (mine["received"], theirs["made"]) == ([], [])
    open_one, settled = theirs["received"]
    assert (open_one["id"], open_one["status"], open_one["ended_at"]) == ("promise-2", "open", None)
    assert (settled["agent_id"], settled["to"], settled["status"]) == (nagi, [shio], "kept")
    assert settled["evidence"] == ["ws_write tide.md T1"]


def test_promises_are_their_owners(shared: House) -> None:
    place = f"/agents/{shared.agent('凪')}/promises"
    for key in (shared.chat, shared.read):
        problem(shared.call("GET", place, key=key), 403)
    problem(shared.call("GET", "/agents/nobody/promises"), 404)


def test_a_promise_whose_documents_were_erased_is_left_out(shared: House) -> None:
    nagi, shio = shared.agent("凪"), shared.agent("汐")
    board = PromiseBoard().with_promise(
        brief_goal_promise(a_promise(1, nagi, shio, "gone"), ["汐"]), own=False
    )
    shared.runtime.home.facts.commit(new_fact(shio, PROMISE_BOARD, PROMISE_BOARD, board))
    assert shared.got(f"/agents/{shio}/promises")["received"] == []
