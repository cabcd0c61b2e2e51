"""The ledger of workspaces: what each agent's files count for, kept beside the files themselves.

A store of objects knows no quota and no names that look alike, so whoever writes a file first
reserves its bytes and its name here, and settles afterwards. The files stay the truth: a worker
that dies in between leaves a reservation, which counts too much and never too little.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.workspace.path import path_collision_key
from opencrab.ports.workspace.files import FileInfo

GRACE = timedelta(minutes=15)
"""No worker lives longer: an older reservation belongs to a dead one."""


@dataclass(frozen=True)
class SpaceReservation:
    """Bytes that a write may come to need; `token` names the write, the same in every repeat."""

    token: str
    size: int
    at: datetime


@dataclass(frozen=True)
class LedgerEntry:
    """What the ledger knows of one path.

    `size` is None when no file was there; `info` is None when only the size is known. `counted` and
    `revision` belong to the ledger: the bytes it counts for this entry, and what it must still be
    when it is saved.
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
        """Whether there is nothing left to know."""
        return self.size is None and not self.reservations

    def seen(self, info: FileInfo | None, now: datetime) -> "LedgerEntry":
        """After a look at the file, without the reservations of the dead.

        Whether it is clean is kept with the file alone.
        """
        size = None if info is None else info.size
        known = None if info is None else replace(info, clean=False)
        return replace(self, size=size, info=known, reservations=self._alive(now))

    def sized(self, size: int | None, now: datetime) -> "LedgerEntry":
        """After a look at the file's size alone."""
        return replace(self, size=size, info=None, reservations=self._alive(now))

    def reserving(self, token: str, size: int, now: datetime) -> "LedgerEntry":
        """Before a write of so many bytes."""
        others = self.without(token).reservations
        return replace(self, reservations=(*others, SpaceReservation(token, size, now)))

    def without(self, token: str) -> "LedgerEntry":
        """After a write came to its end."""
        others = tuple(each for each in self.reservations if each.token != token)
        return replace(self, reservations=others)

    def _alive(self, now: datetime) -> tuple[SpaceReservation, ...]:
        return tuple(each for each in self.reservations if now - each.at < GRACE)


class WorkspaceLedger(Protocol):
    """Per agent: one entry for each path, and the sum of what they count for."""

    def entry(self, agent_id: str, path: str) -> LedgerEntry:
        """What is known of a path; an empty entry when nothing is."""

    def entries(self, agent_id: str, folder: str = "") -> tuple[LedgerEntry, ...]:
        """What is known below a folder, in no order."""

    def save(
        self, agent_id: str, entry: LedgerEntry, *, quota_bytes: int | None = None
    ) -> LedgerEntry | None:
        """Keep an entry, remove one that is empty, and count the difference, all at once.

        None when somebody changed it since it was read. Raises TooLarge when it grows beyond the
        quota, and Invalid when another file or folder has its name or one that looks the same.
        """


def workspace_over_quota_error(path: str, growth: int, used: int, quota_bytes: int) -> TooLarge:
    """The workspace has no room for so much growth."""
    return TooLarge(
        f"file {path!r} needs {growth} bytes more and the workspace has "
        f"{max(quota_bytes - used, 0)} of {quota_bytes} left",
        field="content",
        cure="delete or shorten other files first",
    )


def file_name_taken_error(path: str, existing: str, *, is_folder: bool) -> Invalid:
    """A file or folder of this name is there, or one that nobody could tell from it."""
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
    """A path's names, each in the form that it shares with all that look the same."""
    return tuple(map(path_collision_key, path.split("/")))
