"""Files of a source: databases in a folder, in a zip, and of a program that runs."""

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from opencrab.domain.errors import Invalid, OpenCrabError, TooLarge
from opencrab.domain.value import Language
from opencrab.engine.bundle.sources import read_source
from opencrab.gateways.cli.bundle.source_files import open_source


def database(path: Path, *, running: bool) -> sqlite3.Connection:
    """A database with one row in it, and one more that only its log has while it runs."""
    opened = sqlite3.connect(path)
    opened.execute("PRAGMA journal_mode=WAL")
    opened.execute("CREATE TABLE said (text)")
    opened.execute("INSERT INTO said VALUES ('薔薇')")
    opened.execute("CREATE VIEW seen AS SELECT 'x' text")
    opened.commit()
    opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if running:
        opened.execute("INSERT INTO said VALUES ('new')")
        opened.commit()
    return opened


def test_the_newest_rows_of_a_program_that_runs_are_read_and_nothing_is_changed(
    tmp_path: Path,
) -> None:
    opened = database(tmp_path / "state.db", running=True)
    log = (tmp_path / "state.db-wal").read_bytes()
    assert log
    source = open_source(tmp_path)
    assert [row["text"] for row in source.table("state.db", "said")] == ["薔薇", "new"]
    assert source.table("state.db", "seen") == source.table("state.db", "nothing") == []
    assert (tmp_path / "state.db-wal").read_bytes() == log
    opened.close()


def test_a_database_in_a_zip_is_read_like_one_in_a_folder(tmp_path: Path) -> None:
    database(tmp_path / "state.db", running=False).close()
    archive = tmp_path / "backup.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(tmp_path / "state.db", "home/state.db")
        packed.writestr("broken.db", b"SQLite format 3\0" + b"broken" * 100)
        packed.writestr("empty.db", b"")
    source = open_source(archive)
    assert source.table("home/state.db", "said") == [{"text": "薔薇"}]
    assert source.table("home/state.db", "seen") == source.table("empty.db", "said") == []
    with pytest.raises(Invalid) as refused:
        source.table("broken.db", "said")
    assert refused.value.cure


def test_a_zip_behind_a_picture_is_read_and_a_picture_alone_is_a_file(tmp_path: Path) -> None:
    archive, picture = tmp_path / "card.zip", tmp_path / "card.jpg"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("card.json", "{}")
    picture.write_bytes(b"\xff\xd8\xff\xe0\xff\xd9")
    assert open_source(picture).names() == ("card.jpg",)
    picture.write_bytes(picture.read_bytes() + archive.read_bytes())
    source = open_source(picture)
    assert (source.names(), source.read("card.json")) == (("card.json",), b"{}")


def test_folders_of_code_are_named_and_not_looked_into(tmp_path: Path) -> None:
    home, archive = tmp_path / "home", tmp_path / "home.zip"
    for name in (
        *("SOUL.md", "notes/venv/薔薇.md", "agent/.git/objects/00/aa", "agent/main.py"),
        *("agent/env/pyvenv.cfg", "agent/env/lib/x.py", "web/node_modules/a/node_modules/b.js"),
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x", encoding="utf-8")
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted(home.rglob("*")):
            packed.write(file, file.relative_to(home).as_posix())
    folder, zipped = open_source(home), open_source(archive)
    assert folder.names() == ("SOUL.md", "agent/main.py", "notes/venv/薔薇.md")
    assert folder.skipped == ("agent/.git", "agent/env", "web/node_modules")
    # Whether a folder in a zip is of Python is not looked up.
    assert zipped.skipped == ("agent/.git", "web/node_modules")
    assert set(folder.names()) < set(zipped.names())
    found = read_source("hermes", folder, Language.EN)
    assert found.lost["agent/.git", "not_supported"] == 1


COMPUTED = (("zeroblob(300000000)", Invalid), ("zeroblob(90000000)", TooLarge))


@pytest.mark.parametrize(("column", "error"), COMPUTED)
def test_a_column_that_is_computed_takes_no_more_memory_than_a_file(
    tmp_path: Path, column: str, error: type[OpenCrabError]
) -> None:
    with closing(sqlite3.connect(tmp_path / "state.db")) as opened, opened:
        opened.execute(f"CREATE TABLE said (x, y AS ({column}))")
        opened.executemany("INSERT INTO said VALUES (?)", [("",)] * 50)
    with pytest.raises(error) as refused:
        open_source(tmp_path).table("state.db", "said")
    assert refused.value.cure


def test_columns_that_take_no_byte_of_a_file_take_no_memory_either(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state.db")) as opened, opened:
        opened.execute("CREATE TABLE said (text)")
        opened.executemany("INSERT INTO said VALUES (?)", [("",)] * 8_000)
        for number in range(1_900):
            opened.execute(f"ALTER TABLE said ADD COLUMN c{number}")
    assert (tmp_path / "state.db").stat().st_size < 1 << 20
    with pytest.raises(TooLarge, match="values"):
        open_source(tmp_path).table("state.db", "said")


def test_in_a_zip_of_a_home_whose_program_ran_the_newest_rows_are_in_its_log(
    tmp_path: Path,
) -> None:
    opened = database(tmp_path / "state.db", running=True)
    archive = tmp_path / "backup.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in ("state.db", "state.db-wal"):
            packed.write(tmp_path / name, f"home/{name}")
    opened.close()
    rows = open_source(archive).table("home/state.db", "said")
    assert [row["text"] for row in rows] == ["薔薇", "new"]


def test_a_text_that_is_no_utf_8_costs_its_broken_letters_and_no_other_row(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "state.db")) as opened, opened:
        opened.execute("CREATE TABLE said (text)")
        # Cut in the middle of a letter, as programs in other languages store it.
        broken = "潮".encode()[:2]
        opened.execute("INSERT INTO said VALUES ('薔薇'), (CAST(? AS TEXT))", (broken,))
    rows = open_source(tmp_path).table("state.db", "said")
    assert [row["text"] for row in rows] == ["薔薇", "\ufffd"]


PACKED = (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


@pytest.mark.parametrize("packing", PACKED)
def test_a_member_with_broken_bytes_is_refused_by_its_name(tmp_path: Path, packing: int) -> None:
    archive, name = tmp_path / "export.zip", "会話.json"
    with zipfile.ZipFile(archive, "w", packing) as packed:
        packed.writestr(name, "潮" * 4_000)
    content = bytearray(archive.read_bytes())
    start = 30 + len(name.encode()) + 9
    content[start : start + 20] = b"\xff" * 20
    archive.write_bytes(content)
    with pytest.raises(Invalid) as refused:
        open_source(archive).read(name)
    assert name in refused.value.message


def test_a_zip_whose_names_are_no_utf_8_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("会.json", "{}")
    archive.write_bytes(archive.read_bytes().replace("会".encode(), b"\xff\xff\xff"))
    with pytest.raises(Invalid) as refused:
        open_source(archive)
    assert "export.zip" in refused.value.message
