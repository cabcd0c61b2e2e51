"""Opening the file: ours alone, sound, and never repaired by overwriting it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.file import SCHEMA_VERSION, DamagedDatabase
from opencrab.adapters.sqlite.home import FILE, open_sqlite_database
from opencrab.domain.errors import Unavailable
from tests.contract.example import JAPANESE, profile
from tests.soak import examples
from tests.unit.adapters.sqlite.home import database, home, run


def made(folder: Path) -> Path:
    """A sound file with something in it, closed."""
    with home(folder) as (opened, _):
        for number in range(40):
            opened.agents.create(profile(f"agent{number}", name=f"花{number}"))
    return folder / FILE


def contents(folder: Path) -> dict[str, bytes]:
    """The file and whatever else holds something; readers of SQLite leave empty files beside it."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return {
        name: content
        for name, content in found.items()
        if (content or name == FILE) and not name.endswith("-shm")
    }


def refusal(path: Path) -> Unavailable:
    with pytest.raises(Unavailable) as caught:
        Database(path, patience_seconds=0.05)
    return caught.value


def test_a_new_folder_is_made_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "データ" / "data"
    with database(folder):
        assert (folder / FILE).is_file()
    assert folder.stat().st_mode & 0o077 == 0


def test_what_was_written_is_there_after_opening_again(tmp_path: Path) -> None:
    made(tmp_path)
    with home(tmp_path, durable=True) as (opened, _):
        assert opened.agents.get("agent7").agent.name == "花7"


def random_bytes(path: Path) -> None:
    path.write_bytes(bytes(byte * 89 % 251 for byte in range(8_192)))


def zeroed_pages(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4_096] + b"\x00" * 8_192 + whole[12_288:])


def broken_header(path: Path) -> None:
    path.write_bytes(b"crab" + path.read_bytes()[4:])


def schema_that_is_no_text(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"item_due ON item", b"item_due \x80N item"))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:6_000])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def text(path: Path) -> None:
    path.write_text(f"{JAPANESE}\nThis is a diary.\n" * 100, encoding="utf-8")


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE 家計簿 (yen INTEGER)")


def missing_beside_its_newest_changes(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.with_name(f"{FILE}-wal").write_bytes(b"newest changes")


DAMAGES = [
    random_bytes,
    zeroed_pages,
    broken_header,
    schema_that_is_no_text,
    truncated,
    empty,
    text,
    foreign,
    missing_beside_its_newest_changes,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_file_is_refused_and_left_as_it_is(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = made(tmp_path)
    damage(path)
    before = contents(tmp_path)
    for _ in range(2):
        error = refusal(path)
        assert isinstance(error, DamagedDatabase)
        assert str(path) in error.message
        assert "backup" in (error.cure or "")
        assert contents(tmp_path) == before


def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = made(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    before = contents(tmp_path)
    error = refusal(path)
    assert isinstance(error, DamagedDatabase)
    assert (str(path) in error.message, "newer" in error.message) == (True, True)
    assert "newer version" in (error.cure or "")
    assert contents(tmp_path) == before


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return made(tmp_path_factory.mktemp("sound")).read_bytes()


def test_whatever_bytes_change_the_file_opens_or_is_refused_unchanged(
    sound: bytes, tmp_path: Path
) -> None:
    path = tmp_path / FILE

    @settings(max_examples=examples(60))
    @given(
        at=st.integers(min_value=0, max_value=len(sound) - 1),
        noise=st.binary(min_size=1, max_size=64),
    )
    def check(at: int, noise: bytes) -> None:
        path.write_bytes((sound[:at] + noise + sound[at + len(noise) :])[: len(sound)])
        before = contents(tmp_path)
        refused = None
        try:
            Database(path, durable=False, patience_seconds=0.05).close()
        except Unavailable as error:
            refused = error
        if refused is not None:
            assert str(path) in refused.message
            assert refused.cure
            assert contents(tmp_path) == before

    check()


def test_what_a_crash_left_of_a_new_file_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f"{FILE}.new").write_bytes(b"half")
    (tmp_path / f"{FILE}.new-wal").write_bytes(b"half")
    with home(tmp_path) as (opened, _):
        opened.agents.create(profile())
    assert not (tmp_path / f"{FILE}.new").exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("日記")
    with pytest.raises(Unavailable, match="data") as caught:
        open_sqlite_database(tmp_path / "data")
    assert "--data" in (caught.value.cure or "")
    assert (tmp_path / "data").read_text() == "日記"


def test_a_second_opening_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with database(tmp_path):
        error = refusal(tmp_path / FILE)
        assert not isinstance(error, DamagedDatabase)
        assert str(tmp_path / FILE) in error.message
        assert "--data" in (error.cure or "")
    with database(tmp_path):
        pass


OPEN = """
import sys
from pathlib import Path
from opencrab.adapters.sqlite.home import open_sqlite_database
from opencrab.domain.errors import Unavailable
try:
    open_sqlite_database(Path(sys.argv[1])).close()
except Unavailable as error:
    print(error.message)
    sys.exit(3)
"""


def test_a_second_process_on_the_folder_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with database(tmp_path):
        second = run(OPEN, tmp_path)
        assert (second.returncode, second.stderr) == (3, "")
        assert "another OpenCrab is running" in second.stdout
        assert str(tmp_path / FILE) in second.stdout
    assert run(OPEN, tmp_path).returncode == 0


def test_a_refused_file_is_free_for_the_next_attempt(tmp_path: Path) -> None:
    path = made(tmp_path)
    sound_bytes = path.read_bytes()
    broken_header(path)
    refusal(path)
    path.write_bytes(sound_bytes)
    with home(tmp_path) as (opened, _):
        assert opened.agents.get("agent0").agent.name == "花0"
