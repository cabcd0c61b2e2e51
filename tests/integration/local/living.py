"""A past that several processes share in one file, and processes that live, search and publish."""

import os
import signal
import sqlite3
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, cast

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.search_rows import SearchRowReader
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.adapters.system_clock import SystemClock
from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.errors import NotFound
from opencrab.ports.conversation.feed import FeedEntry

AGENT = "hana"
START = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


class Shared:
    """Lines in a file that any process may write: as much of the stores as an index reads."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(
            file, isolation_level=None, timeout=30, check_same_thread=False
        )
        self._connection.execute("PRAGMA synchronous=OFF")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS line (session TEXT, number INTEGER, PRIMARY KEY"
            " (session, number))"
        )

    def say(self, session_id: str, count: int) -> int:
        """So many more lines of a session; answers the last number."""
        self._connection.execute("BEGIN IMMEDIATE")
        last = self.last(session_id)
        numbers = [(session_id, last + each + 1) for each in range(count)]
        self._connection.executemany("INSERT INTO line VALUES (?, ?)", numbers)
        self._connection.execute("COMMIT")
        return last + count

    def last(self, session_id: str) -> int:
        """The last number of a session."""
        found = self._connection.execute(
            "SELECT coalesce(max(number), 0) FROM line WHERE session=?", (session_id,)
        )
        return int(found.fetchone()[0])

    def lines(self, session_id: str, *, after: int = 0, limit: int = 100) -> tuple[Line, ...]:
        found = self._connection.execute(
            "SELECT number FROM line WHERE session=? AND number>? ORDER BY number LIMIT ?",
            (session_id, after, limit),
        )
        return tuple(_line(session_id, number) for (number,) in found.fetchall())

    def get(self, session_id: str, *_fact: str) -> Session | None:
        if _fact:
            return None
        if not self.last(session_id):
            raise NotFound(f"there is no session {session_id!r}")
        return _session(session_id)

    def page(self, *_owner: str, **_where: Any) -> tuple[Session, ...]:
        if _owner or _where.get("after"):
            return ()
        found = self._connection.execute("SELECT DISTINCT session FROM line ORDER BY session")
        return tuple(_session(session_id) for (session_id,) in found.fetchall())

    def rows(self, _agent_id: str, **_where: Any) -> tuple[()]:
        return ()

    def past(self) -> SearchRowReader:
        """The past as these lines tell it; there are no facts and no usage."""
        stores = cast("Any", self)
        return SearchRowReader(stores, stores, stores, stores, SystemClock())


def searching(folder: Path, shared: Shared, name: str) -> SqliteSearch:
    """What one process has; it looks for a newer snapshot with every search."""
    snapshots = DirectorySnapshots(folder / "snapshots", SystemClock())
    copies = folder / f"copies-{name}"
    return SqliteSearch(shared.past(), snapshots, copies, SystemClock(), refresh_seconds=0.001)


def told(session_id: str) -> FeedEntry:
    """A hint that a session has a new line."""
    return FeedEntry(1, "line", session_id, None, "")


def words(session_id: str, number: int) -> str:
    """What a line says; no other says the same."""
    return f"蟹 crab{session_id}n{number} ｶﾆ"


def forked(run: Callable[[], None]) -> int:
    """Run something in a process of its own; answers its id."""
    process_id = os.fork()
    if not process_id:
        _run(run)
    return process_id


def waited(process_id: int) -> int:
    """The exit code of a process that has ended; negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process_id, 0)[1])


def killed(process_id: int) -> None:
    """End a process without a word."""
    os.kill(process_id, signal.SIGKILL)
    assert waited(process_id) == -signal.SIGKILL


def _run(run: Callable[[], None]) -> NoReturn:
    """Nothing of the test that was forked may run on here, not even its end."""
    code = 1
    try:
        run()
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)


def _session(session_id: str) -> Session:
    return Session(
        id=session_id,
        participants=(Participant(agent_id=AGENT),),
        created_by="owner",
        created_at=START,
        updated_at=START,
    )


def _line(session_id: str, number: int) -> Line:
    return Line(
        session_id=session_id,
        sequence=number,
        group="g",
        kind=LineKind.SPEECH,
        speaker_id="taro",
        speaker_name="太郎",
        authority=Authority.USER,
        text=words(session_id, number),
        at=START + timedelta(seconds=number),
    )
