"""Files on this computer, as commands read and write them, with errors as sentences."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO

from opencrab.domain.errors import Conflict, Invalid
from opencrab.gateways.cli.terminal.terminal import Terminal


def write_file_for_terminal(
    terminal: Terminal, file: Path, content: bytes, *, replace: bool
) -> None:
    """Write a file; raises Invalid, and Conflict if it exists and must not be replaced."""
    try:
        with file.open("wb" if replace else "xb") as opened:
            opened.write(content)
    except FileExistsError as error:
        raise _place_taken_error(terminal, file) from error
    except OSError as error:
        raise unusable_file_error(terminal, file, error) from error


@contextmanager
def new_file_for_terminal(terminal: Terminal, file: Path, *, replace: bool) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only once it is complete.

    Raises Invalid, and Conflict, before anything is written, if it exists and must not be replaced.
    """
    part = file.with_name(f".{file.name}.part")
    if not replace and file.exists():
        raise _place_taken_error(terminal, file)
    try:
        with part.open("wb") as opened:
            yield opened
        part.replace(file)
    except OSError as error:
        raise unusable_file_error(terminal, file, error) from error
    finally:
        part.unlink(missing_ok=True)


def read_file_for_terminal(terminal: Terminal, file: Path, most: int = -1) -> bytes:
    """Read a file, or its first `most` bytes; raises Invalid."""
    try:
        with file.open("rb") as opened:
            return opened.read(most)
    except OSError as error:
        raise unusable_file_error(terminal, file, error) from error


def _place_taken_error(terminal: Terminal, file: Path) -> Conflict:
    return Conflict(
        terminal.words("place_taken", place=file), cure=terminal.words("place_taken_cure")
    )


def unusable_file_error(terminal: Terminal, file: str | PathLike[str], error: OSError) -> Invalid:
    """Return the error for a path that cannot be read or written."""
    return Invalid(
        terminal.words("no_place", place=file, why=error.strerror or error),
        cure=terminal.words("no_place_cure"),
    )
