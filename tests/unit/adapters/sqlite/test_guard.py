"""The guard: what cannot be found again is not acknowledged, and nothing that was is lost."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.file import DamagedDatabase
from opencrab.adapters.sqlite.home import FILE
from opencrab.adapters.sqlite.marker import read_sqlite_marker, sqlite_marker_path
from opencrab.domain.errors import Unavailable
from tests.unit.adapters.sqlite.home import NOW, database


def put(opened: Database, *keys: str) -> None:
    for key in keys:
        with opened.write_transaction() as items:
            items.put("p", key, "蟹")


def keys(folder: Path) -> list[str]:
    with database(folder) as opened, opened.read_transaction() as items:
        return [key for key, _ in items.between("p", "", "\U0010ffff")]


def removed(path: Path) -> None:
    path.unlink()


def renamed(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def replaced(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def folder_gone(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


@pytest.mark.parametrize(
    "lose", [removed, renamed, replaced, folder_gone], ids=lambda each: each.__name__
)
def test_no_commit_is_acknowledged_once_the_file_is_gone(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    data = tmp_path / "data"
    with database(data) as opened:
        put(opened, "before")
        lose(data / FILE)
        for _ in range(2):
            with pytest.raises(DamagedDatabase, match="removed or replaced") as caught:
                put(opened, "after")
            assert str(data / FILE) in caught.value.message
            assert "stop OpenCrab" in (caught.value.cure or "")
        with suppress(Unavailable), opened.read_transaction() as items:
            assert items.get("p", "after") is None
        assert not (data / FILE).exists() or lose is replaced


@pytest.mark.parametrize("lose", [removed, replaced], ids=lambda each: each.__name__)
def test_the_cure_of_a_removed_file_brings_back_everything_acknowledged(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    with database(tmp_path, durable=True) as opened:
        put(opened, "一", "二")
        lose(tmp_path / FILE)
        with pytest.raises(DamagedDatabase, match=FILE) as caught:
            put(opened, "三")
        assert f"'{FILE}.rescued'" in (caught.value.cure or "")
    (tmp_path / f"{FILE}.rescued").replace(tmp_path / FILE)
    assert keys(tmp_path) == ["一", "二"]


def test_reading_alone_notices_nothing_and_a_transaction_without_changes_passes(
    tmp_path: Path,
) -> None:
    with database(tmp_path) as opened:
        put(opened, "一")
        (tmp_path / FILE).unlink()
        with opened.write_transaction() as items:
            assert items.get("p", "一") == "蟹"


def test_a_removed_write_ahead_log_is_found_within_a_second_and_loses_nothing(
    tmp_path: Path,
) -> None:
    with database(tmp_path, durable=True) as opened:
        put(opened, "一")
        (tmp_path / f"{FILE}-wal").unlink()
        put(opened, "二")
        opened.alive(NOW)
        with pytest.raises(DamagedDatabase, match="write-ahead log") as caught:
            put(opened, "三")
        assert "start it again" in (caught.value.cure or "")
        # What a power failure would leave: the file alone.
        (tmp_path / "copy").mkdir()
        shutil.copy(tmp_path / FILE, tmp_path / "copy")
    assert keys(tmp_path / "copy") == keys(tmp_path) == ["一", "二"]


def test_a_removed_marker_is_made_again(tmp_path: Path) -> None:
    with database(tmp_path) as opened:
        put(opened, "一", "二")
        sqlite_marker_path(tmp_path / FILE).unlink()
        opened.alive(NOW)
        put(opened, "三")
        found = read_sqlite_marker(tmp_path / FILE)
        assert found is not None
        assert found.commits == 3
