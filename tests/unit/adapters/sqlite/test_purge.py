"""Purging: what has expired goes, a bounded amount at a time; everything else stays."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import Database, sqlite_milliseconds
from opencrab.domain.errors import NotFound
from opencrab.domain.usage.counters import ACTIVE_KEPT
from tests.contract.example import (
    JAPANESE,
    admission,
    ending,
    running,
    session,
    step,
    turn,
    usage_row,
)
from tests.contract.following import feed_of
from tests.unit.adapters.sqlite.home import NOW, database, home

AT_ONCE = 20_000
"""The most that one purge takes from one table."""

NOW_MS = sqlite_milliseconds(NOW)


def expire(opened: Database, count: int, *, at: int = NOW_MS - 1) -> None:
    with opened.write_transaction() as items:
        items.connection.executemany(
            "INSERT INTO item (pk, sk, body, expires_at) VALUES (?, 'x', ?, ?)",
            ((f"{at}/{number}", JAPANESE, at) for number in range(count)),
        )


def count(opened: Database, table: str) -> int:
    with opened.read_transaction() as items:
        rows = items.execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - a table of ours
        (found,) = rows.fetchone()
    return int(found)


def test_what_has_expired_goes_and_the_rest_stays(tmp_path: Path) -> None:
    with database(tmp_path) as opened:
        expire(opened, 1_500)
        expire(opened, 3, at=NOW_MS + 1)
        with opened.write_transaction() as items:
            items.put("for", "ever", "いつまでも")
        opened.purge(NOW_MS, 0)
        assert count(opened, "item") == 4


def test_one_purge_takes_a_bounded_amount_and_the_next_goes_on(tmp_path: Path) -> None:
    with database(tmp_path) as opened:
        expire(opened, AT_ONCE + 500)
        opened.purge(NOW_MS, 0)
        assert count(opened, "item") == 500
        opened.purge(NOW_MS, 0)
        assert count(opened, "item") == 0


def test_others_write_between_the_steps_of_a_purge(tmp_path: Path) -> None:
    with database(tmp_path) as opened:
        expire(opened, AT_ONCE)
        purging = threading.Thread(target=opened.purge, args=(NOW_MS, 0))
        purging.start()
        seen = []
        while purging.is_alive():
            with opened.write_transaction() as items:
                items.put("written", "meanwhile", "書いた")
                (left,) = items.execute("SELECT count(*) FROM item").fetchone()
            seen.append(left % 1_000)
        purging.join()
        assert set(seen) <= {0, 1}
        assert count(opened, "item") == 1


def test_deduplication_is_forgotten_after_its_time(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, file):
        opened.turns.send("朝", group="g", deduplication="d")
        file.purge(sqlite_milliseconds(NOW + timedelta(seconds=299)), 0)
        assert count(file, "sent") == 1
        file.purge(sqlite_milliseconds(NOW + timedelta(seconds=301)), 0)
        assert count(file, "sent") == 0
        assert count(file, "queue") == 1


def test_the_feed_forgets_its_oldest_entries_and_keeps_counting(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, file):
        running(opened)
        newest = feed_of(opened).position()
        file.purge(0, NOW_MS - 1)
        assert feed_of(opened).position() == newest
        file.purge(0, sqlite_milliseconds(NOW + timedelta(days=2)))
        (kept,) = feed_of(opened).read(after=0, limit=10)
        assert kept.position == newest
        opened.journal.admit(admission(turn("t2"), message_id="m2"))
        assert feed_of(opened).position() > newest
        assert len(feed_of(opened).read(after=newest, limit=10)) == 2


@pytest.mark.parametrize("days", [34, 36])
def test_an_ended_turn_is_kept_for_thirty_five_days_and_its_lines_for_ever(
    tmp_path: Path, days: int
) -> None:
    with home(tmp_path) as (opened, file):
        opened.journal.commit(ending(running(opened)))
        file.purge(sqlite_milliseconds(NOW + timedelta(days=days)), 0)
        if days < 35:
            assert opened.journal.load("t1").turn.status.is_end
        else:
            with pytest.raises(NotFound):
                opened.journal.load("t1")
        assert [one.text for one in opened.journal.lines("s1")] == [JAPANESE]
        assert opened.sessions.get("s1").agent_ids == session().agent_ids


def test_a_turn_that_has_not_ended_never_expires(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, file):
        current = running(opened)
        file.purge(sqlite_milliseconds(NOW + timedelta(days=1_000)), 0)
        assert opened.journal.load("t1").turn == current


def test_what_was_counted_is_kept_for_ever_and_who_was_active_is_not(tmp_path: Path) -> None:
    day, last = "2026-02-17", timedelta(hours=3)
    over = NOW.replace(hour=0, minute=0) + timedelta(days=1) - NOW
    with home(tmp_path) as (opened, file):
        current = opened.journal.commit(step(running(opened), usage=(usage_row(1),)))
        opened.journal.commit(step(current, usage=(usage_row(2, at=NOW + last),)))
        file.purge(sqlite_milliseconds(NOW + ACTIVE_KEPT + over) - 1, 0)
        assert opened.tallies.active_agents(day) == ("hana",)
        file.purge(sqlite_milliseconds(NOW + ACTIVE_KEPT + over) + 1, 0)
        assert opened.tallies.active_agents(day) == ()
        file.purge(sqlite_milliseconds(NOW + timedelta(days=10_000)), 0)
        assert len(opened.tallies.between("hana", day, day)) == 1
        assert len(opened.usage.rows("hana")) == 2
