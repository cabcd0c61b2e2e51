"""The files of a source on this computer: a folder, a zip or one file; no link is followed."""

import os
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.engine.bundle.found import SourceFiles

try:
    from lzma import LZMAError
except ImportError:  # some builds of Python have no LZMA, and unpack none
    LZMAError = zlib.error  # type: ignore[misc,assignment]

SOURCE_FILE_BYTES = 256 << 20
"""The largest file that is read at once, such as all conversations of an export."""

SOURCE_BYTES = 1 << 30
SOURCE_FILES = 100_000
"""The most files of a source; of those, an agent takes what a bundle holds."""

_CODE = frozenset({".git", "node_modules", ".venv", "__pycache__", "site-packages"})
"""Folders of programs and their history, which have more files than all notes beside them."""

_LOG = "-wal"
_TABLE_ROWS = 200_000
_TABLE_VALUES = 50 * _TABLE_ROWS
"""Of all columns: one that was added later takes no byte of the file, and a place in each row."""

_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, LZMAError, UnicodeDecodeError),
    *(RuntimeError, EOFError, NotImplementedError),
)


class FolderSource:
    """A folder, or one file in it; links are left out."""

    def __init__(
        self, folder: Path, names: tuple[str, ...], name: str, skipped: tuple[str, ...] = ()
    ) -> None:
        self._folder, self._names, self.name, self.skipped = folder, names, name, skipped

    def names(self) -> tuple[str, ...]:
        """Return the paths of all files."""
        return self._names

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        return (self._folder / name).stat(follow_symlinks=False).st_size

    def read(self, name: str) -> bytes:
        """Return a file's content; raises TooLarge."""
        _require_size(name, self.size(name))
        with (self._folder / name).open("rb") as opened:
            return opened.read(SOURCE_FILE_BYTES)

    def table(self, name: str, table: str) -> list[Mapping[str, Any]]:
        """Return the rows of a table of an SQLite file; a view, which could run code, is none."""
        _require_size(name, self.size(name))
        path = self._folder / name
        if not _has_more(path):
            place = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
            return _rows(name, lambda: sqlite3.connect(place, uri=True), table)
        _require_size(f"{name}{_LOG}", _log(path).stat().st_size)
        with TemporaryDirectory() as scratch:
            copied = Path(scratch, "copied")
            for each, copy in ((path, copied), (_log(path), _log(copied))):
                shutil.copyfile(each, copy)
            return _rows(name, lambda: sqlite3.connect(copied), table)


class ZipSource:
    """A zip; names are only names."""

    def __init__(self, opened: zipfile.ZipFile, name: str) -> None:
        self._zip, self.name = opened, name
        skipped, infos = set[str](), list[zipfile.ZipInfo]()
        for info in opened.infolist():
            if code := _folder_of_code(info.filename):
                skipped.add(code)
            elif not info.is_dir():
                infos.append(info)
        self.skipped = tuple(sorted(skipped))
        self._infos = {info.filename: info for info in infos}
        self._names = tuple(sorted(self._infos))
        _require_count(len(infos))
        _require_total(sum(info.file_size for info in infos))

    def names(self) -> tuple[str, ...]:
        """Return the names of all members."""
        return self._names

    def size(self, name: str) -> int:
        """Return the size of a member in bytes."""
        return self._infos[name].file_size

    def table(self, name: str, table: str) -> list[Mapping[str, Any]]:
        """Return the rows of a table of an SQLite file; without a log it is read in memory."""
        log = f"{name}{_LOG}"
        if log in self._infos and self.size(log):
            with TemporaryDirectory() as scratch:
                copied = Path(scratch, "copied")
                copied.write_bytes(self.read(name))
                _log(copied).write_bytes(self.read(log))
                return _rows(name, lambda: sqlite3.connect(copied), table)
        content = bytearray(self.read(name))
        # A copy without the file beside it, which the two bytes would call for.
        content[18:20] = content[18:20].replace(b"\x02", b"\x01")

        def connect() -> sqlite3.Connection:
            opened = sqlite3.connect(":memory:")
            if content:
                opened.deserialize(bytes(content))
            return opened

        return _rows(name, connect, table)

    def read(self, name: str) -> bytes:
        """Return a member's content; raises Invalid and TooLarge."""
        _require_size(name, self.size(name))
        try:
            with self._zip.open(self._infos[name]) as member:
                return member.read(SOURCE_FILE_BYTES)
        except (*_UNREADABLE, OSError) as error:
            # Of bzip2, broken data are an error of the system.
            raise Invalid(
                f"{name!r} cannot be unpacked: {error}",
                field="source",
                cure="export it again, unchanged",
            ) from None


def _rows(
    name: str, connect: Callable[[], sqlite3.Connection], table: str
) -> list[Mapping[str, Any]]:
    """Return the rows of a table; a view, which could run code, is none. Raises TooLarge."""
    try:
        with closing(connect()) as opened:
            opened.execute("PRAGMA trusted_schema=OFF")
            opened.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SOURCE_FILE_BYTES)
            # One broken text is no reason to lose all others.
            opened.text_factory = _text
            listed = "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?"
            if opened.execute(listed, (table,)).fetchone() is None:
                return []
            asked = opened.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - names of ours
            return _read_rows(name, table, asked)
    except sqlite3.Error as error:
        raise Invalid(
            f"{name!r} is not a readable SQLite database: {error}",
            field="source",
            cure="copy it while its program is stopped",
        ) from None


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")


def _read_rows(name: str, table: str, asked: sqlite3.Cursor) -> list[Mapping[str, Any]]:
    """Return rows while they are not too many, nor larger than any file that is read.

    A column may be computed, and rows of a broken file may share their pages.
    """
    rows, size, values = list[Mapping[str, Any]](), 0, 0
    columns = tuple(each[0] for each in asked.description)
    for row in asked:
        rows.append(dict(zip(columns, row, strict=True)))
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        values += len(row)
        if len(rows) > _TABLE_ROWS or values > _TABLE_VALUES or size > SOURCE_FILE_BYTES:
            raise TooLarge(
                f"{name!r} has over {_TABLE_ROWS} rows, {_TABLE_VALUES} values or "
                f"{SOURCE_FILE_BYTES} bytes in {table}",
                field="source",
                cure="leave the database out, or delete what is old in its program",
            )
    return rows


def _log(path: Path) -> Path:
    """Return the file beside a database that has its newest rows while its program runs."""
    return path.with_name(f"{path.name}{_LOG}")


def _has_more(path: Path) -> bool:
    log = _log(path)
    return log.is_file() and not log.is_symlink() and log.stat().st_size > 0


def open_source(path: Path) -> SourceFiles:
    """Open a folder, a zip or one file; raises Invalid, TooLarge and OSError."""
    if path.is_dir():
        names, skipped = list[str](), list[str]()
        total = 0
        for folder, inner, files in os.walk(path):
            code = {each for each in inner if _is_code(Path(folder, each))}
            skipped += (Path(folder, each).relative_to(path).as_posix() for each in code)
            inner[:] = sorted(set(inner) - code)
            for name in files:
                place = Path(folder, name)
                if place.is_symlink() or not place.is_file():
                    continue
                total += place.stat().st_size
                names.append(place.relative_to(path).as_posix())
            _require_count(len(names))
        _require_total(total)
        told = tuple(sorted(skipped))
        return FolderSource(path, tuple(sorted(names)), path.resolve().name, told)
    with path.open("rb") as opened:
        head = opened.read(4)
    # Some programs put a picture before the zip, so that a card can be seen.
    if head == b"PK\x03\x04" or (head.startswith(b"\xff\xd8") and zipfile.is_zipfile(path)):
        try:
            return ZipSource(zipfile.ZipFile(path), path.stem)
        except _UNREADABLE as error:
            raise Invalid(
                f"{path.name!r} is a broken zip: {error}",
                field="source",
                cure="export it again, unchanged",
            ) from None
    return FolderSource(path.parent, (path.name,), path.stem)


def _is_code(folder: Path) -> bool:
    # Unlike that of a Path, it is no error where nothing may be looked at.
    return folder.name in _CODE or os.path.isfile(folder / "pyvenv.cfg")  # noqa: PTH113


def _folder_of_code(name: str) -> str:
    """Return the outermost folder of code in which a member lies, or ""."""
    parts = name.split("/")[:-1]
    at = next((number for number, part in enumerate(parts, 1) if part in _CODE), 0)
    return "/".join(parts[:at])


def _require_size(name: str, size: int) -> None:
    if size > SOURCE_FILE_BYTES:
        raise TooLarge(
            f"{name!r} has {size} bytes, at most {SOURCE_FILE_BYTES} are read",
            field="source",
            cure="split it, or leave it out",
        )


def _require_count(count: int) -> None:
    if count > SOURCE_FILES:
        raise TooLarge(
            f"the source has more than {SOURCE_FILES} files",
            field="source",
            cure="choose the folder of the agent alone",
        )


def _require_total(total: int) -> None:
    if total > SOURCE_BYTES:
        raise TooLarge(
            f"the source has {total} bytes, at most {SOURCE_BYTES} are read",
            field="source",
            cure="choose the folder of the agent alone, or move large files out of it",
        )
