"""The ledger of workspaces: what each agent's files count for, kept beside the files themselves.

A store of objects knows no quota and no names that look alike, so whoever writes a file first
reserves its bytes and its name here, and settles afterwards. The files stay the truth: a worker
that dies in between leaves a reservation, which counts too much and never too little.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.workspace.path import workspace_path_collision_key
from opencrab.ports.workspace.files import FileInfo

GRACE = timedelta(minutes=15)
"""The longest life of a worker: an older reservation belongs to a dead one."""


@dataclass(frozen=True)
class SpaceReservation:
    """Bytes that a write may need; `token` identifies the write, the same in every repeat."""

    token: str
    size: int
    at: datetime


@dataclass(frozen=True)
class LedgerEntry:
    """The ledger's record of one path.

    `size` is None if there was no file; `info` is None if only the size is known. `counted` and
    `revision` belong to the ledger: the bytes that it counts for this entry, and the revision that
    must still be stored when the entry is saved.
    """

    path: str
    size: int | None = None
    info: FileInfo | None = None
    reservations: tuple[SpaceReservation, ...] = ()
    counted: int = 0
    revision: str = ""

    @property
    def held(self) -> int:
        """The most bytes that the file has or may come to have."""
        return max(self.size or 0, *(each.size for each in self.reservations), 0)

    @property
    def is_empty(self) -> bool:
        """True if there is neither a file nor a reservation."""
        return self.size is None and not self.reservations

    def with_file_info(self, info: FileInfo | None, now: datetime) -> "LedgerEntry":
        """Return the entry with a file's present state, without expired reservations."""
        size = None if info is None else info.size
        return replace(self, size=size, info=info, reservations=self._alive(now))

    def with_size(self, size: int | None, now: datetime) -> "LedgerEntry":
        """Return the entry with a file's present size, without expired reservations."""
        return replace(self, size=size, info=None, reservations=self._alive(now))

    def with_reservation(self, token: str, size: int, now: datetime) -> "LedgerEntry":
        """Return the entry with a reservation for a write."""
        others = self.without_reservation(token).reservations
        return replace(self, reservations=(*others, SpaceReservation(token, size, now)))

    def without_reservation(self, token: str) -> "LedgerEntry":
        """Return the entry without the reservation of a write that ended."""
        others = tuple(each for each in self.reservations if each.token != token)
        return replace(self, reservations=others)

    def _alive(self, now: datetime) -> tuple[SpaceReservation, ...]:
        return tuple(each for each in self.reservations if now - each.at < GRACE)


class WorkspaceLedger(Protocol):
    """A ledger per agent: one entry for each path, and the sum of the bytes counted."""

    def entry(self, agent_id: str, path: str) -> LedgerEntry:
        """Return the entry of a path; an empty one if the path is unknown."""

    def entries(self, agent_id: str, folder: str = "") -> tuple[LedgerEntry, ...]:
        """Return the entries below a folder, in no order."""

    def save(
        self, agent_id: str, entry: LedgerEntry, *, quota_bytes: int | None = None
    ) -> LedgerEntry | None:
        """Save an entry, remove an empty one, and count the difference, in one transaction.

        Returns None if the entry was changed since it was read. Raises TooLarge if it grows beyond
        the quota, and Invalid if another file or folder has its name or one that looks the same.
        """


def workspace_over_quota_error(path: str, growth: int, used: int, quota_bytes: int) -> TooLarge:
    """Build the TooLarge error for a write beyond the workspace's quota."""
    return TooLarge(
        f"file {path!r} needs {growth} bytes more and the workspace has "
        f"{max(quota_bytes - used, 0)} of {quota_bytes} left",
        field="content",
        cure="delete or shorten other files first",
    )


def file_name_taken_error(path: str, existing: str, *, is_folder: bool) -> Invalid:
    """Build the Invalid error for a name that is taken, or looks like an existing one."""
    if path == existing:
        kind, cure = ("folder", "use a file") if is_folder else ("file", "use a folder")
        return Invalid(f"{path!r} is a {kind}", field="path", cure=cure)
    mine, theirs = path.split("/"), existing.split("/")
    depth = next(n for n, (one, other) in enumerate(zip(mine, theirs, strict=True)) if one != other)
    return Invalid(
        f"{'/'.join(mine[: depth + 1])!r} differs from the existing "
        f"{'/'.join(theirs[: depth + 1])!r} in case or width only",
        field="path",
        cure=f"use {theirs[depth]!r}, or another name",
    )


def twin_file_names(path: str) -> tuple[str, ...]:
    """Return each part of a path in the form that it shares with names that look the same."""
    return tuple(map(workspace_path_collision_key, path.split("/")))
