"""The file of a live index: restarts, gaps in the feed, other databases, snapshots, damage."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import sqlite_milliseconds
from opencrab.adapters.sqlite_search.index import DamagedIndex
from opencrab.domain.erasure.request import COPIES_KEPT
from opencrab.domain.errors import Unavailable
from tests.searching import searching_copies
from tests.unit.adapters.sqlite_search.live_machine import Place, burst, place_in


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Place]:
    with place_in(tmp_path) as made:
        yield made


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


@pytest.mark.parametrize("name", ["copies/live", "copies/live/hana.db"])
def test_a_file_that_cannot_be_made_is_named_until_it_can(at: Place, name: str) -> None:
    at.find()
    at.search.close()
    shutil.rmtree(at.file().parent)
    (at.folder / name).mkdir(parents=True)
    if name == "copies/live":
        (at.folder / name).rmdir()
        (at.folder / name).write_text("a file where the folder should be")
    search = at.restarted()
    for use in (at.find, lambda: search.apply_erasures("hana"), lambda: search.status("hana")):
        with pytest.raises(Unavailable, match="cannot be used") as caught:
            use()
        assert not isinstance(caught.value, DamagedIndex)
    shutil.move(at.folder / name, at.folder / "away")
    assert at.find() == ["hana's crab 蟹"]


def test_purged_entries_are_what_the_shortened_feed_stands_for(at: Place, tmp_path: Path) -> None:
    assert at.home.feed is not None
    database = at.home.feed._database  # type: ignore[attr-defined]
    assert at.home.feed.read(after=0, limit=10)
    later = sqlite_milliseconds(at.clock.now() + timedelta(days=2))
    database.purge(0, later)
    (newest,) = at.home.feed.read(after=0, limit=10)
    at.feed.deleted = newest.position - 1
    assert at.feed.read(after=0, limit=10) == (newest,)
    assert at.feed.position() == newest.position


def test_an_index_that_followed_the_feed_to_its_end_reads_nothing_after_days_off(
    at: Place,
) -> None:
    at.life.say("crab 蟹 before the holidays")
    at.search.catch_up("hana")
    at.search.close()
    at.clock.advance(9 * 86_400)
    at.home.feed._database.purge(0, sqlite_milliseconds(at.clock.now()))  # type: ignore[union-attr]
    at.restarted()
    at.reads()
    assert "crab 蟹 before the holidays" in at.find()
    assert at.reads() == 0


def test_what_the_release_before_left_and_what_it_would_find_are_removed(at: Place) -> None:
    left = at.folder / "copies" / "tmpdead"
    left.mkdir(parents=True)
    (left / "1.db").write_bytes(b"qqzebrakk")
    at.restarted()
    assert not left.exists()
    at.find()
    at.search.close()
    before = searching_copies(at.home, at.clock, at.folder)
    assert not at.file().exists()
    before.close()
    at.restarted()
    assert at.find() == ["hana's crab 蟹"]


def test_an_index_whose_last_line_was_erased_goes_on_where_it_is(at: Place) -> None:
    at.life.say("qqzebrakk crab 蟹")
    at.search.catch_up("hana")
    at.search.close()
    at.home.eraser.redact("s1", [2])
    made = at.file().stat().st_ino
    at.restarted()
    at.reads()
    assert "hana's crab 蟹" in at.find()
    assert at.reads() == 0
    assert at.file().stat().st_ino == made
