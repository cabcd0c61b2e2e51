"""Damage: what cannot be trusted begins anew, and shows nobody another agent's rows."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from opencrab.adapters.sqlite_search.index import TOKENIZER
from tests.unit.adapters.sqlite_search.machine import Machine, machine, saved


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Machine]:
    with machine(tmp_path) as made:
        yield made


def changed(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
        connection.commit()


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwritten(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[200:] = b"\xa5" * (len(content) - 200)
    file.write_bytes(bytes(content))


SPOILT: dict[str, Callable[[Path], object]] = {
    "empty": lambda file: file.write_bytes(b""),
    "text": lambda file: file.write_text("蟹"),
    "truncated": truncated,
    "overwritten": overwritten,
    "of a future version": lambda file: changed(file, "PRAGMA user_version=999"),
    "of another program": lambda file: changed(file, "PRAGMA application_id=7"),
    "without a table": lambda file: changed(file, "DROP TABLE about"),
    "without who spoke": lambda file: changed(file, "DROP TABLE spoke"),
    "without a column": lambda file: changed(file, "ALTER TABLE row DROP COLUMN importance"),
    "with a trigger": lambda file: changed(
        file, "CREATE TRIGGER evil AFTER INSERT ON mark BEGIN DELETE FROM row; END"
    ),
    "with another index": lambda file: changed(file, "CREATE UNIQUE INDEX one ON row (kind)"),
    "with a mark that says nothing": lambda file: changed(
        file, "INSERT INTO mark VALUES ('1', '{}')"
    ),
    "with a watermark that is no number": lambda file: changed(file, "UPDATE line SET last = 'x'"),
    "with a watermark that is no text": lambda file: changed(
        file, "INSERT INTO kept VALUES ('memory', x'00')"
    ),
    "with no moment": lambda file: changed(file, "UPDATE about SET value = '蟹' WHERE key = 'at'"),
    "with a moment beyond all years": lambda file: changed(
        file, "UPDATE about SET value = '1000000000000000000000000000000' WHERE key = 'at'"
    ),
    "without names": lambda file: changed(file, "DELETE FROM name WHERE text != 's1'"),
    "with names that are no texts": lambda file: changed(
        file, "UPDATE name SET text = CAST(text AS BLOB)"
    ),
    "with a kind that there is not": lambda file: changed(file, "UPDATE row SET kind = 99"),
    "with a hearing that there is not": lambda file: changed(file, "UPDATE row SET hearing = 99"),
    "with a time that is none": lambda file: changed(file, "UPDATE row SET at = 'noon'"),
    "with a time beyond all years": lambda file: changed(
        file, "UPDATE row SET at = 4611686018427387904"
    ),
    "with an importance that is none": lambda file: changed(file, "UPDATE row SET importance='x'"),
    "with flags that are none": lambda file: changed(file, "UPDATE row SET flags = 'x'"),
    "with a sequence that is none": lambda file: changed(file, "UPDATE row SET sequence = 'x'"),
    "with half a character": lambda file: changed(
        file, "UPDATE row SET text = CAST(x'ff' AS TEXT)"
    ),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_snapshot_that_cannot_be_used_is_made_anew_from_the_journal(
    at: Machine, how: str
) -> None:
    """Its hash is right: somebody published it like that."""
    SPOILT[how](file := saved(at))
    at.publish(file)
    assert at.find("crab") == ["hana's crab 蟹"]
    at.index()
    assert at.find("crab", search=at.started()) == ["hana's crab 蟹"]
    assert at.newest().rows == 1
    assert at.store.calls.count("publish") == 1


def test_a_snapshot_of_another_tokenizer_is_left_alone_and_replaced(at: Machine) -> None:
    at.publish(saved(at), tokenizer=TOKENIZER + 1)
    assert at.find("crab") == ["hana's crab 蟹"]
    assert "fetch" not in at.store.calls
    at.index()
    assert at.newest().tokenizer == TOKENIZER


def test_another_agents_index_never_shows_a_row(at: Machine) -> None:
    at.life.meet("theirs", "ken")
    at.life.say("ken's crab", "theirs")
    at.publish(saved(at, "ken"), "hana")
    assert at.find("crab") == ["hana's crab 蟹"]
    at.index()
    assert at.find("crab", search=at.started()) == ["hana's crab 蟹"]


def test_a_copy_that_is_damaged_at_work_begins_anew(at: Machine) -> None:
    for number in range(200):
        at.life.say(f"crab {number} " + "words " * 40)
    assert len(at.find("crab")) == 50
    overwritten(at.files()[0])
    at.life.say("a new 蟹")
    with at.search._copies.acquire("hana") as copy:
        # What SQLite still holds in memory would hide it.
        copy.index._connection.execute("PRAGMA cache_size=0")
    assert "a new 蟹" in at.find("蟹")
    assert len(at.find("crab")) == 50
