"""A house in which a session grows line by line, and a scribe who writes its summaries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.summary import SUMMARY, CompactionState, Summary, SummaryIndex
from opencrab.domain.models.routing import LlmConfig, Use
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.memory.compaction.source import StoredSummaries
from opencrab.engine.memory.compaction.trigger import request_compaction
from opencrab.engine.runtime import Rules
from opencrab.ports.turn.journal import TurnChange
from tests.contract.homes import sqlite
from tests.crash.outside import Reply, Script
from tests.e2e.house import House

EVERY = 8
TOLD = Reply("海の話\n太郎は波の高さを尋ね、美香は三メートルと答えた。")
BATCH = 15


def house(
    folder: Path,
    *replies: Reply,
    language: Language = Language.JA,
    every: int = EVERY,
    **rules: Any,
) -> tuple[House, Agent]:
    """A house with Mika in session `s`, whose summaries the scribe writes."""
    made = House(sqlite, folder, Rules(compact_every=every, **rules))
    agent = made.agent("mika", (Reply("はい。"),), language)
    made.scripts["scribe"] = replies or (TOLD,)
    agent = made.home.agents.save(
        agent.replaced(llm=LlmConfig(models={Use.ANALYSIS: "fake:scribe"}))
    )
    made.session(agent)
    return made, agent


def grow(
    made: House,
    count: int,
    text: Callable[[int], str] = lambda n: f"{n}番目の話",
    session_id: str = "s",
    batch: int = BATCH,
    **changes: Any,
) -> None:
    """Let people have said so much, without any turn for it."""
    first = _last(made, session_id) + 1
    writer = _writer(made, session_id, first)
    journal, now = made.home.journal, made.clock.now()
    held = journal.claim(writer.id, lease_until=now, receipt=None)
    assert held is not None
    turn = held.turn
    for start in range(0, count, batch):
        lines = tuple(
            Line(
                **{
                    "session_id": session_id,
                    "group": f"g{first + start + n}",
                    "kind": LineKind.SPEECH,
                    "speaker_id": "taro",
                    "speaker_name": "太郎",
                    "authority": Authority.OWNER,
                    "text": text(first + start + n),
                    "at": now,
                    **changes,
                }
            )
            for n in range(min(batch, count - start))
        )
        turn = journal.commit(TurnChange(turn=turn, expected=turn.sequence, lines=lines, at=now))
    over = turn.replaced(status=TurnStatus.IDLE, ended_at=now, lease_until=None)
    journal.commit(TurnChange(turn=over, expected=turn.sequence, at=now))


def ask(made: House, cause: str = "1", session_id: str = "s") -> None:
    """What the end of a turn sends when a session has grown."""
    request_compaction(made.runtime.home.compactions, "mika", session_id, cause)


def library(made: House) -> StoredSummaries:
    return StoredSummaries(made.home.facts, "mika")


def progress(made: House, session_id: str = "s") -> CompactionState:
    return library(made).compaction(session_id)[1]


def shelf(made: House) -> SummaryIndex:
    return library(made).load_summary_index()[1]


def summaries(made: House) -> list[Summary]:
    """All summaries, oldest first."""
    return [fact.read(Summary) for fact in made.home.facts.page("mika", SUMMARY)]


def script(made: House, *replies: Reply) -> Script:
    """From now on the scribe answers so."""
    made.scripts["scribe"] = replies
    return replies


def _writer(made: House, session_id: str, first: int) -> Turn:
    now = made.clock.now()
    turn = Turn(
        id=stable_id("writer", session_id, str(first)),
        agent_id="mika",
        session_id=session_id,
        trigger=Trigger.EVENT,
        source=Source.SCHEDULE,
        authority=Authority.SELF,
        principal_id="mika",
        group="writer",
        body_hash="",
        created_at=now,
    )
    return made.home.journal.open(turn)


def _last(made: House, session_id: str) -> int:
    newest = made.home.journal.lines(session_id, limit=1, newest_first=True)
    return newest[0].sequence if newest else 0
