"""Retention of single calls: rows of old days go, in small steps, and no total changes."""

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.home import FILE
from opencrab.adapters.sqlite.turn.call_retention import SqliteCallRetention
from opencrab.adapters.sqlite_pages.page_erasure import release_free_sqlite_pages
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.usage.ledger import UsageRow
from opencrab.ports.home import Home
from tests.contract.example import JAPANESE, admission, running, step, turn, usage_row
from tests.unit.adapters.sqlite.home import NOW, home

EARLY = "UPDATE item SET body=json_remove(body, '$.counts.full', '$.counts.unconfirmed')"
STEPS = 20


def calls(days: int, agent_id: str = "hana", each: int = 3) -> list[UsageRow]:
    """Calls of the last days, of which one a day was perhaps billed."""
    return [
        usage_row(
            day * each + n + 1,
            agent_id=agent_id,
            at=NOW - timedelta(days=day, minutes=n),
            state=CallState.COMPLETED if n else CallState.UNKNOWN,
            usage=Usage(input_tokens=100 * n),
        )
        for day in range(days)
        for n in range(each)
    ]


def count(opened: Home, rows: Iterable[UsageRow]) -> None:
    opened.journal.commit(step(running(opened), usage=tuple(rows)))


def totals(opened: Home, agent_id: str = "hana") -> tuple[DailyTally, ...]:
    return opened.tallies.totals(agent_id, "2020-01-01", "9999-12-31")


def ids(opened: Home, agent_id: str = "hana") -> list[str]:
    return [row.id for row in opened.usage.rows(agent_id, limit=10_000)]


def test_rows_of_old_days_go_and_no_total_changes(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, file):
        rows = [*calls(10), *calls(4, "蟹"), *calls(2, "new")]
        count(opened, rows)
        before = totals(opened), totals(opened, "蟹"), totals(opened, "new")
        deleted = SqliteCallRetention(file).purge(NOW - timedelta(days=3))
        kept = [row.id for row in rows if (NOW.date() - row.at.date()).days <= 3]
        assert deleted == len(rows) - len(kept) == 18
        assert sorted([*ids(opened), *ids(opened, "蟹"), *ids(opened, "new")]) == sorted(kept)
        assert (totals(opened), totals(opened, "蟹"), totals(opened, "new")) == before
        assert [
            one.hours for one in opened.tallies.between("hana", "2026-02-08", "2026-02-08")
        ] == [{}]
        assert SqliteCallRetention(file).purge(NOW - timedelta(days=3)) == 0


def test_what_an_early_release_counted_is_counted_anew_before_it_goes(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, file):
        count(opened, calls(5))
        before = totals(opened)
        with file.write_transaction() as items:
            items.execute(f"{EARLY}, expires_at=1 WHERE pk='TALLY#hana'")
            items.execute("DELETE FROM item WHERE pk='TALLY#hana' AND sk<'2026-02-15'")
        SqliteCallRetention(file).purge(NOW - timedelta(days=1))
        file.purge(2, 0)
        assert len(ids(opened)) == 6
        old = [tally for tally in totals(opened) if tally.day < "2026-02-16"]
        assert old == [tally for tally in before if tally.day < "2026-02-16"]


def test_one_purge_takes_a_bounded_number_and_the_next_goes_on(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, file):
        count(opened, calls(4, each=60))
        before, retention = totals(opened), SqliteCallRetention(file, at_once=5)
        with file.write_transaction() as items:
            statements = list[str]()
            items.connection.set_trace_callback(statements.append)
        assert retention.purge(NOW) == 5 * STEPS
        assert statements.count("BEGIN IMMEDIATE") == STEPS
        assert len(ids(opened)) == 240 - 5 * STEPS
        assert retention.purge(NOW) == 180 - 5 * STEPS
        assert totals(opened) == before


@pytest.mark.parametrize("text", [JAPANESE, "Good morning"])
def test_the_file_shrinks_and_every_line_stays(tmp_path: Path, text: str) -> None:
    with home(tmp_path) as (opened, file):
        current = running(opened)
        line = admission(turn("t2"), message_id="m2", text=text).line
        opened.journal.admit(admission(turn("t2"), message_id="m2", text=text))
        lines = opened.journal.lines("s1")
        assert line.text in [each.text for each in lines]
        rows = calls(30, each=200)
        opened.journal.commit(step(current, usage=tuple(rows)))
        full = size(file, tmp_path)
        SqliteCallRetention(file).purge(NOW - timedelta(days=2))
        release_free_sqlite_pages(file.write_transaction)
        assert len(ids(opened)) == 600
        assert size(file, tmp_path) < full / 4
        assert opened.journal.lines("s1") == lines


def size(file: Database, folder: Path) -> int:
    with file.read_transaction() as items:
        items.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return (folder / FILE).stat().st_size
