"""Settings files of this machine: read with their line ends, and replaced as a whole."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from opencrab.domain.errors import Invalid, Unavailable

MOST_BYTES = 1_048_576
_BOM = "\ufeff"


def read_settings_file(path: Path) -> str | None:
    """Return a file's text; None if there is no file. Raises Invalid if it cannot be read."""
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unreadable(path, "file_kind", "it is not a regular file")
            content = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError as error:
        raise _unreadable(path, "file_kind", "it is a folder") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise _unreadable(path, "file_unreadable", why, cure="make it readable for you") from error
    if len(content) > MOST_BYTES:
        why = f"it is larger than {MOST_BYTES:,} bytes"
        raise _unreadable(path, "file_large", why, cure="make it smaller")
    try:
        return content.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"{path}:{line}: the file is not in UTF-8"
        cure = "save it in UTF-8 with your editor"
        raise _invalid_file(message, "file_encoding", {}, cure, line) from error


def write_settings_file(path: Path, text: str) -> None:
    """Replace a file's text at once; a link stays a link. Raises Unavailable if it cannot."""
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = target.with_name(f".{target.name}.{token_hex(8)}")
        try:
            _write(draft, target, text)
            draft.replace(target)
        finally:
            with suppress(FileNotFoundError):
                draft.unlink()
    except OSError as error:
        raise Unavailable(
            f"{path} cannot be written: {error.strerror or error}",
            cure="make it writable, or name another file with --config",
        ) from error


def _write(draft: Path, target: Path, text: str) -> None:
    mode = 0o600
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(target.stat().st_mode)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def _unreadable(
    path: Path, problem: str, why: str, cure: str = "put a text file in its place"
) -> Invalid:
    facts: dict[str, object] = {"why": why, "most": f"{MOST_BYTES:,}"}
    return _invalid_file(f"{path} cannot be read: {why}", problem, facts, cure)


def _invalid_file(
    message: str, problem: str, facts: dict[str, object], cure: str, line: int = 0
) -> Invalid:
    from opencrab.domain.configuration.invalid_setting import InvalidSetting  # noqa: PLC0415 - seldom

    return InvalidSetting(message, problem=problem, facts=facts, line=line, cure=cure)
