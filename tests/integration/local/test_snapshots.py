"""Snapshots under fire: two processes over one directory, and publishers that are killed."""

import sqlite3
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.search_rows import IndexProgress
from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.adapters.system_clock import SystemClock
from opencrab.domain.errors import Unavailable
from opencrab.ports.memory.search import SearchQuery
from opencrab.ports.memory.snapshots import Snapshot
from tests.integration.local.living import (
    AGENT,
    Shared,
    forked,
    killed,
    searching,
    told,
    waited,
    words,
)
from tests.published import index_of
from tests.soak import count

ROUNDS = 20
KILLS = count("kills of who publishes snapshots")
TOLD_AGAIN = 20
MOMENT_SECONDS = 0.0017
PATIENCE_SECONDS = 30.0


class Reader:
    """Fetches the newest snapshot all the time, and does not believe a word of it."""

    def __init__(self, folder: Path) -> None:
        self._store = DirectorySnapshots(folder / "snapshots", SystemClock())
        self._file = folder / "fetched"
        self.reads = 0
        self.lines: dict[str, int] = {}
        self.newest: Snapshot | None = None

    def read(self) -> None:
        """One whole snapshot, that knows no less than the one before."""
        newest = self._store.newest(AGENT)
        self._file.unlink(missing_ok=True)
        if newest is None or not index_of(self._store, newest, self._file):
            # It may have been replaced since; it may never be damaged.
            assert newest is None or self._store.newest(AGENT) != newest
            return
        connection = sqlite3.connect(self._file)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
        index = Index(AGENT, self._file)
        lines = dict(index.progress().lines)
        assert index.rows() == newest.rows == sum(lines.values())
        index.close()
        assert all(lines.get(name, 0) >= last for name, last in self.lines.items())
        self.reads, self.lines, self.newest = self.reads + 1, lines, newest

    def read_until(self, ended: threading.Event) -> None:
        while not ended.is_set():
            self.read()


def content_of(file: Path) -> Any:
    index = Index(AGENT, file)
    try:
        return index.content()
    finally:
        index.close()


def content_from_journal(shared: Shared) -> Any:
    index = Index(AGENT, None)
    index.take(list(shared.past().new_batches(AGENT, IndexProgress())), SystemClock().now())
    return index.content()


def live(folder: Path, session_id: str) -> None:
    """What one Lambda does: it lives, searches and publishes, and sees nothing go back."""
    shared = Shared(folder / "journal")
    search = searching(folder, shared, session_id)
    known: dict[str, int] = {}
    for _ in range(ROUNDS):
        last = shared.say(session_id, 3)
        found = search.search(AGENT, SearchQuery(words(session_id, last), session_id=session_id))
        assert found[0].row.sequence == last
        tell(search, session_id)
        lines = dict(search.status(AGENT).lines)
        assert all(lines.get(name, 0) >= number for name, number in known.items())
        known = lines
    search.close()


def tell(search: SqliteSearch, session_id: str) -> None:
    """Tell it again as long as others are faster, as a stream does."""
    for _ in range(TOLD_AGAIN):
        with suppress(Unavailable):
            search.index_entries([told(session_id)])
            return
    raise AssertionError("others were always faster")


def publish_on(folder: Path) -> None:
    """Publish without end."""
    shared = Shared(folder / "journal")
    search = searching(folder, shared, "victims")
    while True:
        shared.say("s1", 20)
        search.index_entries([told("s1")])


@pytest.mark.timeout(120)
def test_two_processes_over_one_directory_lose_nothing_and_never_go_back(tmp_path: Path) -> None:
    Shared(tmp_path / "journal")
    lives = [forked(partial(live, tmp_path, name)) for name in ("s1", "s2")]
    reader, ended = Reader(tmp_path), threading.Event()
    watching = threading.Thread(target=reader.read_until, args=(ended,))
    watching.start()
    codes = [waited(each) for each in lives]
    ended.set()
    watching.join()
    assert codes == [0, 0]
    reader.read()
    assert reader.reads > 1
    assert reader.lines == {"s1": 3 * ROUNDS, "s2": 3 * ROUNDS}
    shared = Shared(tmp_path / "journal")
    assert content_of(tmp_path / "fetched") == content_from_journal(shared)


@pytest.mark.timeout(120)
def test_a_publisher_killed_at_any_moment_leaves_a_whole_snapshot(tmp_path: Path) -> None:
    shared, reader = Shared(tmp_path / "journal"), Reader(tmp_path)
    for kill in range(KILLS):
        before = reader.newest
        publisher = forked(partial(publish_on, tmp_path))
        deadline = time.monotonic() + PATIENCE_SECONDS
        # At least once in three it dies at work, not while it begins.
        while kill % 3 and reader.newest == before and time.monotonic() < deadline:
            reader.read()
        time.sleep(kill * MOMENT_SECONDS)
        killed(publisher)
        reader.read()
    assert reader.reads > KILLS
    search = searching(tmp_path, shared, "victims")
    search.index_entries([told("s1")])
    reader.read()
    assert reader.lines == {"s1": shared.last("s1")}
    assert content_of(tmp_path / "fetched") == content_from_journal(shared)
    search.close()
    assert [each.name for each in (tmp_path / "copies-victims").iterdir()] == ["in-use"]
