"""Older contents of workspace files: kept beside the workspace, as far as that is easily done.

A content that is about to be replaced or deleted gets a second name here, a hard link, which costs
no copy and no wait for the disk. So the file itself is never at risk: a crash, or a file system
without links, may lose an older content and nothing else.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from opencrab.adapters.local_files.disk import open_local_file
from opencrab.domain.identifier import content_hash
from opencrab.ports.workspace.files import FileVersion

MOST = 10
"""Older contents of one file."""

CONTENTS = 10_000
"""Older contents of one agent: each is counted as this part of the most bytes at least."""

_FOLDER = "versions"
_VERSION = re.compile(r"([0-9a-f]{64})-([0-9a-f]{1,16})-([0-9a-f]{1,16})")
_NAME = re.compile(r"([0-9a-f]{16})-([0-9a-f]{1,16})-([0-9a-f]{64})")
_NANOSECONDS = 1_000_000_000
_ROOM = 0.9
"""How full an agent's history is once it has been made smaller."""


@dataclass(frozen=True)
class _Kept:
    """An older content where it lies; names sort by the time of change."""

    place: Path
    size: int


class VersionHistory:
    """Older contents in `root/<agent id>/versions/<hash of the path>`, none of them counted.

    An agent's are never more bytes than its workspace may have, and never over CONTENTS; the
    oldest go first. Who calls lets nobody else in meanwhile.
    """

    def __init__(self, root: Path, most_bytes: int) -> None:
        self._root = root
        self._most_bytes = most_bytes
        self._sizes: dict[str, int] = {}

    def keep(self, agent_id: str, path: str, place: Path, version: str) -> None:
        """Keep what lies in a place, which is this version of the file, if that can be done."""
        folder = self._folder(agent_id, path)
        if not _VERSION.fullmatch(version):
            return  # Changed before 1970, says somebody's clock.
        with suppress(OSError):
            total = self._size(agent_id)
            kept = folder / _name(version)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.link(place, kept, follow_symlinks=False)
            self._sizes[agent_id] = total + self._counted(kept.lstat().st_size)
            for old in sorted(_stored_versions(folder), key=_by_name)[:-MOST]:
                self._drop(agent_id, old)
            self._shrink(agent_id)

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        """What is kept of a file, newest first."""
        kept = sorted(_stored_versions(self._folder(agent_id, path)), key=_by_name, reverse=True)
        return tuple(describe_file_version(_version(each.place.name), each.size) for each in kept)

    def read(self, agent_id: str, path: str, version: str) -> bytes | None:
        """The content of a version, or None when it is not kept, or not as it was."""
        if not _VERSION.fullmatch(version):
            return None
        try:
            with open_local_file(self._folder(agent_id, path) / _name(version)) as file:
                content = file.read()
        except FileNotFoundError:
            return None
        return content if content_hash(content) == version.partition("-")[0] else None

    def _folder(self, agent_id: str, path: str) -> Path:
        return self._root / agent_id / _FOLDER / content_hash(path.encode())[:40]

    def _size(self, agent_id: str) -> int:
        if agent_id not in self._sizes:
            self._sizes[agent_id] = sum(self._counted(each.size) for each in self._all(agent_id))
        return self._sizes[agent_id]

    def _counted(self, size: int) -> int:
        return max(size, self._most_bytes // CONTENTS)

    def _shrink(self, agent_id: str) -> None:
        if self._size(agent_id) <= self._most_bytes:
            return
        for oldest in sorted(self._all(agent_id), key=_by_name):
            if self._size(agent_id) <= self._most_bytes * _ROOM:
                break
            self._drop(agent_id, oldest)

    def _drop(self, agent_id: str, kept: _Kept) -> None:
        kept.place.unlink()
        self._sizes[agent_id] -= self._counted(kept.size)
        with suppress(OSError):
            kept.place.parent.rmdir()

    def _all(self, agent_id: str) -> Iterator[_Kept]:
        with suppress(FileNotFoundError):
            for folder in (self._root / agent_id / _FOLDER).iterdir():
                yield from _stored_versions(folder)


def describe_file_version(version: str, size: int, *, is_current: bool = False) -> FileVersion:
    """A version as the port has it; the time of change is a part of its name."""
    at = datetime.fromtimestamp(int(version.rpartition("-")[2], 16) / _NANOSECONDS, UTC)
    return FileVersion(version=version, size=size, at=at, is_current=is_current)


def _stored_versions(folder: Path) -> Iterator[_Kept]:
    with suppress(FileNotFoundError):
        for place in folder.iterdir():
            if _NAME.fullmatch(place.name):
                yield _Kept(place, place.lstat().st_size)


def _by_name(kept: _Kept) -> str:
    return kept.place.name


def _name(version: str) -> str:
    """A version with its time first, so that names sort by it."""
    sha256, inode, changed = version.split("-")
    return f"{changed:0>16}-{inode}-{sha256}"


def _version(name: str) -> str:
    changed, inode, sha256 = name.split("-")
    return f"{sha256}-{inode}-{changed.lstrip('0') or '0'}"
