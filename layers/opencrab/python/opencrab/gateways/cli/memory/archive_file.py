"""Writes an export to a zip on this computer: part after part, however much an agent remembers."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from errno import EINVAL
from functools import partial
from os import strerror
from pathlib import Path
from tempfile import NamedTemporaryFile, SpooledTemporaryFile
from typing import IO, Any

from opencrab.domain.errors import Conflict
from opencrab.engine.memory.archive.rows import ROW_KINDS
from opencrab.engine.memory.archive.writer import ArchiveWriter
from opencrab.gateways.cli.terminal.files import file_error_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_HELD_BYTES = 1 << 20
"""The text of a session that is held in memory; more of it waits in a temporary file."""

_NO_TIME = datetime(1980, 1, 1, tzinfo=UTC)
"""What a zip says where no clock is known: its first day."""


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


def write_memory_archive(
    terminal: Terminal,
    agent_id: str,
    into: IO[bytes],
    query: Mapping[str, object],
    *,
    sessions: bool,
) -> None:
    """Write what the server exports; the zip is complete, or an error is raised."""
    now = terminal.options.now
    at = now() if now else _NO_TIME
    spool = partial(SpooledTemporaryFile[bytes], _HELD_BYTES)
    with ArchiveWriter(into, agent_id, at, sessions=sessions, spool=spool) as archive:
        for row in _rows(terminal, agent_id, query):
            kind = str(row["kind"])
            archive.add(kind, ROW_KINDS[kind].model_validate(row["value"]))


def _rows(
    terminal: Terminal, agent_id: str, query: Mapping[str, object]
) -> Iterator[dict[str, Any]]:
    place: str | None = None
    while True:
        text, place = terminal.client.json_lines(
            *("agents", agent_id, "memory", "export"), after=place, **query
        )
        if not text:
            return
        yield from map(json.loads, filter(None, text.split("\n")))
