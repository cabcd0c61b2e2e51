"""Search on copies: room, time, hints, long lives, forgetting and threads."""

import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files.snapshots import HEAD_BYTES
from opencrab.adapters.search_rows import Batch, IndexProgress, SearchRowReader
from opencrab.adapters.sqlite_search.backfill import ROWS_AT_ONCE
from opencrab.adapters.sqlite_search.publication.increment import read_sqlite_search_increment
from opencrab.adapters.sqlite_search.search import REFRESH_SECONDS, SqliteSearch
from opencrab.domain.conversation.message import Line
from opencrab.domain.erasure.request import COPIES_KEPT
from opencrab.domain.errors import Unavailable
from opencrab.ports.conversation.feed import DocumentChange, FeedEntry
from opencrab.ports.memory.search import SearchQuery
from tests.contract.waiting import at_once
from tests.searching import past_of
from tests.unit.adapters.sqlite_search.machine import Machine, machine
from tests.unit.adapters.sqlite_search.shelf import line


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Machine]:
    with machine(tmp_path) as made:
        yield made


def test_copies_of_many_agents_take_turns_in_the_room_there_is(at: Machine) -> None:
    search = at.started(most_copies=3)
    for number in range(6):
        at.life.meet(f"of{number}", f"agent{number}")
        at.life.say(f"crab {number}", f"of{number}")
    for _ in range(2):
        for number in range(6):
            assert at.find("crab", f"agent{number}", search) == [f"crab {number}"]
    assert len(at.files()) == 3
    search.close()
    assert at.files() == []


def test_what_dead_processes_left_is_removed_and_what_the_living_have_stays(at: Machine) -> None:
    assert at.find("crab") == ["hana's crab 蟹"]
    left = at.folder / "copies" / "tmpdead"
    left.mkdir()
    (left / "1.db").write_bytes(b"words")
    (left / "in-use").touch()
    (at.folder / "copies" / "note").write_text("no folder")
    other = at.started()
    assert not left.exists()
    assert at.find("crab") == at.find("crab", search=other) == ["hana's crab 蟹"]
    assert len(at.files()) == 2


def test_a_folder_that_cannot_be_used_is_said(at: Machine) -> None:
    (at.folder / "file").touch()
    with pytest.raises(Unavailable, match="cannot hold indexes"):
        SqliteSearch(at.past, at.store.store, at.folder / "file" / "copies", at.clock)


def test_whoever_has_a_copy_searches_on_while_no_snapshot_can_be_read(at: Machine) -> None:
    at.find("crab")
    at.store.down = True
    at.clock.advance(REFRESH_SECONDS + 1)
    at.life.say("later crab")
    at.life.remember("crab of memory")
    assert "crab of memory" in at.find("crab")
    with pytest.raises(Unavailable):
        at.index()
    with pytest.raises(Unavailable):
        at.find("crab", search=at.started())
    at.store.down = False
    at.index()
    assert len(at.find("crab", search=at.started())) == 3


def test_a_newer_snapshot_is_looked_for_now_and_then(at: Machine) -> None:
    other = at.started()
    at.find("crab")
    at.life.meet("quiet", "hana")
    at.life.say("quiet crab", "quiet")
    assert at.home.feed is not None
    other.index_entries(at.home.feed.read(after=0, limit=100))
    at.store.calls.clear()
    for _ in range(5):
        assert at.find("crab") == ["hana's crab 蟹"]
    assert at.store.calls == []
    at.clock.advance(REFRESH_SECONDS + 1)
    assert at.find("crab") == ["hana's crab 蟹", "quiet crab"]
    assert at.store.calls == ["newest", "fetch"]


def test_a_newer_snapshot_that_knows_less_takes_nothing_back(at: Machine) -> None:
    """A line of a session that is not busy, which was found here and told nobody else yet."""
    at.index()
    at.life.meet("quiet", "hana")
    at.life.say("quiet crab", "quiet")
    at.search.search("hana", SearchQuery("crab", session_id="quiet"))
    other = at.started()
    at.life.remember("memory crab")
    assert at.home.feed is not None
    facts = [each for each in at.home.feed.read(after=0, limit=100) if each.kind == "fact"]
    other.index_entries(facts)
    assert at.newest().rows == 2
    at.clock.advance(REFRESH_SECONDS + 1)
    assert at.find("crab") == ["hana's crab 蟹", "memory crab", "quiet crab"]


def test_the_same_hints_again_publish_nothing(at: Machine) -> None:
    at.index()
    first = at.newest()
    at.index()
    at.search.catch_up("hana")
    assert at.newest() == first


def test_hints_that_lead_nowhere_are_harmless(at: Machine) -> None:
    nowhere = [
        FeedEntry(1, "line", "nosuch", None, "{}"),
        FeedEntry(2, "turn", "s1", "t1", "completed"),
        FeedEntry(3, "something else", "", None, ""),
    ]
    gone = [
        DocumentChange(owner=owner, kind=kind, id=fact_id, removed=removed)
        for owner in ("hana", "nobody")
        for kind, fact_id in (("memory", "m"), ("summary", "S000000001"), ("forgotten", "f"))
        for removed in (False, True)
    ]
    told = [FeedEntry(9, "fact", "", None, each.model_dump_json()) for each in gone]
    at.search.index_entries([*nowhere, *told])
    assert at.find("crab") == ["hana's crab 蟹"]
    assert at.find("crab", "nobody") == []


def test_one_agent_that_cannot_be_published_keeps_nobody_else_back(at: Machine) -> None:
    at.life.meet("theirs", "ken")
    at.life.say("ken's crab", "theirs")
    (at.folder / "snapshots").mkdir()
    (at.folder / "snapshots" / "hana").touch()
    with pytest.raises(Unavailable):
        at.index()
    assert at.newest("ken").rows == 1


def test_the_present_session_is_found_while_the_list_of_sessions_lags(at: Machine) -> None:
    class Lagging:
        get = at.home.sessions.get

        def page(self, **_where: Any) -> tuple[()]:
            return ()

    lagging = past_of(replace(at.home, sessions=Lagging()), at.clock)  # type: ignore[arg-type]
    found = at.started(lagging).search("hana", SearchQuery("crab", session_id="s1"))
    assert [each.row.text for each in found] == ["hana's crab 蟹"]


class Breaking(SearchRowReader):
    """A past of one long session, which breaks off once, after so many batches."""

    def __init__(self, after: int) -> None:
        self._left = after

    def new_batches(self, agent_id: str, seen: IndexProgress, *session_ids: str) -> Iterator[Batch]:
        for first in range(seen.lines.get("s1", 0) + 1, 2 * ROWS_AT_ONCE + 1_000, 1_000):
            self._left -= 1
            if self._left == 0:
                raise Unavailable("the table does not answer")
            rows = tuple(line(first + number, "蟹") for number in range(1_000))
            yield Batch(rows=rows, session_id="s1", last=first + 999)


def test_a_life_that_is_too_long_for_one_transaction_is_read_bit_by_bit(at: Machine) -> None:
    broken = at.started(Breaking(after=ROWS_AT_ONCE // 1_000 + 2))
    with pytest.raises(Unavailable):
        broken.search("hana", SearchQuery("crab"))
    with broken._copies.acquire("hana") as copy:
        assert copy.index.rows() == ROWS_AT_ONCE
        # As long as a part is missing it counts as too old to be used.
        at_last = copy.index.progress().at
        assert at_last is not None
        assert at_last < at.clock.now() - COPIES_KEPT
    broken.search("hana", SearchQuery("crab"))
    assert broken.status("hana").lines == (("s1", 2 * ROWS_AT_ONCE + 1_000),)
    assert broken.status("hana").rows == 2 * ROWS_AT_ONCE + 1_000


def test_a_copy_that_may_have_missed_a_mark_begins_anew(at: Machine) -> None:
    at.life.say("secret crab")
    at.index()
    assert at.home.facts.page("hana", "forgotten") == ()
    # The mark came and was removed again long ago; the line went with it.
    at.clock.advance((COPIES_KEPT + timedelta(days=1)).total_seconds())
    without = at.started(Forgetful(at, "secret crab"))
    assert at.find("crab", search=without) == ["hana's crab 蟹"]


class Forgetful(SearchRowReader):
    """A past in which one line is gone."""

    def __init__(self, at: Machine, gone: str) -> None:
        home = at.home
        super().__init__(home.journal, home.sessions, home.facts, home.usage, at.clock)
        lines = home.journal.lines

        class Journal:
            def lines(self, session_id: str, **where: Any) -> tuple[Line, ...]:
                return tuple(each for each in lines(session_id, **where) if each.text != gone)

        self._journal = Journal()  # type: ignore[assignment]


def test_forgetting_leaves_no_byte_on_the_machine(at: Machine) -> None:
    secret = "qqzebrakk"
    for number in range(20):
        at.life.say(f"{secret} {number} 極秘事項 " + "padding " * 50)
    memory_id = at.life.remember(f"{secret} memory")
    at.index()
    at.life.say(f"{secret} in an increment")
    at.index()
    assert len(holding(at, secret.encode())) > 2
    assert len(at.find(secret)) > 20
    assert holding(at, secret.encode()) != []
    other = at.started()
    assert len(at.find(secret, search=other)) > 20
    at.life.mark(("s1", 2, 22), refs=(f"memory:{memory_id}",))
    # Who comes across the mark by the way has no byte left either.
    assert at.find("crab", search=other) == at.find("crab") == ["hana's crab 蟹"]
    assert not [each for each in holding(at, secret.encode()) if each.suffix == ".db"]
    at.index()
    at.search.apply_erasures("hana")
    assert at.newest().rows == 1
    assert holding(at, secret.encode()) == []
    assert holding(at, "極秘".encode()) == []
    assert at.find("crab", search=at.started()) == ["hana's crab 蟹"]


def holding(at: Machine, words: bytes) -> list[Path]:
    """The files of copies and snapshots that hold some words, compressed or not."""
    places = (at.folder / "copies", at.folder / "snapshots")
    files = (each for place in places for each in place.rglob("*") if each.is_file())
    return [each for each in files if words in plain(each.read_bytes()[HEAD_BYTES:], each)]


def plain(content: bytes, file: Path) -> bytes:
    """What an increment says; of all else its bytes."""
    with suppress(zlib.error):
        return zlib.decompress(content)
    return file.read_bytes()


def test_many_threads_search_and_index_at_once(at: Machine) -> None:
    search = at.started(most_copies=2)
    agents = ("hana", "ken", "mio", "taro")
    for each in agents:
        at.life.meet(f"of-{each}", each)
    assert at.home.feed is not None
    feed = at.home.feed

    def act(number: int) -> int:
        agent = agents[number % len(agents)]
        last = at.life.say(f"crab {number} of {agent}", f"of-{agent}")
        if number % 5 == 0:
            search.index_entries(feed.read(after=0, limit=1_000))
        found = search.search(agent, SearchQuery("crab", session_id=f"of-{agent}", limit=50))
        assert all(each.row.session_id == f"of-{agent}" for each in found)
        assert last in {each.row.sequence for each in found}
        return len(found)

    assert max(at_once(24, act)) == 6
    # A copy that is in use stays; the next who comes makes room.
    assert at.find("crab", "ken", search)
    assert len(at.files()) == 2


def test_a_snapshot_of_the_table_before_a_restore_is_not_used(at: Machine) -> None:
    """A restored table uses line numbers again: the old index would take new lines for known."""
    old = at.started(source="old")
    with machine(at.folder / "restored") as restored:
        at.life.say("line that the restore took back")
        assert at.home.feed is not None
        old.index_entries(at.home.feed.read(after=0, limit=100))
        restored.life.say("new crab line with its number")
        new = at.started(restored.past, source="new")
        assert new.search("hana", SearchQuery("restore", session_id=None)) == ()
        assert at.find("crab", search=new) == ["hana's crab 蟹", "new crab line with its number"]
        assert restored.home.feed is not None
        new.index_entries(restored.home.feed.read(after=0, limit=100))
    back = at.find("restore", search=at.started(source="old"))
    assert "line that the restore took back" in back


def test_a_snapshot_that_names_no_table_is_taken_as_of_the_present_one(at: Machine) -> None:
    at.index()
    at.life.say("second crab")
    other = at.started(source="table")
    assert at.home.feed is not None
    other.index_entries(at.home.feed.read(after=0, limit=100))
    file = at.folder / "fetched.db"
    assert at.store.store.fetch(at.newest(), file)
    increment = read_sqlite_search_increment(file)
    assert increment is not None
    assert increment.source == "table"
    assert len(at.find("crab", search=at.started(source="table"))) == 2
    # What came since is of the table that the increment names, whatever the index says.
    with machine(at.folder / "restored") as restored:
        search = at.started(restored.past, source="restored")
        assert at.find("crab", search=search) == ["hana's crab 蟹"]
