"""Trouble while the file is open: a full disk, another program's lock, a process that dies."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.file import DamagedDatabase
from opencrab.adapters.sqlite.home import FILE
from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound, OpenCrabError, Unavailable
from opencrab.domain.turn.turn import TurnStatus
from opencrab.ports.home import Home
from tests.contract.example import JAPANESE, line, profile, result, running, step
from tests.contract.following import feed_of
from tests.unit.adapters.sqlite.home import database, home, run


@contextmanager
def full_disk(opened: Database) -> Iterator[None]:
    """No page more than there is."""
    with opened.write_transaction() as items:
        (free,) = items.execute("PRAGMA freelist_count").fetchone()
        (pages,) = items.execute("PRAGMA page_count").fetchone()
        items.execute(f"PRAGMA max_page_count={pages - free}")
    yield
    with opened.write_transaction() as items:
        items.execute("PRAGMA max_page_count=1000000")


def assert_explained(error: OpenCrabError, folder: Path, word: str) -> None:
    assert type(error) is Unavailable
    assert str(folder / FILE) in error.message
    assert word in error.message
    assert error.cure


def test_a_due_document_that_cannot_be_read_is_skipped_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with home(tmp_path) as (opened, file):
        due_at = datetime(2026, 2, 17, tzinfo=UTC)
        fact = Document(owner="mika", kind="note", id="n1", version=0, body={}, due_at=due_at)
        opened.facts.commit(fact)
        with file.write_transaction() as items:
            items.execute("UPDATE item SET body = json_set(body, '$.version', 'x')")
        assert opened.facts.list_due("note", due_at, 10) == ()
    assert "owner=mika, id=n1, kind=note, error=" in caplog.text


def test_a_full_disk_refuses_a_step_whole_and_later_takes_it(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, file):
        current = running(opened)
        change = step(
            current, result(text=JAPANESE * 500), lines=tuple(line(JAPANESE) for _ in range(60))
        )
        before = _state(opened)
        with full_disk(file):
            with pytest.raises(Unavailable) as caught:
                opened.journal.commit(change)
            assert_explained(caught.value, tmp_path, "full")
            assert opened.storage.fault() is caught.value
            assert _state(opened) == before
        opened.journal.commit(change)
        assert opened.storage.fault() is None
        assert len(opened.journal.lines("s1")) == 61


def test_a_full_disk_can_still_be_read_and_holds_whole_agents_only(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, file):
        with full_disk(file):
            created = 0
            with suppress(Unavailable):
                for created in range(200):
                    opened.agents.create(profile(f"agent{created:03}", name="花" * 100))
            assert created < 199
            found = opened.agents.page(after=None, limit=999)
        assert [one.agent.id for one in found] == [f"agent{n:03}" for n in range(created)]
        with pytest.raises(NotFound):
            opened.agents.get(f"agent{created:03}")


@contextmanager
def other_program(folder: Path, mode: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
    """A database browser with a change that it has not saved."""
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        connection.execute(f"BEGIN {mode}")
        yield connection


@pytest.mark.parametrize("mode", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_locked_file_is_waited_for_then_explained(tmp_path: Path, mode: str) -> None:
    with home(tmp_path) as (opened, _):
        opened.agents.create(profile())
        with other_program(tmp_path, mode):
            with pytest.raises(Unavailable) as caught:
                opened.agents.create(profile("ken", name="Ken"))
            assert_explained(caught.value, tmp_path, "locked by another program")
            assert opened.agents.get("hana").agent.name == "花"
        opened.agents.create(profile("ken", name="Ken"))


def test_a_file_that_another_program_keeps_to_itself_is_not_opened(tmp_path: Path) -> None:
    with database(tmp_path):
        pass
    before = (tmp_path / FILE).read_bytes()
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unavailable) as caught:
            Database(tmp_path / FILE, patience_seconds=0.05)
        assert_explained(caught.value, tmp_path, "locked")
    assert (tmp_path / FILE).read_bytes() == before


def test_an_error_inside_a_transaction_undoes_it_and_frees_the_writer(tmp_path: Path) -> None:
    def fail() -> None:
        with opened.write_transaction() as items:
            items.put("p", "半分", "1")
            raise ZeroDivisionError

    with database(tmp_path) as opened:
        with pytest.raises(ZeroDivisionError):
            fail()
        with opened.write_transaction() as items:
            items.put("p", "全部", "2")
        with opened.read_transaction() as items:
            assert (items.get("p", "半分"), items.get("p", "全部")) == (None, "2")


def test_damage_that_shows_up_later_is_explained(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, _):
        for number in range(400):
            opened.agents.create(profile(f"agent{number}", name="花"))
        with closing(sqlite3.connect(tmp_path / FILE)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = (tmp_path / FILE).stat().st_size
        with (tmp_path / FILE).open("r+b") as handle:
            handle.seek(4_096)
            handle.write(b"crab" * ((size - 4_096) // 4))
        with pytest.raises(DamagedDatabase) as caught:
            opened.agents.page(after=None, limit=400)
        assert str(tmp_path / FILE) in caught.value.message


DIE = """
import os, sys
from pathlib import Path
from tests.contract.example import admitted, later, line, result, step
from tests.unit.adapters.sqlite.home import home

def die(statement):
    if statement.startswith("INSERT INTO feed"):
        os._exit(9)

with home(Path(sys.argv[1]), durable=True) as (opened, _):
    admitted(opened)
    opened.turns.send("t1", group="s1", deduplication="t1")
    opened.turns.receive(visibility_seconds=600, wait_seconds=0)
    turn = opened.journal.claim("t1", lease_until=later(600), receipt=None).turn
    turn = opened.journal.commit(step(turn, result(1), lines=(line("一"),)))
    opened.journal._database._writer.set_trace_callback(die)
    large = result(2, text="蟹" * 700_000)
    opened.journal.commit(step(turn, large, lines=(line("二"), line("三"))))
"""


def test_a_process_that_dies_in_mid_transaction_leaves_all_before_and_nothing_of_it(
    tmp_path: Path,
) -> None:
    died = run(DIE, tmp_path)
    assert (died.returncode, died.stderr) == (9, "")
    assert (tmp_path / f"{FILE}-wal").stat().st_size > 1_000_000
    with home(tmp_path, durable=True) as (opened, _):
        stored = opened.journal.load("t1")
        assert (stored.records, stored.turn.sequence) == ((result(1),), 2)
        assert stored.turn.status is TurnStatus.RUNNING
        assert [one.text for one in opened.journal.lines("s1")] == [JAPANESE, "一"]
        delivery = opened.turns.receive(visibility_seconds=60, wait_seconds=0)
        assert delivery is not None
        # It was merely taken: until its turn is claimed nothing says so.
        assert (delivery.body, delivery.count) == ("t1", 1)


def test_what_a_dead_process_left_can_be_gone_on_with(tmp_path: Path) -> None:
    run(DIE, tmp_path)
    with home(tmp_path) as (opened, _):
        turn = opened.journal.load("t1").turn
        opened.journal.commit(step(turn, result(2), lines=(line("二"),)))
        assert [one.sequence for one in opened.journal.lines("s1")] == [1, 2, 3]


def _state(opened: Home) -> tuple[object, ...]:
    """What is stored of the turn, its session and the feed."""
    journal = opened.journal
    return journal.load("t1"), journal.lines("s1"), feed_of(opened).position()
