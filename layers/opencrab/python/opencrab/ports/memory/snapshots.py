"""Snapshots: published files of an agent's index, from which others begin."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Snapshot:
    """A published file of an index; versions are compared for equality only, they have no order.

    What the file contains is its publisher's; `tokenizer` says who can read it.
    """

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
    index. Earlier snapshots that the newest one needs are kept for as long as publishers name them.
    """

    def newest(self, agent_id: str) -> Snapshot | None:
        """Return the current snapshot, or None."""

    def fetch(self, snapshot: Snapshot, into: Path) -> bool:
        """Copy the newest snapshot, or one that is kept, to a file.

        Returns False if it is gone or does not match its hash.
        """

    def publish(
        self,
        agent_id: str,
        file: Path,
        *,
        rows: int,
        tokenizer: int,
        over: Snapshot | None,
        keeps: AbstractSet[str] = frozenset(),
    ) -> Snapshot | None:
        """Replace `over` by a file; returns None if `over` is no longer the newest.

        The versions in `keeps` stay, also when `over` is one of them.
        """

    def remove_earlier(self, newest: Snapshot, keeps: AbstractSet[str] = frozenset()) -> bool:
        """Remove all snapshots before this one, except the versions in `keeps`.

        Returns False, and removes nothing, if it is no longer the newest.
        """

    def remove(self, agent_id: str) -> None:
        """Remove all snapshots of an agent, including old versions."""
