"""Search where the index is written: what is read and written, restarts, processes, damage."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.sqlite.database import to_milliseconds
from opencrab.adapters.sqlite_search.live import LiveSearch
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import new_fact
from opencrab.domain.erasure.request import COPIES_KEPT
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.memory.search_row import RowKind
from opencrab.ports.conversation.feed import ChangeFeed, FeedEntry
from opencrab.ports.home import Home
from opencrab.ports.memory.search import SearchQuery
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.lived import Life
from tests.searching import past_of, searching_copies


class Counting:
    """A store that counts the rows that it answers."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.rows = Counter[str]()

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            found = getattr(self._store, name)(*arguments, **named)
            self.rows[name] += len(found) if isinstance(found, tuple) else found is not None
            return found

        return call


class Shortened:
    """A feed whose older entries were deleted."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self.deleted = 0

    def read(self, *, after: int, limit: int) -> tuple[FeedEntry, ...]:
        return self._feed.read(after=max(after, self.deleted), limit=limit)

    def wait(self, *, after: int, seconds: float) -> bool:
        return self._feed.wait(after=after, seconds=seconds)

    def position(self) -> int:
        found = self._feed.position()
        return found if found > self.deleted else 0


class Place:
    """A home that is lived in, and the index files that processes have of it."""

    def __init__(self, home: Home, clock: FakeClock, folder: Path) -> None:
        assert home.feed is not None
        self.home, self.clock, self.folder = home, clock, folder
        self.life = Life(home, clock)
        self.facts, self.journal = Counting(home.facts), Counting(home.journal)
        self.feed = Shortened(home.feed)
        self.earlier = DirectorySnapshots(folder / "snapshots", clock)
        self.searches: list[LiveSearch] = []
        self.search = self.started()

    def started(self, home: Home | None = None, feed: ChangeFeed | None = None) -> LiveSearch:
        """Another process on this machine, or this one again."""
        watched = replace(
            self.home,
            facts=self.facts,  # type: ignore[arg-type]
            journal=self.journal,  # type: ignore[arg-type]
        )
        made = LiveSearch(
            past_of(home or watched, self.clock),
            feed or self.feed,
            self.folder / "copies",
            self.clock,
            earlier=self.earlier,
            most_open=3,
        )
        self.searches.append(made)
        return made

    def restarted(self) -> LiveSearch:
        self.search.close()
        self.search = self.started()
        return self.search

    def find(
        self, text: str = "crab", agent_id: str = "hana", search: LiveSearch | None = None
    ) -> list[str]:
        found = (search or self.search).search(agent_id, SearchQuery(text, limit=50))
        return sorted(each.row.text for each in found)

    def reads(self) -> int:
        """Rows read from the stores since this was asked last."""
        rows = sum(self.facts.rows.values()) + sum(self.journal.rows.values())
        self.facts.rows.clear()
        self.journal.rows.clear()
        return rows

    def file(self, suffix: str = "", agent_id: str = "hana") -> Path:
        return self.folder / "copies" / "live" / f"{agent_id}.db{suffix}"

    def holding(self, words: str) -> list[str]:
        """The files that hold some words."""
        places = (self.folder / "copies", self.folder / "snapshots")
        files = (each for place in places for each in place.rglob("*") if each.is_file())
        return [each.name for each in files if words.encode() in each.read_bytes()]


@contextmanager
def place_in(folder: Path) -> Iterator[Place]:
    clock = FakeClock(NOW)
    with sqlite(folder / "home", clock) as home:
        made = Place(home, clock, folder)
        made.life.meet("s1", "hana")
        made.life.say("hana's crab 蟹")
        yield made
        for each in made.searches:
            each.close()


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path) as made:
        yield made


def burst(at: Place, count: int) -> None:
    """Memories that were all saved at the same time."""
    now = at.clock.now()
    for number in range(count):
        memory = Memory(
            id=at.clock.new_id(),
            category="fact",
            content=f"note {number} メモ",
            created_at=now,
            updated_at=now,
        )
        at.home.facts.commit(new_fact("hana", MEMORY, memory.id, memory))


@pytest.mark.parametrize("count", [20, 400])
def test_after_a_burst_a_search_reads_only_what_it_finds(at: Place, count: int) -> None:
    burst(at, count)
    assert at.find() == ["hana's crab 蟹"]
    at.reads()
    for _ in range(3):
        assert at.find() == ["hana's crab 蟹"]
    assert at.reads() == 0
    at.life.remember("crab of memory 蟹")
    assert at.find("蟹") == ["crab of memory 蟹", "hana's crab 蟹"]
    # Once to index it, once to confirm that it is as it was.
    assert at.reads() == 2


@pytest.mark.parametrize("count", [20, 400])
def test_a_search_with_copies_reads_a_burst_again_for_five_minutes_only(
    at: Place, count: int
) -> None:
    watched = replace(at.home, facts=at.facts)  # type: ignore[arg-type]
    copies = searching_copies(watched, at.clock, at.folder)
    burst(at, count)
    copies.search("hana", SearchQuery("crab"))
    at.clock.advance(301)
    copies.search("hana", SearchQuery("crab"))
    at.reads()
    assert [each.row.text for each in copies.search("hana", SearchQuery("crab"))] != []
    assert at.reads() == 0
    copies.close()


def test_a_search_without_news_writes_nothing(at: Place) -> None:
    at.find()
    before = [
        (each.stat().st_mtime_ns, each.stat().st_size) for each in (at.file(), at.file("-wal"))
    ]
    at.clock.advance(3_600)
    at.find()
    at.find("蟹")
    after = [
        (each.stat().st_mtime_ns, each.stat().st_size) for each in (at.file(), at.file("-wal"))
    ]
    assert after == before


@pytest.mark.parametrize("count", [50, 3_000])
def test_one_more_line_writes_a_few_pages_however_large_the_index_is(at: Place, count: int) -> None:
    for number in range(0, count, 50):
        at.life.say(" ".join(f"word{number + each}" for each in range(50)))
        burst(at, 50)
    at.find()
    at.search.close()
    at.restarted()
    at.find()
    written = list[int]()
    for number in range(10):
        at.life.say(f"one more line about a crab, number {number}, 蟹の話をもう一つ")
        before = at.file("-wal").stat().st_size
        assert at.home.feed is not None
        at.search.index_entries(at.home.feed.read(after=at.home.feed.position() - 1, limit=10))
        written.append(at.file("-wal").stat().st_size - before)
    assert 0 < sum(written) / len(written) <= 64 * 1024
    assert len(at.find("one more line about")) >= 10


def test_a_restart_goes_on_where_the_index_is(at: Place) -> None:
    burst(at, 100)
    at.search.catch_up("hana")
    at.search.close()
    at.life.say("crab while nothing ran")
    at.reads()
    at.restarted()
    assert at.find() == ["crab while nothing ran", "hana's crab 蟹"]
    at.search.catch_up("hana")
    assert at.reads() <= 3


def test_after_so_long_that_the_feed_forgot_everything_is_read(at: Place) -> None:
    memory_id = at.life.remember("crab that will go")
    at.search.catch_up("hana")
    at.search.close()
    at.life.meet("quiet", "hana")
    at.life.say("quiet crab", "quiet")
    at.life.remove("memory", memory_id)
    at.feed.deleted = at.home.feed.position() if at.home.feed else 0
    at.life.meet("other", "ken")
    for empty in (True, False):
        if not empty:
            at.life.say("ken's crab", "other")
        at.restarted()
        assert at.find() == ["hana's crab 蟹", "quiet crab"]
        at.reads()
        assert at.find() == ["hana's crab 蟹", "quiet crab"]
        assert at.reads() == 0
    at.life.say("later crab")
    assert at.find() == ["hana's crab 蟹", "later crab", "quiet crab"]


def test_an_index_that_missed_marks_for_too_long_is_built_anew(at: Place) -> None:
    at.find()
    at.search.close()
    at.clock.advance((COPIES_KEPT + timedelta(days=1)).total_seconds())
    at.feed.deleted = at.home.feed.position() if at.home.feed else 0
    before = at.file().stat().st_ino
    at.restarted()
    assert at.find() == ["hana's crab 蟹"]
    assert at.file().stat().st_ino != before or at.search.status("hana").rows == 1


def test_an_index_of_another_database_is_not_used(at: Place) -> None:
    at.life.say("a crab that the other database never knew")
    at.find()
    at.search.close()
    with place_in(at.folder / "other") as other:
        # Line numbers and positions are used again there.
        other.clock.advance(1)
        other.life.say("another crab at the same number")
        at.search = at.started(other.home, other.home.feed)
        assert at.find() == ["another crab at the same number", "hana's crab 蟹"]
    at.search.close()
    with place_in(at.folder / "shorter") as shorter:
        at.search = at.started(shorter.home, shorter.home.feed)
        assert at.find() == ["hana's crab 蟹"]


def test_two_processes_share_a_file(at: Place) -> None:
    other = at.started()
    memory_id = at.life.remember("crab 珈琲 coffee")
    assert at.find("coffee") == at.find("coffee", search=other) == ["crab 珈琲 coffee"]
    at.life.reword(memory_id, "crab 紅茶 tea")
    assert at.find("紅茶") == ["crab 紅茶 tea"]
    assert at.find("珈琲 coffee", search=other) == []
    at.life.say("Mio speaks", speaker_id="mio", speaker_name="Mio")
    for search in (at.search, other):
        assert "Mio speaks" in at.find("Mio speaks", search=search)
    at.life.mark(("s1", 1, 1), refs=(f"memory:{memory_id}",))
    for search in (other, at.search):
        assert at.find("crab 蟹", search=search) == []
    assert at.search.status("hana").rows == other.status("hana").rows == 1


def test_forgetting_leaves_no_byte_in_the_file_or_its_log(at: Place) -> None:
    secret, also = "qqzebrakk", "極秘事項"
    for number in range(20):
        at.life.say(f"{secret} {number} {also} " + "padding " * 50)
    memory_id = at.life.remember(f"{secret} memory")
    other = at.started()
    assert len(at.find(secret)) == len(at.find(secret, search=other)) > 20
    assert at.holding(secret) != []
    at.life.mark(("s1", 2, 21), refs=(f"memory:{memory_id}",))
    # Who comes across the mark by the way has no byte left either.
    assert at.find() == ["hana's crab 蟹"]
    assert at.holding(secret) == at.holding(also) == []
    at.search.apply_erasures("hana")
    assert at.find(secret, search=other) == []
    assert at.holding(secret) == at.holding(also) == []


def test_old_words_of_a_changed_memory_are_gone_after_the_next_erasure(at: Place) -> None:
    memory_id = at.life.remember("qqzebrakk 極秘事項")
    at.find()
    at.life.reword(memory_id, "nothing special 普通のこと")
    at.find()
    at.search.apply_erasures("hana")
    assert at.holding("qqzebrakk") == at.holding("極秘") == []
    assert at.find("普通") == ["nothing special 普通のこと"]


@pytest.mark.parametrize("indexed", [True, False])
def test_a_snapshot_of_an_earlier_release_is_taken_over_and_removed(
    at: Place, *, indexed: bool
) -> None:
    before = searching_copies(at.home, at.clock, at.folder)
    at.life.say("qqzebrakk crab of the release before")
    before.catch_up("hana")
    before.close()
    if indexed:
        at.find()
        at.restarted()
    at.life.say("crab of this release")
    at.journal.rows.clear()
    assert len(at.find()) == 3
    assert at.earlier.newest("hana") is None
    at.life.mark(("s1", 2, 2))
    at.search.apply_erasures("hana")
    assert at.holding("qqzebrakk") == []


def test_an_earlier_snapshot_that_appears_beside_an_index_is_removed(at: Place) -> None:
    """Somebody went back to the release before, and came again."""
    at.find()
    at.search.close()
    at.life.say("qqzebrakk crab")
    before = searching_copies(at.home, at.clock, at.folder / "older")
    before.catch_up("hana")
    before.close()
    shutil.copytree(at.folder / "older" / "snapshots", at.folder / "snapshots")
    at.restarted()
    at.life.mark(("s1", 2, 2))
    at.search.apply_erasures("hana")
    assert at.holding("qqzebrakk") == []


REMOVALS = ["copies", "copies/live", "copies/live/hana.db"]


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("name", REMOVALS)
def test_what_was_removed_is_made_again(at: Place, name: str, *, running: bool) -> None:
    at.life.remember("crab memory")
    assert len(at.find()) == 2
    if not running:
        at.search.close()
    removed = at.folder / name
    shutil.rmtree(removed) if removed.is_dir() else removed.unlink()
    if not running:
        at.restarted()
    at.life.say("another crab")
    assert at.find() == ["another crab", "crab memory", "hana's crab 蟹"]


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5_000])
def test_a_damaged_file_is_built_anew(at: Place, content: bytes) -> None:
    at.find()
    at.search.close()
    at.file().write_bytes(content)
    at.restarted()
    assert at.find() == ["hana's crab 蟹"]


def test_files_of_many_agents_are_open_a_few_at_a_time(at: Place) -> None:
    for number in range(6):
        at.life.meet(f"of{number}", f"agent{number}")
        at.life.say(f"crab {number}", f"of{number}")
    for round_number in range(2):
        for number in range(6):
            found = at.find("crab", f"agent{number}")
            assert found[0] == f"crab {number}"
            at.life.say(f"crab {number} of {round_number}", f"of{number}")
    at.search.close()
    assert not list(at.file().parent.glob("*-wal"))


def test_speakers_and_names_follow_what_is_removed(at: Place) -> None:
    at.life.say("Mio said crab", speaker_id="mio", speaker_name="Mio")
    at.find()
    at.life.mark(("s1", 2, 2))
    at.find()
    with at.search._pool.acquire("hana") as live:
        names = live.index.ask(
            lambda connection: {text for (text,) in connection.execute("SELECT text FROM name")}
        )
        spoke = live.index.content()[1]
    assert names == {"s1", "taro", "太郎"}
    assert spoke == (("taro", "s1"),)
    kinds = {hit.row.kind for hit in at.search.search("hana", SearchQuery("crab"))}
    assert kinds == {RowKind.SPEECH}


def test_purged_entries_are_what_the_shortened_feed_stands_for(at: Place, tmp_path: Path) -> None:
    assert at.home.feed is not None
    database = at.home.feed._database  # type: ignore[attr-defined]
    assert at.home.feed.read(after=0, limit=10)
    later = to_milliseconds(at.clock.now() + timedelta(days=2))
    database.purge(0, later)
    assert at.home.feed.read(after=0, limit=10) == ()
    assert at.home.feed.position() == 0
    at.feed.deleted = 10**6
    assert at.feed.position() == 0
