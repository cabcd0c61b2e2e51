"""Older contents of workspace files: kept beside the workspace, as far as that is easily done.

A content that is about to be replaced or deleted gets a second name here, a hard link, which costs
no copy and no wait for the disk; on another file system it is copied. So the file itself is never
at risk: a crash may lose an older content and nothing else.
"""

import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from opencrab.adapters.local_files.disk import open_local_file_for_reading
from opencrab.domain.identifier import content_hash
from opencrab.ports.workspace.files import FileVersion

MOST = 10
"""Older contents of one file."""

CONTENTS = 10_000
"""Older contents of one agent: each is counted as this part of the most bytes at least."""

_FOLDER = "versions"
_VERSION = re.compile(r"([0-9a-f]{64})-([0-9a-f]{1,16})-([0-9a-f]{1,16})")
_NAME = re.compile(r"([0-9a-f]{16})-([0-9a-f]{1,16})-([0-9a-f]{64})")
_DELETED = "deleted"
"""The file in a history's folder whose time is when the file was deleted; no version's name."""
_NANOSECONDS = 1_000_000_000
_ROOM = 0.9
"""How full an agent's history is once it has been made smaller."""


def _link(place: Path, kept: Path) -> None:
    os.link(place, kept, follow_symlinks=False)


@dataclass(frozen=True)
class _Kept:
    """A stored older version; file names sort by modification time."""

    place: Path
    size: int


class VersionHistory:
    """Older versions of files, in `root/<agent id>/versions/<hash of the path>`.

    They do not count toward the workspace's quota. An agent's versions are limited to the same
    number of bytes and to CONTENTS files; the oldest are deleted first. Not thread-safe: callers
    hold a lock.
    """

    def __init__(
        self, root: Path, most_bytes: int, link: Callable[[Path, Path], None] = _link
    ) -> None:
        self._root = root
        self._most_bytes = most_bytes
        self._link = link
        self._sizes: dict[str, int] = {}

    def keep(self, agent_id: str, path: str, place: Path, version: str) -> None:
        """Hard-link a file's current content into the history; disk errors are ignored."""
        folder = self._folder(agent_id, path)
        if not _VERSION.fullmatch(version):
            return  # Changed before 1970, says somebody's clock.
        with suppress(OSError):
            total = self._size(agent_id)
            kept = folder / _name(version)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._link_or_copy(place, kept)
            self._sizes[agent_id] = total + self._counted(kept.lstat().st_size)
            for old in sorted(_stored_versions(folder), key=_by_name)[:-MOST]:
                if old.place != kept:  # A file may come back with a time long past.
                    self._drop(agent_id, old)
            self._shrink(agent_id)

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        """Return the older versions of a file, newest first."""
        kept = sorted(_stored_versions(self._folder(agent_id, path)), key=_by_name, reverse=True)
        return tuple(
            describe_local_file_version(_version(each.place.name), each.size) for each in kept
        )

    def read(self, agent_id: str, path: str, version: str) -> bytes | None:
        """Return the content of a version; None if it is gone or damaged."""
        if not _VERSION.fullmatch(version):
            return None
        try:
            with open_local_file_for_reading(self._folder(agent_id, path) / _name(version)) as file:
                content = file.read()
        except FileNotFoundError:
            return None
        return content if content_hash(content) == version.partition("-")[0] else None

    def mark_deleted(self, agent_id: str, path: str) -> None:
        """Begin the time after which a deleted file's versions end; disk errors are ignored.

        Without the mark, the next `end_deleted` begins it.
        """
        _begin_ending(self._folder(agent_id, path))

    def erase(self, agent_id: str, path: str, version: str | None = None) -> int:
        """Delete all older versions of a file, or one; return how many there were."""
        folder = self._folder(agent_id, path)
        wanted = None if version is None else _VERSION.fullmatch(version) and _name(version)
        return self._end(agent_id, folder, lambda name: version is None or name == wanted)

    def end_deleted(
        self, agent_id: str, existing: Collection[str], *, now: datetime, kept: timedelta
    ) -> int:
        """Delete the versions of files that were deleted `kept` ago; return how many.

        `existing` are the paths of the agent's files.
        """
        present = {_folder_name(path) for path in existing}
        ended = 0
        for folder in self._folders(agent_id):
            if folder.name in present:
                (folder / _DELETED).unlink(missing_ok=True)
            elif not (folder / _DELETED).exists():
                _begin_ending(folder)
            elif _deleted_at(folder) + kept <= now:
                ended += self._end(agent_id, folder, lambda _name: True)
        return ended

    def agents(self) -> list[str]:
        """Return the ids of the agents that have older versions."""
        folders = self._root.glob(f"*/{_FOLDER}")
        return [each.parent.name for each in folders if each.is_dir()]

    def folders_of(self, agent_id: str, path: str) -> list[Path]:
        """Return the existing folders whose entries are a file's versions, innermost first."""
        folder = self._folder(agent_id, path)
        return [each for each in (folder, folder.parent) if each.is_dir()]

    def _link_or_copy(self, place: Path, kept: Path) -> None:
        """Give a content a second name, or copy it where the file system has no such links."""
        try:
            self._link(place, kept)
        except FileExistsError:
            raise
        except OSError:
            growing = kept.with_name("growing")
            with open_local_file_for_reading(place) as file, growing.open("wb") as copy:
                growing.chmod(0o600)
                shutil.copyfileobj(file, copy)
            growing.replace(kept)

    def _folder(self, agent_id: str, path: str) -> Path:
        return self._root / agent_id / _FOLDER / _folder_name(path)

    def _end(self, agent_id: str, folder: Path, is_meant: Callable[[str], bool]) -> int:
        self._size(agent_id)
        meant = [each for each in _stored_versions(folder) if is_meant(each.place.name)]
        for each in meant:
            self._drop(agent_id, each)
        _remove_if_empty(folder)
        return len(meant)

    def _folders(self, agent_id: str) -> list[Path]:
        with suppress(FileNotFoundError):
            return [each for each in (self._root / agent_id / _FOLDER).iterdir() if each.is_dir()]
        return []

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
        _remove_if_empty(kept.place.parent)

    def _all(self, agent_id: str) -> Iterator[_Kept]:
        with suppress(FileNotFoundError):
            for folder in (self._root / agent_id / _FOLDER).iterdir():
                yield from _stored_versions(folder)


def describe_local_file_version(
    version: str, size: int, *, is_current: bool = False
) -> FileVersion:
    """Return a FileVersion; its time is parsed from the version's name."""
    at = datetime.fromtimestamp(int(version.rpartition("-")[2], 16) / _NANOSECONDS, UTC)
    return FileVersion(version=version, size=size, at=at, is_current=is_current)


def _folder_name(path: str) -> str:
    return content_hash(path.encode())[:40]


def _begin_ending(folder: Path) -> None:
    with suppress(OSError):
        (folder / _DELETED).touch(0o600)


def _deleted_at(folder: Path) -> datetime:
    return datetime.fromtimestamp((folder / _DELETED).lstat().st_mtime, UTC)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        if not any(_stored_versions(folder)):
            (folder / _DELETED).unlink(missing_ok=True)
            folder.rmdir()


def _stored_versions(folder: Path) -> Iterator[_Kept]:
    with suppress(FileNotFoundError):
        for place in folder.iterdir():
            if _NAME.fullmatch(place.name):
                yield _Kept(place, place.lstat().st_size)


def _by_name(kept: _Kept) -> str:
    return kept.place.name


def _name(version: str) -> str:
    """Return a version's file name, which begins with its time so that names sort by it."""
    sha256, inode, changed = version.split("-")
    return f"{changed:0>16}-{inode}-{sha256}"


def _version(name: str) -> str:
    changed, inode, sha256 = name.split("-")
    return f"{sha256}-{inode}-{changed.lstrip('0') or '0'}"
