"""Snapshots: whole copies of an agent's index, from which others begin."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Snapshot:
    """A published copy of an index; versions are compared for equality only, they have no order."""

    agent_id: str
    version: str
    sha256: str
    size: int
    rows: int
    tokenizer: int
    published_at: datetime


class SnapshotStore(Protocol):
    """The newest snapshot of each agent's index.

    A snapshot is complete or does not exist. A publisher names the snapshot that it built upon, and
    is rejected if another one was published since, so that a stale publisher cannot revert the
    index.
    """

    def newest(self, agent_id: str) -> Snapshot | None:
        """Return the current snapshot, or None."""

    def fetch(self, snapshot: Snapshot, into: Path) -> bool:
        """Copy a snapshot to a file; returns False if it is gone or does not match its hash."""

    def publish(
        self, agent_id: str, file: Path, *, rows: int, tokenizer: int, over: Snapshot | None
    ) -> Snapshot | None:
        """Replace `over` by a file; returns None if `over` is no longer the newest."""

    def remove(self, agent_id: str) -> None:
        """Remove all snapshots of an agent, including old versions."""
