"""Files on this computer, as commands read and write them, with errors as sentences."""

from os import PathLike
from pathlib import Path

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
        raise Conflict(
            terminal.words("place_taken", place=file), cure=terminal.words("place_taken_cure")
        ) from error
    except OSError as error:
        raise file_error_for_terminal(terminal, file, error) from error


def read_file_for_terminal(terminal: Terminal, file: Path, most: int = -1) -> bytes:
    """Read a file, or its first `most` bytes; raises Invalid."""
    try:
        with file.open("rb") as opened:
            return opened.read(most)
    except OSError as error:
        raise file_error_for_terminal(terminal, file, error) from error


def file_error_for_terminal(
    terminal: Terminal, file: str | PathLike[str], error: OSError
) -> Invalid:
    """Return the error for a path that cannot be read or written."""
    return Invalid(
        terminal.words("no_place", place=file, why=error.strerror or error),
        cure=terminal.words("no_place_cure"),
    )
