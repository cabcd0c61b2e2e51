"""Files on this computer, as commands read and write them, with errors as sentences."""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EINVAL
from os import PathLike, strerror
from pathlib import Path
from tempfile import NamedTemporaryFile
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


@contextmanager
def new_file_for_terminal(terminal: Terminal, file: Path, *, replace: bool) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only once it is complete.

    Raises Invalid, and Conflict if it exists and must not be replaced: before anything is written,
    or at the end if somebody else wrote it meanwhile.
    """
    part: Path | None = None
    try:
        _require_free(terminal, file, replace=replace)
        # A link stays a link: what it leads to is replaced.
        target = file.resolve()
        with NamedTemporaryFile(
            dir=target.parent, prefix=".opencrab-", suffix=".part", delete=False
        ) as opened:
            part = Path(opened.name)
            yield opened
        _require_free(terminal, file, replace=replace)
        part.replace(target)
    except OSError as error:
        raise file_error_for_terminal(terminal, file, error) from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _require_free(terminal: Terminal, file: Path, *, replace: bool) -> None:
    if not file.exists():
        return
    if not replace:
        raise Conflict(
            terminal.words("place_taken", place=file), cure=terminal.words("place_taken_cure")
        )
    if not file.is_file():
        # Such as a device, which a file must not take the place of.
        raise file_error_for_terminal(terminal, file, OSError(EINVAL, strerror(EINVAL)))
