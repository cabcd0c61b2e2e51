"""Calls for vectors, which belong to no session, hide no session from who looks for what is new."""

from pathlib import Path
from typing import Any

from opencrab.adapters.search_rows import IndexProgress, SearchRowReader
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.models.routing import Use
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.usage.ledger import UsageRow
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.lived import Life


class Rows:
    """A ledger of a long list of rows, newest first."""

    def __init__(self, rows: list[UsageRow]) -> None:
        self.rows_kept, self.reads = rows, 0

    def rows(
        self, _agent_id: str, *, after: str | None = None, limit: int, **_: Any
    ) -> tuple[UsageRow, ...]:
        self.reads += 1
        start = 0
        if after is not None:
            start = [row.id for row in self.rows_kept].index(after) + 1
        return tuple(self.rows_kept[start : start + limit])


def row(n: int, session_id: str) -> UsageRow:
    return UsageRow(
        agent_id="hana",
        session_id=session_id,
        turn_id=f"t{n}",
        n=1,
        at=NOW,
        trigger=Trigger.MESSAGE if session_id else Trigger.EMBEDDING,
        provider="fake",
        model="m",
        purpose=Use.CONVERSATION if session_id else Use.EMBEDDING,
        task_type="x",
        complexity=0.0,
        tier=2,
        chosen_by="use",
        state=CallState.COMPLETED,
        reserved=0,
        cost=0,
    )


def sessions_of_news(folder: Path, rows: list[UsageRow]) -> tuple[set[str], int]:
    clock = FakeClock(NOW)
    with sqlite(folder, clock) as home:
        life, ledger = Life(home, clock), Rows(rows)
        life.meet("s1", "hana")
        life.say("海の話 of the sea")
        past = SearchRowReader(home.journal, home.sessions, home.facts, ledger, clock)  # type: ignore[arg-type]  # only its rows are read
        told = past.new_batches("hana", IndexProgress(at=NOW))
        return {batch.session_id for batch in told if batch.session_id}, ledger.reads


def test_calls_for_vectors_hide_no_session(tmp_path: Path) -> None:
    rows = [row(n, "") for n in range(450)] + [row(500, "s1")]
    assert sessions_of_news(tmp_path, rows) == ({"s1"}, 3)


def test_without_such_calls_the_ledger_is_read_once(tmp_path: Path) -> None:
    rows = [row(n, "s1") for n in range(450)]
    assert sessions_of_news(tmp_path, rows) == ({"s1"}, 1)
