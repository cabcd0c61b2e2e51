"""Page erasure: removed rows are in no file, it writes little, and nobody waits for all of it."""

import random
import re
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.file import PAGE_BYTES, sqlite_write_ahead_log
from opencrab.adapters.sqlite_pages.page_erasure import (
    STEP_PAGES,
    PageErasure,
    release_free_sqlite_pages,
)
from opencrab.adapters.sqlite_pages.page_space import DatabasePages
from tests.older_file import PAGE_BYTES as OLDER_PAGE_BYTES
from tests.older_file import make_older_file

SECRETS = ("合言葉は紫陽花", "the password is hydrangea")
KEPT = "これは残る stays "
ROWS = 50_000
"""So many that some pages hold what SQLite left behind: a tenth of it leaves none."""
PAGE = OLDER_PAGE_BYTES
LEAF = 10
AT_ONCE = 262_144 // PAGE_BYTES
_IO = Path("/proc/self/io")

counts_writes = pytest.mark.skipif(not _IO.exists(), reason="this system does not count writes")


@contextmanager
def opened(folder: Path, *, durable: bool = False) -> Iterator[Database]:
    with closing(Database(folder / "opencrab.db", durable=durable)) as database:
        yield database


def fill(database: Database, rows: int, secret: str = KEPT) -> list[str]:
    """Write rows in an order in which SQLite splits pages everywhere; return the secret ones."""
    order = random.Random(rows)  # noqa: S311 - a test
    keys = [f"{order.random():.9f}" for _ in range(rows)]
    with database.write_transaction() as items:
        for number, key in enumerate(keys):
            text = secret if number % 10 == 0 else KEPT
            items.put("P", key, f"{text}{number}#" * order.randrange(1, 9))
        for number in order.sample(range(rows), rows):
            if number % 10:
                items.put("P", keys[number], KEPT * order.randrange(1, 30))
    return keys[::10]


def remove(database: Database, keys: list[str]) -> None:
    with database.write_transaction() as items:
        for key in keys:
            items.delete("P", key)


def stored(database: Database) -> list[Any]:
    with database.read_transaction() as items:
        assert items.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return items.execute("SELECT * FROM item ORDER BY pk, sk").fetchall()


def found(folder: Path, words: str) -> list[str]:
    return [each.name for each in folder.iterdir() if words.encode() in each.read_bytes()]


def empty_log(database: Database) -> None:
    with database.read_transaction() as items:
        items.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def bytes_written(work: Callable[[], object]) -> int:
    """Return how many bytes this process has given to the system while it worked."""
    before = _wchar()
    work()
    return _wchar() - before


def _wchar() -> int:
    counted = re.search(r"wchar: (\d+)", _IO.read_text())
    assert counted is not None
    return int(counted[1])


def new_file(_path: Path) -> None:
    """Leave it to the database to make its file."""


layouts = pytest.mark.parametrize("make", [new_file, make_older_file])


@pytest.mark.parametrize(
    ("secret", "make"), [(SECRETS[0], new_file), (SECRETS[1], make_older_file)]
)
def test_copies_that_sqlite_leaves_behind_are_in_no_file(
    tmp_path: Path, secret: str, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "opencrab.db")
    with opened(tmp_path) as database:
        remove(database, fill(database, 20_000, secret))
        empty_log(database)
        assert found(tmp_path, secret) == ["opencrab.db"]
        rows = stored(database)
        database.scrub()
        assert found(tmp_path, secret) == []
        assert stored(database) == rows
    assert found(tmp_path, secret) == []


@pytest.mark.parametrize("secret", SECRETS)
def test_pages_that_another_writer_remembers_bring_nothing_back(
    tmp_path: Path, secret: str
) -> None:
    with opened(tmp_path, durable=True) as database:
        keys = fill(database, 2_000, secret)
        remove(database, keys)
        empty_log(database)
        with suppress(ZeroDivisionError), database.write_transaction(relaxed=True) as items:
            items.execute("SELECT sum(length(body)) FROM item").fetchone()
            raise ZeroDivisionError
        database.scrub()
        with database.write_transaction(relaxed=True) as items:
            items.execute("UPDATE item SET body = body || '.' WHERE sk LIKE '%1'")
        empty_log(database)
        assert found(tmp_path, secret) == []


def test_what_others_write_meanwhile_stays_and_brings_nothing_back(tmp_path: Path) -> None:
    secret = SECRETS[0]
    with opened(tmp_path, durable=True) as database:
        remove(database, fill(database, 20_000, secret))
        stop, written = threading.Event(), list[str]()

        def write() -> None:
            order = random.Random(1)  # noqa: S311 - a test
            while not stop.wait(0.001):
                relaxed = order.random() < 0.5
                with database.write_transaction(relaxed=relaxed) as items:
                    for _ in range(20):
                        key = f"{order.random():.12f}"
                        items.put("P", key, KEPT * order.randrange(1, 60))
                        written.append(key)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(3):
                database.scrub()
        finally:
            stop.set()
            writer.join()
        there = {key for _, key, *_ in stored(database)}
        assert written
        assert there >= set(written)
        assert found(tmp_path, secret) == []


@counts_writes
@pytest.mark.parametrize("rows", [500, ROWS // 5])
def test_forgetting_one_row_writes_as_little_in_a_large_file(tmp_path: Path, rows: int) -> None:
    with opened(tmp_path) as database:
        keys = fill(database, rows, SECRETS[0])
        database.scrub()
        remove(database, keys[:1])
        assert bytes_written(database.scrub) < 16 * PAGE
        remove(database, keys[1:])
        database.scrub()
        assert found(tmp_path, SECRETS[0]) == []


class _NotingLock:
    """A lock that notes how many bytes were written while it was held."""

    def __init__(self) -> None:
        self.held = list[int]()

    def __enter__(self) -> None:
        self._before = _wchar()

    def __exit__(self, *_error: object) -> None:
        self.held.append(_wchar() - self._before)


@counts_writes
def test_others_wait_for_a_bounded_number_of_pages(tmp_path: Path) -> None:
    path = tmp_path / "opencrab.db"
    with opened(tmp_path) as database:
        fill(database, ROWS)
        empty_log(database)
    with path.open("r+b", buffering=0) as file, closing(connect(path)) as writer:
        lock = _NotingLock()
        scrub = PageErasure(path, file.fileno(), writer, (), lock, lambda: connect(path), 5.0)
        pages = len(list(scrub.file.find()))
        scrub.run(lambda _connection: False)
        assert pages > 3 * STEP_PAGES
        assert len(lock.held) == 1 + -(-pages // STEP_PAGES)
        assert max(lock.held) <= STEP_PAGES * PAGE_BYTES
        assert list(scrub.file.find()) == []


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_scrub_that_was_cut_off_leaves_a_sound_file(tmp_path: Path, secret: str) -> None:
    with opened(tmp_path) as database:
        remove(database, fill(database, 5_000, secret))
        empty_log(database)
        rows = stored(database)
    with (tmp_path / "opencrab.db").open("r+b", buffering=0) as file:
        paged = DatabasePages(file.fileno(), PAGE_BYTES)
        pages = list(paged.find())
        assert all(paged.clear(number) for number in pages[::2])
        assert list(paged.find()) == pages[1::2]
    with opened(tmp_path) as database:
        assert stored(database) == rows
        database.scrub()
        assert found(tmp_path, secret) == []


@pytest.mark.parametrize("secret", SECRETS)
def test_pages_with_reserved_bytes_are_found(tmp_path: Path, secret: str) -> None:
    # Some builds of SQLite reserve them: then a page of the pointer map has fewer entries.
    path, reserved = tmp_path / "other.db", 12
    with closing(connect(path)) as made:
        made.execute("PRAGMA auto_vacuum=INCREMENTAL")
        made.execute("PRAGMA user_version=1")
    page = bytearray(path.read_bytes())
    page[20], page[105:107] = reserved, (PAGE - reserved).to_bytes(2, "big")
    path.write_bytes(page)
    with closing(connect(path)) as made, path.open("r+b", buffering=0) as file:
        made.execute("CREATE TABLE item (sk TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID")
        made.execute("BEGIN")
        rows = [(f"{number:05d}", KEPT * 60) for number in range(6_000)]
        made.executemany("INSERT INTO item VALUES (?, ?)", rows)
        made.execute("COMMIT")
        left = 0
        for start in range(PAGE, path.stat().st_size, PAGE):
            file.seek(start)
            kind, cells, ends = struct.unpack(">BxxHHx", file.read(8))
            if kind == LEAF and 8 + 2 * cells + len(secret.encode()) < ends:
                file.seek(start + ends - len(secret.encode()))
                file.write(secret.encode())
                left += 1
        assert left > 100
        assert path.stat().st_size // PAGE > 2 * PAGE // 5
        pages = DatabasePages(file.fileno(), PAGE)
        for each in list(pages.find()):
            pages.clear(each)
        assert secret.encode() not in path.read_bytes()
        assert made.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_file_of_an_older_version_is_written_anew_once(tmp_path: Path, secret: str) -> None:
    with opened(tmp_path) as database:
        keys = fill(database, 500, secret)
    with closing(connect(tmp_path / "opencrab.db")) as old:
        old.execute("PRAGMA journal_mode=DELETE")
        old.execute("PRAGMA auto_vacuum=NONE")
        old.execute("VACUUM")
        old.execute("PRAGMA secure_delete=OFF")
        old.execute("DELETE FROM item WHERE sk=?", (keys[0],))
    with opened(tmp_path) as database:
        remove(database, keys)
        database.scrub()
        assert found(tmp_path, secret) == []
        # A connection that has not read since still knows the setting of the file before.
        with closing(connect(tmp_path / "opencrab.db")) as fresh:
            assert fresh.execute("PRAGMA auto_vacuum").fetchone() == (2,)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_file_that_an_older_version_wrote_to_meanwhile_is_written_anew_once(
    tmp_path: Path, secret: str
) -> None:
    with opened(tmp_path) as database:
        keys = fill(database, 500, secret)
    with closing(connect(tmp_path / "opencrab.db")) as old:
        old.execute("PRAGMA secure_delete=OFF")
        old.execute("BEGIN")
        old.executemany("DELETE FROM item WHERE sk=?", [(key,) for key in keys])
        old.execute("UPDATE commit_count SET commits=commits+1")
        old.execute("COMMIT")
    with opened(tmp_path) as database:
        with database.write_transaction() as items:
            items.put("P", "later", KEPT)
        assert found(tmp_path, secret) != []
        assert find_vacuum(database)
        assert found(tmp_path, secret) == []
        remove(database, ["later"])
        assert not find_vacuum(database)


def find_vacuum(database: Database) -> bool:
    """Scrub, and tell whether the file was written anew."""
    with database.write_transaction() as items:
        statements = list[str]()
        items.connection.set_trace_callback(statements.append)
    database.scrub()
    return "VACUUM" in statements


def test_a_reader_in_another_process_is_named(tmp_path: Path) -> None:
    path = tmp_path / "opencrab.db"
    with closing(Database(path, durable=False, patience_seconds=0.1)) as database:
        fill(database, 50)
        with closing(connect(path)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM item").fetchone()
            fill(database, 60)
            with pytest.raises(Exception, match="is being read by another process"):
                database.scrub()
            other.execute("ROLLBACK")
        database.scrub()
        assert sqlite_write_ahead_log(path).stat().st_size == 0


@layouts
def test_most_free_pages_are_given_back_in_small_transactions(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "opencrab.db"
    make(path)
    with opened(tmp_path) as database:
        remove(database, fill(database, 4_000))
        with database.write_transaction() as items:
            items.execute("DELETE FROM item")
        empty_log(database)
        before = path.stat().st_size
        release_free_sqlite_pages(database.write_transaction)
        empty_log(database)
        assert path.stat().st_size < before / 10
        assert stored(database) == []


def test_each_transaction_gives_back_more_than_one_page(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        fill(database, 6_000)
        with database.write_transaction() as items:
            items.execute("DELETE FROM item")
            free = items.execute("PRAGMA freelist_count").fetchone()[0]
            statements = list[str]()
            items.connection.set_trace_callback(statements.append)
        release_free_sqlite_pages(database.write_transaction)
        with database.write_transaction() as items:
            left = items.execute("PRAGMA freelist_count").fetchone()[0]
        assert free > 3 * AT_ONCE
        assert left < AT_ONCE
        assert statements.count("BEGIN IMMEDIATE") <= free // AT_ONCE + 3
