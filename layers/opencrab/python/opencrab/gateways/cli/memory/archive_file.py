"""Writes an export to a zip on this computer: part after part, however much an agent remembers."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from opencrab.engine.memory.archive.rows import ROW_KINDS
from opencrab.engine.memory.archive.writer import ArchiveWriter
from opencrab.gateways.cli.terminal.terminal import Terminal

_HELD_BYTES = 1 << 20
"""The text of a session that is held in memory; more of it waits in a temporary file."""

_NO_TIME = datetime(1980, 1, 1, tzinfo=UTC)
"""What a zip says where no clock is known: its first day."""


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
