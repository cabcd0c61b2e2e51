"""Disks that fail at one call, or count their calls."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opencrab.adapters.local_files import Disk
from opencrab.adapters.local_files.disk import REAL_DISK

OPERATIONS = (
    "open_file", "write", "set_times", "fsync", "close",
    "mkdir", "replace", "link", "unlink", "rmdir",
)  # fmt: skip


class Faults:
    """Lets the n-th call to the operating system fail, before or after it took place."""

    def __init__(self, at: int = -1, code: int = errno.EIO, *, afterwards: bool = False) -> None:
        self.calls: list[str] = []
        self.failed = ""
        self._at = at
        self._code = code
        self._afterwards = afterwards

    def disk(self) -> Disk:
        """A disk whose calls all pass through here."""
        return Disk(**{name: self._watched(name) for name in OPERATIONS})

    def arm(self, at: int) -> None:
        """Let the n-th call from now on fail."""
        self.calls.clear()
        self._at = at

    def _watched(self, name: str) -> Callable[..., Any]:
        real = getattr(REAL_DISK, name)

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) - 1 != self._at:
                return real(*arguments)
            self.failed = name
            if self._afterwards or name == "close":
                real(*arguments)
            raise OSError(self._code, os.strerror(self._code))

        return call


def short_writes(size: int) -> Disk:
    """A disk that takes only some bytes at a time."""
    return Disk(write=lambda descriptor, rest: os.write(descriptor, rest[:size]))


def growing(root: Path) -> list[str]:
    """The temporary files that are left."""
    folder = root / ".writing"
    return [each.name for each in folder.iterdir()] if folder.exists() else []
