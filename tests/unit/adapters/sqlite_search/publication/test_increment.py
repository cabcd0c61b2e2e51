"""The file of an increment: read as it was written, or not at all."""

import zlib
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.index import TOKENIZER
from opencrab.adapters.sqlite_search.publication.increment import (
    INCREMENT,
    EarlierIncrement,
    Increment,
    IndexChange,
    read_sqlite_search_increment,
    write_sqlite_search_increment,
)
from opencrab.ports.memory.snapshots import Snapshot
from tests.unit.adapters.sqlite_search.shelf import NOW, line, memory

BASE = Snapshot("hana", "1-a", "0" * 64, 70_000, 3, TOKENIZER, NOW)
ROWS = Batch(rows=(line(1, "蟹が歩く🦀"), line(2, "the crab walks")), session_id="s1", last=2)
KEPT = Batch(rows=(memory("m1", "太郎の誕生日", importance=0.9, taint=True),), current=True)


def increment(*batches: Batch) -> Increment:
    upon = EarlierIncrement(Snapshot("hana", "2-b", "1" * 64, 9, 4, INCREMENT, NOW), 1)
    later = NOW + timedelta(microseconds=1)
    return Increment(BASE, (upon,), (IndexChange(2, later, batches),), NOW, "table")


def test_an_increment_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = increment(ROWS, KEPT, Batch(kind="memory", last_id="01"))
    write_sqlite_search_increment(made, tmp_path / "file")
    assert read_sqlite_search_increment(tmp_path / "file") == made
    assert made.last == 2
    assert made.keeps == {"1-a", "2-b"}


def test_releases_before_do_not_take_it_for_an_index() -> None:
    assert INCREMENT != TOKENIZER


@pytest.mark.parametrize(
    "content",
    [
        b"",
        "蟹".encode(),
        zlib.compress(b""),
        zlib.compress(b"{}"),
        zlib.compress(b"\xff"),
        zlib.compress(b'{"base":1}'),
    ],
)
def test_what_is_no_increment_is_not_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert read_sqlite_search_increment(tmp_path / "file") is None


def test_half_of_one_and_one_without_changes_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_sqlite_search_increment(increment(ROWS), file)
    file.write_bytes(file.read_bytes()[:-20])
    assert read_sqlite_search_increment(file) is None
    write_sqlite_search_increment(Increment(BASE, (), ()), file)
    assert read_sqlite_search_increment(file) is None
