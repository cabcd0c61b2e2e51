"""What agents do with each other and of their own accord, which no route writes.

Documents are written into the database of a running installation, as its own adapter stores them.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from opencrab.adapters.sqlite.documents import sqlite_document_key
from opencrab.adapters.system_clock import SystemClock
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.instruction_plan import (
    INSTRUCTION_PLAN,
    NAME,
    InstructionPlan,
    PlannedGoal,
    autonomy_instruction_plan_key,
)
from opencrab.domain.conversation.session import Ending
from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    DiscussionOutcome,
    OutcomeState,
    OutcomeTask,
    TaskAnswer,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.goals.promise import (
    PROMISE,
    PROMISE_BOARD,
    Promise,
    PromiseBoard,
    PromiseStatus,
    brief_goal_promise,
)
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.value import Language

NOW = datetime(2026, 2, 17, 9, tzinfo=UTC)
WORLD_KEY = "ab" * 32


def store_documents(data: Path, *documents: Document) -> None:
    """Write new documents into the database of a running installation."""
    rows = [(*sqlite_document_key(*each.key), each.model_dump_json()) for each in documents]
    with closing(sqlite3.connect(data / "opencrab.db", timeout=60)) as file, file:
        file.executemany("INSERT INTO item (pk, sk, body) VALUES (?, ?, ?)", rows)


def furnish_life(client: httpx.Client, data: Path, agent: str, texts: Sequence[str]) -> list[str]:
    """Give an agent a discussion with its outcome, promises, a plan, a folder and a world.

    Returns the addresses of pages that show them, beyond those of each route.
    """
    other = client.post("/agents", json={"name": "Botan 牡丹", "model": "scripted:rules"})
    peer = str(other.json()["id"])
    session = _discussion(client, data, agent, peer, texts)
    _plan(client, data, agent, texts)
    _world(client, data, agent, texts)
    folder = data.with_name(f"{data.name}-of-{agent}") / _folder_name(texts[0])
    folder.mkdir(parents=True)
    put = client.put(f"/agents/{agent}/folders/vault", json={"folder": str(folder)})
    assert put.status_code == 200, put.text
    return [f"/sessions/{session}"]


def _folder_name(text: str) -> str:
    return "".join(each for each in text if each.isprintable() and each != "/")[:60]


def _line(text: str, most: int) -> str:
    return " ".join(text.split())[:most]


def _discussion(
    client: httpx.Client, data: Path, agent: str, peer: str, texts: Sequence[str]
) -> str:
    """A discussion that has ended, with promises kept and broken by both."""
    made = client.post("/sessions", json={"participants": [agent, peer], "theme": texts[0][:500]})
    session = str(made.json()["id"])
    client.post(f"/sessions/{session}/end")
    whole = _line(" ".join(texts), 280)
    statuses = (PromiseStatus.OPEN, PromiseStatus.KEPT, PromiseStatus.BROKEN)
    promises = [
        _promise(number, owner, to, texts, session_id=session, status=status)
        for number, (owner, to, status) in enumerate(
            [(one, two, s) for one, two in ((agent, peer), (peer, agent)) for s in statuses], 1
        )
    ]
    tasks = tuple(_task(number, each) for number, each in enumerate(promises, 1))
    declined = _task(7, promises[0], answer=TaskAnswer.DECLINED, promise_id="", reason=whole)
    outcome = DiscussionOutcome(
        session_id=session,
        ended_by=Ending.DONE,
        agent_ids=(agent, peer),
        state=OutcomeState.WRITTEN,
        writer_id=agent,
        decisions=tuple(_line(each, 280) for each in texts[:20]),
        open_points=tuple(_line(each, 280) for each in texts[-20:]),
        tasks=(*tasks, declined),
        at=NOW,
    )
    boards = {agent: PromiseBoard(), peer: PromiseBoard()}
    for each in promises:
        for owner, board in boards.items():
            boards[owner] = board.with_promise(
                brief_goal_promise(each, [each.name]), own=owner == each.agent_id
            )
    known = Peer(
        agent_id=peer, interests=("tides 潮",), interactions=5, successes=3, last_session=session
    )
    store_documents(
        data,
        new_fact(INSTALLATION_FACTS, DISCUSSION_OUTCOME, session, outcome),
        *(new_fact(each.agent_id, PROMISE, each.id, each) for each in promises),
        *(new_fact(owner, PROMISE_BOARD, PROMISE_BOARD, each) for owner, each in boards.items()),
        new_fact(agent, PEER, peer, known.replaced(last_at=SystemClock().now())),
    )
    return session


def _promise(number: int, owner: str, to: str, texts: Sequence[str], **stored: Any) -> Promise:
    hostile = _line(" ".join(texts[number:] or texts), 280)
    is_open = stored["status"] is PromiseStatus.OPEN
    return Promise(
        id=f"promise-{number}",
        agent_id=owner,
        name="Botan 牡丹",
        to=(to,),
        what=hostile,
        done_when=hostile,
        due=NOW + timedelta(days=1),
        goal_id=f"G{number}",
        evidence=() if is_open else (hostile, f"G{number} active"),
        made_at=NOW,
        ended_at=None if is_open else NOW + timedelta(hours=number),
        **stored,
    )


def _task(number: int, promise: Promise, **changes: Any) -> OutcomeTask:
    given: dict[str, Any] = {"answer": TaskAnswer.TAKEN_OVER, "promise_id": promise.id} | changes
    return OutcomeTask(
        number=number,
        agent_id=promise.agent_id,
        name=promise.name,
        what=promise.what,
        done_when=promise.done_when,
        due=promise.due,
        **given,
    )


def _plan(client: httpx.Client, data: Path, agent: str, texts: Sequence[str]) -> None:
    """A plan of the agent's instructions: a goal at a time, one for an event, one that is done."""
    heartbeat = client.get(f"/agents/{agent}/heartbeat").json()
    instructions = " ".join(texts)[:3_000]
    put = {**heartbeat, "initiative": True, "instructions": instructions}
    client.put(f"/agents/{agent}/heartbeat", json=put).raise_for_status()
    shown = client.get(f"/agents/{agent}").json()
    stored = Agent(
        id=agent,
        name="x",
        language=Language(shown["language"]),
        purpose=shown["purpose"],
        heartbeat=Heartbeat(initiative=True, instructions=instructions),
        created_at=NOW,
        updated_at=NOW,
    )
    goals = [
        PlannedGoal(name=f"{number} {_line(text, NAME - 2)}", words=text, done_when=text[:280])
        for number, text in enumerate(texts[:5])
    ]
    goals[0] = goals[0].replaced(times="0 8 * * *")
    goals[1] = goals[1].replaced(event="world.bounty")
    goals[2] = goals[2].replaced(done=True, once=True)
    plan = InstructionPlan(
        key=autonomy_instruction_plan_key(stored),
        asked_at=NOW,
        planned=True,
        goals=tuple(goals),
        note=" ".join(texts)[:500],
        why=texts[0][:300],
    )
    store_documents(data, new_fact(agent, INSTRUCTION_PLAN, INSTRUCTION_PLAN, plan))


def _world(client: httpx.Client, data: Path, agent: str, texts: Sequence[str]) -> None:
    """A binding to a world, and events that it told of."""
    body = {"world_id": "harbour", "keys": [WORLD_KEY], "role": "LIBRARIAN"}
    client.put(f"/agents/{agent}/world", json=body).raise_for_status()
    ends = SystemClock().now() + timedelta(days=7)
    events = [
        AgentEvent(id=f"{number:04d}", type="world.tide", source="harbour", text=text, at=NOW)
        for number, text in enumerate(texts)
    ]
    store_documents(
        data, *(new_fact(agent, HAPPENING, each.id, each, expires_at=ends) for each in events)
    )
