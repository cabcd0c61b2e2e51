"""Documents that are written soon: in memory at first, then in the file, never over newer ones."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from opencrab.adapters.sqlite.database import Database, SqliteItems
from opencrab.adapters.sqlite.documents import SqliteFacts
from opencrab.adapters.sqlite.marker import read_sqlite_commits
from opencrab.domain.document import Document
from opencrab.ports.home import Home
from tests.contract.example import ENGLISH, JAPANESE, fact, later
from tests.unit.adapters.sqlite.home import database, home


def version(number: int, text: str = ENGLISH, *, seconds: float = 0) -> Document:
    """A version of a fact that is due after so many seconds."""
    return fact(text=text).replaced(due_at=later(seconds), version=number)


def stored(opened: Home) -> Any:
    found = opened.facts.get("hana", "note", "a")
    return None if found is None else (found.body or {}).get("text")


def commits(opened: Any) -> int:
    """How many transactions have written to the file."""
    with opened.read_transaction() as items:
        found = read_sqlite_commits(items.connection)
    assert found is not None
    return int(found.commits)


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_nothing_is_written_until_it_is_flushed_in_one_transaction(
    tmp_path: Path, text: str
) -> None:
    with home(tmp_path) as (opened, database):
        for number in range(100):
            opened.facts.commit(fact(f"{number}").replaced(due_at=later(0)))
        before = commits(database)
        for seconds in range(1, 20):
            for number in range(100):
                opened.facts.commit_soon(
                    fact(f"{number}", text=f"{text}{seconds}").replaced(
                        due_at=later(seconds), version=2
                    )
                )
        assert commits(database) == before
        database.flush()
        assert commits(database) == before + 1
        database.flush()
        assert commits(database) == before + 1
        assert {(one.body or {})["text"] for one in opened.facts.page("hana", "note")} == {
            f"{text}19"
        }


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_a_process_that_ends_writes_it_and_one_that_is_killed_keeps_the_version_before(
    tmp_path: Path, text: str
) -> None:
    data, killed = tmp_path / "data", tmp_path / "killed"
    with home(data) as (opened, _):
        opened.facts.commit(version(1))
        opened.facts.commit_soon(version(2, text, seconds=60))
        shutil.copytree(data, killed)
    with home(data) as (opened, _):
        assert stored(opened) == text
        opened.facts.commit(version(2, "next"))
    with home(killed) as (opened, _):
        assert stored(opened) == ENGLISH
        assert [one.version for one in opened.facts.list_due("note", later(0), 9)] == [1]
        opened.facts.commit(version(2, "next"))


def test_what_was_replaced_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, database), database.read_transaction() as items:
        opened.facts.commit(version(1))
        opened.facts.commit_soon(version(2, "kept", seconds=60))
        # As a turn's end does, in a transaction of its own.
        newer = version(2, "newer").model_dump_json()
        with database.write_transaction() as writes:
            writes.execute("UPDATE item SET body=? WHERE pk=?", (newer, "FACT#hana"))
        database.flush()
        assert stored(opened) == "newer"
        assert items.execute("SELECT body FROM item WHERE pk='FACT#hana'").fetchall() == [(newer,)]


def test_a_fact_that_is_made_again_is_not_what_was_kept_before(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, _):
        opened.facts.commit(version(1))
        opened.facts.commit_soon(version(2, "kept", seconds=60))
        opened.facts.commit(version(1).removed())
        opened.facts.commit(version(1, "again"))
        assert stored(opened) == "again"


class Interrupted:
    """A database of which somebody else's turn comes right after a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.then: Callable[[], None] | None = None

    def read_transaction(self) -> AbstractContextManager[SqliteItems]:
        return self._interrupted(self._database.read_transaction())

    def write_transaction(self) -> AbstractContextManager[SqliteItems]:
        return self._interrupted(self._database.write_transaction())

    @contextmanager
    def _interrupted(
        self, transaction: AbstractContextManager[SqliteItems]
    ) -> Iterator[SqliteItems]:
        with transaction as items:
            yield items
        then, self.then = self.then, None
        if then is not None:
            then()


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_nobody_who_read_or_wrote_just_before_drops_what_is_kept(tmp_path: Path, text: str) -> None:
    with database(tmp_path) as opened:
        between = Interrupted(opened)
        facts = SqliteFacts(cast(Database, between))
        facts.commit(version(1))

        def others() -> None:
            facts.commit(version(2))
            facts.commit_soon(version(3, f"{text}1", seconds=1))

        between.then = others
        facts.get("hana", "note", "a")
        assert (facts.page("hana", "note")[0].body or {})["text"] == f"{text}1"
        between.then = lambda: facts.commit_soon(version(4, f"{text}2", seconds=2))
        facts.commit(version(3))
        assert (facts.page("hana", "note")[0].body or {})["text"] == f"{text}2"


def test_what_is_due_earlier_is_written_at_once(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, database):
        opened.facts.commit(version(1, seconds=60))
        before = commits(database)
        opened.facts.commit_soon(version(2, seconds=30))
        assert commits(database) == before + 1
        assert [one.version for one in opened.facts.list_due("note", later(30), 9)] == [2]
