"""The marker of the last commit: lost commits are found, and a sound database is never refused."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.sqlite.file import DamagedDatabase
from opencrab.adapters.sqlite.guard import MarkerFile
from opencrab.adapters.sqlite.home import FILE
from opencrab.adapters.sqlite.marker import (
    COUNT_TABLE,
    count_sqlite_commits,
    read_sqlite_commits,
    read_sqlite_marker,
    sqlite_marker_path,
)
from tests.soak import examples
from tests.unit.adapters.sqlite.home import ROOT, database, run

LIVE = """
import os, sys
from pathlib import Path
from tests.unit.adapters.sqlite.home import database
with database(Path(sys.argv[1]), durable=True) as opened:
    for number in range(int(sys.argv[2])):
        with opened.write_transaction() as items:
            items.put("p", f"{number:09}", "蟹")
    os._exit(9)
"""
"""A process that is killed with everything it wrote still in the write-ahead log."""


def write(folder: Path, count: int = 1) -> None:
    with database(folder) as opened:
        for number in range(count):
            with opened.write_transaction() as items:
                items.put("p", str(number), "蟹")


def killed(folder: Path, commits: int) -> Path:
    assert run(LIVE, folder, commits).returncode == 9
    return folder / FILE


def refused(folder: Path) -> DamagedDatabase:
    before = {each.name: each.read_bytes() for each in folder.iterdir() if "-shm" not in each.name}
    with pytest.raises(DamagedDatabase) as caught, database(folder):
        pass
    for name, content in before.items():
        assert (folder / name).read_bytes() == content
    assert "opencrab admin restore" in (caught.value.cure or "")
    assert f"opencrab admin verify {folder} --accept" in (caught.value.cure or "")
    return caught.value


def rows(folder: Path) -> int:
    with database(folder) as opened, opened.read_transaction() as items:
        return len(items.between("p", "", "~"))


def test_a_missing_write_ahead_log_is_refused_and_accepted_once_it_is_back(tmp_path: Path) -> None:
    log = killed(tmp_path, 5).with_name(f"{FILE}-wal")
    log.rename(tmp_path / "elsewhere")
    (tmp_path / f"{FILE}-shm").unlink(missing_ok=True)
    assert "has 0 commits" in refused(tmp_path).message
    for each in tmp_path.glob(f"{FILE}-*"):
        each.unlink()
    (tmp_path / "elsewhere").rename(log)
    assert rows(tmp_path) == 5


def test_a_truncated_write_ahead_log_is_refused(tmp_path: Path) -> None:
    log = killed(tmp_path, 5).with_name(f"{FILE}-wal")
    os.truncate(log, log.stat().st_size - 100)
    assert "has 4 commits" in refused(tmp_path).message


def test_an_older_file_in_its_place_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    shutil.copy(tmp_path / FILE, tmp_path / "old")
    write(tmp_path)
    (tmp_path / "old").replace(tmp_path / FILE)
    assert "the newest ones are lost" in refused(tmp_path).message


def test_another_installations_file_in_its_place_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a")
    write(tmp_path / "b", 9)
    (tmp_path / "b" / FILE).replace(tmp_path / "a" / FILE)
    assert "is not the one" in refused(tmp_path / "a").message


def test_a_missing_file_is_refused_and_not_begun_anew(tmp_path: Path) -> None:
    write(tmp_path, 3)
    (tmp_path / FILE).unlink()
    assert "is missing" in refused(tmp_path).message
    assert not (tmp_path / FILE).exists()


def test_a_marker_that_lags_is_missing_or_is_unreadable_refuses_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    marker = sqlite_marker_path(tmp_path / FILE)
    old = marker.read_bytes()
    write(tmp_path, 4)
    for content in (old, b"", old[:20], b"crab" * 60, old.replace(b"1 ", b"9 "), None):
        if content is None:
            marker.unlink()
        else:
            marker.write_bytes(content)
        assert rows(tmp_path) == 4
        found = read_sqlite_marker(tmp_path / FILE)
        assert found is not None
        assert found.commits == 5


def test_a_file_of_an_older_release_is_counted_from_then_on(tmp_path: Path) -> None:
    write(tmp_path, 2)
    sqlite_marker_path(tmp_path / FILE).unlink()
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute(f"DROP TABLE {COUNT_TABLE}")
    assert rows(tmp_path) == 2
    write(tmp_path, 3)
    found = read_sqlite_marker(tmp_path / FILE)
    assert found is not None
    assert found.commits == 3


def test_a_transaction_that_changes_nothing_is_not_counted(tmp_path: Path) -> None:
    write(tmp_path, 2)
    with database(tmp_path) as opened, opened.write_transaction() as items:
        items.delete("p", "no such key")
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        found = read_sqlite_commits(connection)
    assert found is not None
    assert found == read_sqlite_marker(tmp_path / FILE)
    assert found.commits == 2


def test_the_database_never_has_fewer_commits_than_the_marker(tmp_path: Path) -> None:
    """Before each statement of the writer: a crash there must leave a sound pair."""
    leads = []

    def compare(_statement: str) -> None:
        with closing(sqlite3.connect(tmp_path / FILE)) as connection:
            found, marker = read_sqlite_commits(connection), read_sqlite_marker(tmp_path / FILE)
        leads.append(found is None or (marker is not None and marker.commits > found.commits))

    with database(tmp_path, durable=True) as opened:
        opened._writer.set_trace_callback(compare)
        for number in range(5):
            with opened.write_transaction() as items:
                items.put("p", str(number), "蟹")
            with suppress(ZeroDivisionError), opened.write_transaction() as items:
                items.put("p", "undone", str(1 // 0))
    assert len(leads) > 20
    assert not any(leads)


def test_kills_at_random_moments_never_make_a_sound_database_refused(tmp_path: Path) -> None:
    program = LIVE.replace("range(int(sys.argv[2]))", "__import__('itertools').count()").replace(
        "number in", "number in (print(number, flush=True) or number for number in", 1
    )
    program = program.replace("count():", "count()):")

    @settings(max_examples=examples(6), deadline=None)
    @given(after=st.integers(min_value=0, max_value=60))
    def check(after: int) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= after:
                break
        process.kill()
        process.wait(10)
        process.stdout.close()
        assert rows(tmp_path) >= after

    check()


def test_a_marker_of_which_half_was_written_says_nothing(tmp_path: Path) -> None:
    write(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as connection:
        counted = count_sqlite_commits(connection)
    marker = MarkerFile.create(tmp_path / FILE, counted._replace(commits=9), durable=True)
    marker.close()
    whole = sqlite_marker_path(tmp_path / FILE).read_bytes()
    marker.path.write_bytes(whole[:-4] + b"0000")
    assert read_sqlite_marker(tmp_path / FILE) is None
    assert rows(tmp_path) == 1


def test_a_rescued_file_is_the_first_cure_of_lost_commits(tmp_path: Path) -> None:
    write(tmp_path, 3)
    shutil.copy(tmp_path / FILE, tmp_path / f"{FILE}.rescued")
    write(tmp_path / "b", 9)
    (tmp_path / "b" / FILE).replace(tmp_path / FILE)
    with pytest.raises(DamagedDatabase, match="is not the one") as caught, database(tmp_path):
        pass
    cure = caught.value.cure or ""
    assert cure.startswith(f"move '{FILE}', and '{FILE}-wal' if that is there, to another folder")
    assert f"then rename '{FILE}.rescued'" in cure
    (tmp_path / FILE).rename(tmp_path / "elsewhere")
    (tmp_path / f"{FILE}.rescued").rename(tmp_path / FILE)
    assert rows(tmp_path) == 3
