"""Snapshots: whole copies of an agent's index, from which others begin."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Snapshot:
    """One published copy; `version` orders nothing and is only compared."""

    agent_id: str
    version: str
    sha256: str
    size: int
    rows: int
    tokenizer: int
    published_at: datetime


class SnapshotStore(Protocol):
    """The newest snapshot of each agent's index.

    A snapshot is whole or not there. Whoever publishes says over which one it built, and is turned
    away when another came first, so that no stale publisher takes the index back.
    """

    def newest(self, agent_id: str) -> Snapshot | None:
        """The snapshot in force, or None."""

    def fetch(self, snapshot: Snapshot, into: Path) -> bool:
        """Copy it to a file; False when it is gone or is not what its hash says."""

    def publish(
        self, agent_id: str, file: Path, *, rows: int, tokenizer: int, over: Snapshot | None
    ) -> Snapshot | None:
        """Put a file in the place of `over`; None when that is no longer the newest."""

    def remove(self, agent_id: str) -> None:
        """Remove all snapshots of an agent, old versions of them included."""
