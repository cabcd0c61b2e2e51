"""Writes an agent that a server exports to a bundle on this computer."""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.bundle.contents import FILE, LEFT_OUT, PEOPLE
from opencrab.domain.errors import Conflict
from opencrab.engine.bundle.limits import BUNDLE_FILE_BYTES
from opencrab.engine.bundle.writer import SESSIONS, BundleWriter
from opencrab.engine.memory.archive.rows import LINE, SESSION
from opencrab.gateways.cli.terminal.files import new_file_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_NO_TIME = datetime(1980, 1, 1, tzinfo=UTC)
"""What a bundle says where no clock is known: a zip's first day."""

BUNDLE_SPOOL = partial(SpooledTemporaryFile[bytes], 1 << 20)
"""Opens what holds rows until the end: memory first, then a temporary file."""


def write_bundle_file(
    terminal: Terminal, agent_id: str, target: Path, *, people: bool, sessions: bool, replace: bool
) -> dict[str, Any]:
    """Write the bundle, complete or not at all; return its size, rows and what it leaves out.

    Raises Invalid and Conflict for the file, and Conflict for a file of the agent that changes
    again and again meanwhile.
    """
    now, agent = terminal.options.now, ("agents", agent_id)
    at = now() if now else _NO_TIME
    with new_file_for_terminal(terminal, target, replace=replace) as opened:
        with BundleWriter(opened, at=at, agent_id=agent_id, spool=BUNDLE_SPOOL) as bundle:
            for row in bundle_rows_of_server(terminal, (*agent, "bundle"), people=people):
                _add(terminal, agent_id, bundle, row)
            if sessions:
                _add_sessions(terminal, agent_id, bundle, people=people)
        size = opened.tell()
    manifest = bundle.manifest
    left = [each.model_dump() for each in manifest.left_out]
    return {"file": str(target), "size": size, "rows": manifest.rows, "left_out": left}


def _add(terminal: Terminal, agent_id: str, bundle: BundleWriter, row: dict[str, Any]) -> None:
    kind, value = row["kind"], row["value"]
    if kind == LEFT_OUT:
        bundle.leave_out(value["what"], value["why"])
        return
    if kind == FILE:
        path = value["path"]
        if value["size"] > BUNDLE_FILE_BYTES:
            bundle.leave_out(path, "too_large")
            return
        content, is_same = _content(terminal, agent_id, path, value["sha256"])
        # Another content than the one that was listed is taken as foreign.
        fresh = {"size": len(content), "sha256": bundle.add_content(content)}
        value |= fresh if is_same else fresh | {"clean": False}
    bundle.add_row(kind, json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _add_sessions(terminal: Terminal, agent_id: str, bundle: BundleWriter, *, people: bool) -> None:
    """Add conversations, without `people` only those in which nobody else than owners spoke."""
    rows = bundle_rows_of_server(terminal, ("agents", agent_id, "memory", "export"))
    said = (row for row in rows if row["kind"] in {SESSION, LINE})
    conversation = list[dict[str, Any]]()
    for row in chain(said, ({"kind": SESSION},)):
        if row["kind"] == SESSION:
            if people or all(_is_own(each) for each in conversation):
                for each in conversation:
                    bundle.add_row(SESSIONS, json.dumps(each, ensure_ascii=False))
            elif conversation:
                bundle.leave_out(SESSION, PEOPLE)
            conversation = []
        conversation.append(row)


def _is_own(row: dict[str, Any]) -> bool:
    return row["kind"] == SESSION or row["value"]["authority"] in {Authority.OWNER, Authority.SELF}


def _content(terminal: Terminal, agent_id: str, path: str, sha256: str) -> tuple[bytes, bool]:
    content, _ = terminal.client.download("agents", agent_id, "workspace", *path.split("/"))
    if len(content) > BUNDLE_FILE_BYTES:
        raise Conflict(
            terminal.words("bundle_file_grows", path=path), cure=terminal.words("try_again")
        )
    return content, hashlib.sha256(content).hexdigest() == sha256


def bundle_rows_of_server(
    terminal: Terminal, parts: tuple[str, ...], **query: object
) -> Iterator[dict[str, Any]]:
    """Yield the rows of an export, part after part."""
    place: str | None = None
    while True:
        text, place = terminal.client.json_lines(*parts, after=place, **query)
        if not text:
            return
        yield from map(json.loads, filter(None, text.split("\n")))
