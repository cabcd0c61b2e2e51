"""Exported files: a state that is replaced whole, and a history that only grows.

Beside the history lies a mark: how far it goes, its digest, and what is about to be added to it.
Whatever ends an export on the way, the next one goes on from there; a history that is not as its
mark says is left alone.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STATE, EVENTS, MARK = "state.json", "events.jsonl", "events.cursor"
_KEYS = {"input", "plan", "thought", "action", "result"}
_CHUNK = 1 << 20


class DamagedExport(Exception):
    """A file differs from what the export wrote; it was left unchanged."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was not written by an export")
        self.path = path


@dataclass
class HistoryFile:
    """The history file of one agent, and the place in the agent's history that it has reached."""

    path: Path
    mark: Path
    agent_id: str
    place: str | None
    size: int
    digest: Any

    @classmethod
    def open(cls, directory: Path, agent_id: str) -> "HistoryFile":
        """Open the history in a folder and complete its last export if that was interrupted.

        Raises DamagedExport, and OSError.
        """
        path, mark = directory / EVENTS, directory / MARK
        if (directory / STATE).exists():
            _require_state(directory / STATE)
        ledger = cls(path, mark, agent_id, None, 0, hashlib.sha256())
        if not mark.exists():
            if path.exists():
                raise DamagedExport(path)
            return ledger
        kept = _mark(mark, agent_id)
        pending = kept["pending"].encode()
        tail = ledger._verified(kept["size"], kept["sha256"], len(pending))
        if not pending.startswith(tail):
            raise DamagedExport(path)
        ledger.place = kept["place"]
        if pending:
            ledger._append(pending, len(tail), kept["next"])
        return ledger

    def add(self, text: str, place: str | None) -> int:
        """Append events and store the place after them; returns their number."""
        pending = text.encode()
        self._note(pending=text, following=place)
        self._append(pending, 0, place)
        return pending.count(b"\n")

    def _append(self, content: bytes, there: int, place: str | None) -> None:
        with os.fdopen(_open_private_file(self.path, os.O_APPEND), "ab") as file:
            file.write(content[there:])
            file.flush()
            os.fsync(file.fileno())
        self.digest.update(content)
        self.size += len(content)
        self.place = place
        self._note()

    def _note(self, *, pending: str = "", following: str | None = None) -> None:
        kept = {
            "agent": self.agent_id,
            "place": self.place,
            "size": self.size,
            "sha256": self.digest.hexdigest(),
            "pending": pending,
            "next": following,
        }
        _replace(self.mark, json.dumps(kept, ensure_ascii=False))

    def _verified(self, size: int, digest: str, more: int) -> bytes:
        """Check the known part by its hash and return the bytes after it; raises DamagedExport."""
        left = size
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            while left and (chunk := file.read(min(left, _CHUNK))):
                self.digest.update(chunk)
                left -= len(chunk)
            tail = file.read(more + 1)
            if left or self.digest.hexdigest() != digest:
                raise DamagedExport(self.path)
            self.size = size
            return tail
        if size:
            raise DamagedExport(self.path)
        return b""


def write_insight_state_file(directory: Path, state: dict[str, Any]) -> Path:
    """Replace the whole state file: indented by two spaces, UTF-8, no byte order mark."""
    path = directory / STATE
    _replace(path, json.dumps(state, ensure_ascii=False, indent=2) + "\n")
    return path


def _require_state(path: Path) -> None:
    """Raise DamagedExport unless the file is a state that an export wrote."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise DamagedExport(path) from None
    if not isinstance(found, dict) or set(found) != _KEYS:
        raise DamagedExport(path)


def _mark(path: Path, agent_id: str) -> dict[str, Any]:
    """Read the mark of this agent's history; raises DamagedExport."""
    kinds = {"agent": str, "size": int, "sha256": str, "pending": str}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise DamagedExport(path) from None
    if not isinstance(kept, dict) or not all(
        isinstance(kept.get(name), kind) for name, kind in kinds.items()
    ):
        raise DamagedExport(path)
    if kept["agent"] != agent_id or not {"place", "next"} <= set(kept):
        raise DamagedExport(path)
    return kept


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.new")
    with os.fdopen(_open_private_file(new, os.O_TRUNC), "wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _open_private_file(path: Path, flag: int) -> int:
    """Open a file for writing; a new one is readable by its owner only."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
