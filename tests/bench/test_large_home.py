"""A home that the benchmark makes is one that the product opens, and the same each time."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.memory.memory import MEMORY
from opencrab.domain.turn.turn import TurnStatus
from tests.bench.large_home import DAYS, Large, make_large_home

TODAY = datetime(2026, 2, 17, 20, 30, tzinfo=UTC)
_DIFFERS = re.compile(r'"(condition|receipt)":"[^"]*"')
"""The inode and time of a file, and the receipts of the queue."""

SESSIONS, EACH, MEMORIES = 6, 3, 70


def _made(folder: Path) -> Large:
    return make_large_home(
        folder, turns=SESSIONS * EACH, sessions=SESSIONS, memories=MEMORIES, today=TODAY
    )


def test_every_session_has_its_turns_and_every_memory_is_there(tmp_path: Path) -> None:
    made = _made(tmp_path)
    files, blobs = LocalFiles(tmp_path), LocalBlobs(tmp_path)
    home, database = open_sqlite_home(tmp_path, FakeClock(TODAY), files=files, blobs=blobs)
    sessions = home.sessions.page(after=None, limit=50)
    assert len({each.id for each in sessions}) == SESSIONS
    days, turns = set(), set()
    for session in sessions:
        lines = home.journal.lines(session.id, limit=50)
        assert len(lines) == 3 * EACH
        assert [line.sequence for line in lines] == list(range(1, 3 * EACH + 1))
        for turn_id in {line.turn_id for line in lines if line.turn_id}:
            turn = home.journal.header(turn_id)
            assert (turn.session_id, turn.status) == (session.id, TurnStatus.COMPLETED)
            assert len(home.journal.load(turn_id).records) == 6
            turns.add(turn_id)
            days.add(turn.created_at.date())
    assert len(turns) == SESSIONS * EACH
    assert len(days) == SESSIONS
    assert (TODAY.date() - min(days)).days < DAYS
    memories = home.facts.page(made.agent_id, MEMORY, limit=100)
    assert len(memories) == MEMORIES
    database.close()


def test_it_is_the_same_each_time(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "other"):
        _made(tmp_path / name)
        with closing(sqlite3.connect(tmp_path / name / "opencrab.db")) as file:
            rows = file.execute("SELECT * FROM item ORDER BY pk, sk").fetchall()
        contents.append(_DIFFERS.sub("", repr(rows)))
    assert contents[0] == contents[1]
