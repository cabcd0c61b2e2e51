"""Workspaces in a directory: per agent, by path, with versions as conditions."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock

from opencrab.adapters.local_files.disk import (
    REAL_DISK,
    Disk,
    local_folder_entries,
    open_local_file_for_reading,
    prepare_local_files_root,
    translate_disk_errors,
)
from opencrab.adapters.local_files.file_info import (
    hash_of_open_file,
    local_file_of_disk_status,
    local_file_with_hash,
    refuse_twin_of_local_file,
    require_local_file_kind,
)
from opencrab.adapters.local_files.history import VersionHistory, describe_local_file_version
from opencrab.adapters.local_files.marks import Marks
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.domain.workspace.path import (
    current_file_version_error,
    file_conflict_error,
    file_not_found_error,
    is_workspace_path,
    workspace_file_version_gone_error,
    workspace_folder_of_agent,
    workspace_folder_path,
    workspace_path,
)
from opencrab.ports.workspace.files import ABSENT, VERSIONS, FileInfo, FileVersion

MEBIBYTE = 2**20

_WORKSPACE = "workspace"
_ABOVE = 2
"""Names between the root and what is in a workspace."""


@dataclass
class _Usage:
    """An agent's total bytes and newest modification time, counted once and then cached."""

    size: int = 0
    newest_ns: int = 0


class LocalFiles:
    """Workspaces in `root/<agent id>/workspace`, for one process at a time.

    A version is the content's hash with inode and modification time. The hash alone would let a
    stale condition hold again after a file is changed and changed back. Inode and time alone miss
    an edit in place within one tick of the clock, and inodes are reused. Each write makes a new
    inode and a time later than every earlier one of its agent, so that no version is ever repeated.
    """

    def __init__(
        self,
        root: Path,
        quota_bytes: int = 100 * MEBIBYTE,
        file_bytes: int = 5 * MEBIBYTE,
        *,
        disk: Disk = REAL_DISK,
    ) -> None:
        self._lock = Lock()
        self._quota_bytes = quota_bytes
        self._file_bytes = file_bytes
        self._usages: dict[str, _Usage] = {}
        self._digests: dict[Path, tuple[str, str]] = {}
        self._root = root.resolve()
        self._writer = prepare_local_files_root(self._root, disk)
        self._history = VersionHistory(self._root, quota_bytes)
        self._marks = Marks(self._root)

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        path = workspace_path(path)
        with self._lock, translate_disk_errors(self._root):
            return self._current(agent_id, path)

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        path = workspace_path(path)
        with self._lock, translate_disk_errors(self._root):
            place, exists = self._locate(agent_id, path)
            if not exists:
                raise file_not_found_error(path)
            with open_local_file_for_reading(place) as file:
                status = os.fstat(file.fileno())
                self._check_size(path, status.st_size)
                content = file.read()
                info = local_file_of_disk_status(path, content_hash(content), status)
            return self._marked(agent_id, info), content

    def write(
        self,
        agent_id: str,
        path: str,
        content: bytes,
        *,
        condition: str | None = None,
        clean: bool = False,
    ) -> FileInfo:
        path = workspace_path(path)
        self._check_size(path, len(content))
        with self._lock, translate_disk_errors(self._root):
            usage = self._usage(agent_id)
            place, exists = self._locate(agent_id, path, creating=True)
            stored = local_file_with_hash(place, path) if exists else None
            is_same = stored is not None and stored.sha256 == content_hash(content)
            if condition in {None, stored.version if stored else ABSENT}:
                self._check_quota(path, usage, len(content) - (stored.size if stored else 0))
                if stored is not None and not is_same:
                    self._history.keep(agent_id, path, place, stored.version)
                info = self._replace(agent_id, place, path, content)
                if not is_same:
                    self._mark(agent_id, info, clean=clean)
                return self._marked(agent_id, info)
            if stored is None or not is_same:
                raise file_conflict_error(path, is_gone=stored is None)
            self._sync_to(place.parent)
            return self._marked(agent_id, stored)

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        prefix = workspace_folder_path(prefix)
        with translate_disk_errors(self._root):
            with self._lock:
                place, exists = self._locate(agent_id, prefix, folder=True)
            found = list(self._listed(place, self._workspace(agent_id)) if exists else ())
            with self._lock:
                marked = [self._marked(agent_id, info) for info in found]
            return tuple(sorted(marked, key=lambda info: info.path))

    def has_files(self, agent_id: str, prefix: str) -> bool:
        prefix = workspace_folder_path(prefix)
        with suppress(Invalid), translate_disk_errors(self._root):
            # Each turn asks, and most agents have no such folder.
            if not os.path.lexists(self._workspace(agent_id) / prefix):
                return False
            with self._lock:
                place, exists = self._locate(agent_id, prefix, folder=True)
            return exists and any(self._paths(place))
        return False

    def delete(self, agent_id: str, path: str, *, condition: str | None = None) -> None:
        path = workspace_path(path)
        with self._lock, translate_disk_errors(self._root):
            place, exists = self._locate(agent_id, path)
            if not exists:
                raise file_not_found_error(path)
            stored = local_file_with_hash(place, path)
            if condition not in {None, stored.version}:
                raise file_conflict_error(path, is_gone=stored is None)
            usage = self._usages.pop(agent_id, None)
            self._history.keep(agent_id, path, place, stored.version)
            self._writer.disk.unlink(place)
            self._history.mark_deleted(agent_id, path)
            self._marks.forget(agent_id, path)
            if usage is not None:
                self._usages[agent_id] = _Usage(usage.size - stored.size, usage.newest_ns)
            self._digests.pop(place, None)
            self._writer.sync(self._writer.prune(place.parent, self._workspace(agent_id)))

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        path = workspace_path(path)
        with self._lock, translate_disk_errors(self._root):
            current = self._current(agent_id, path)
            older = self._history.versions(agent_id, path)
        if current is None:
            return older[:VERSIONS]
        newest = describe_local_file_version(current.version, current.size, is_current=True)
        # A crash in the middle of a write may have left the current content among the older ones.
        others = [each for each in older if each.version != current.version]
        return (newest, *others)[:VERSIONS]

    def read_version(self, agent_id: str, path: str, version: str) -> bytes:
        path = workspace_path(path)
        with self._lock, translate_disk_errors(self._root):
            current = self._current(agent_id, path)
            if current is not None and current.version == version:
                with open_local_file_for_reading(self._workspace(agent_id) / path) as file:
                    return file.read()
            content = self._history.read(agent_id, path, version)
        if content is None:
            raise workspace_file_version_gone_error(path, version)
        return content

    def delete_versions(self, agent_id: str, path: str, version: str | None = None) -> int:
        path = workspace_path(path)
        with self._lock, translate_disk_errors(self._root):
            current = self._current(agent_id, path)
            if current is not None and current.version == version:
                raise current_file_version_error(path, version)
            ended = self._history.erase(agent_id, path, version)
            if version is not None and not ended:
                raise workspace_file_version_gone_error(path, version)
            for folder in self._history.folders_of(agent_id, path):
                self._writer.sync(folder)
            return ended

    def end_deleted_versions(self, now: datetime, kept: timedelta) -> int:
        """Delete the versions of all agents' files that were deleted `kept` ago; return how many.

        Call it often: the time of a file that was deleted behind OpenCrab's back begins here.
        """
        ended = 0
        for agent_id in self._history.agents():
            with self._lock, translate_disk_errors(self._root):
                existing = tuple(self._paths(self._workspace(agent_id)))
                ended += self._history.end_deleted(agent_id, existing, now=now, kept=kept)
        return ended

    def _paths(self, workspace: Path) -> Iterator[str]:
        for folder, names in _folders(workspace, topdown=True):
            inner = folder.relative_to(workspace)
            yield from filter(is_workspace_path, ((inner / name).as_posix() for name in names))

    def _current(self, agent_id: str, path: str) -> FileInfo | None:
        place, exists = self._locate(agent_id, path, folder=None)
        return (
            self._marked(agent_id, local_file_with_hash(place, path))
            if exists and place.is_file()
            else None
        )

    def _mark(self, agent_id: str, info: FileInfo, *, clean: bool) -> None:
        """Store whether a file's new content is clean (free of external words)."""
        if clean:
            self._marks.set(agent_id, info.path, info.sha256)
        else:
            self._marks.forget(agent_id, info.path)

    def _marked(self, agent_id: str, info: FileInfo) -> FileInfo:
        """Return a file's info with its clean flag."""
        return replace(info, clean=self._marks.has(agent_id, info.path, info.sha256))

    def _replace(self, agent_id: str, place: Path, path: str, content: bytes) -> FileInfo:
        # Until it is known that the rename took place, the next write counts again.
        usage, freed = self._usages.pop(agent_id), place.stat().st_size if place.exists() else 0
        try:
            status = self._writer.replace(place, content, after_ns=usage.newest_ns)
            self._writer.sync(place.parent)
        except OSError:
            self._writer.prune(place.parent, self._workspace(agent_id))
            raise
        size = usage.size - freed + len(content)
        self._usages[agent_id] = _Usage(size, status.st_mtime_ns)
        return local_file_of_disk_status(path, content_hash(content), status)

    def _check_quota(self, path: str, usage: _Usage, growth: int) -> None:
        free = max(self._quota_bytes - usage.size, 0)
        if growth > free:
            raise TooLarge(
                f"file {path!r} needs {growth} bytes more and the workspace has {free} of "
                f"{self._quota_bytes} left",
                field="content",
                cure="delete or shorten other files first",
            )

    def _locate(
        self, agent_id: str, path: str, *, folder: bool | None = False, creating: bool = False
    ) -> tuple[Path, bool]:
        """Return a path's place and whether it exists; raise Invalid for links on the way.

        `folder` says whether the path must be a folder or a file; None allows both.
        """
        self._workspace(agent_id)
        place, names = self._root, [agent_id, _WORKSPACE, *filter(None, path.split("/"))]
        for depth, name in enumerate(names):
            present = local_folder_entries(place)
            if name not in present:
                # A name that exists unlisted belongs to a file system that ignores case.
                if creating and (depth >= _ABOVE or os.path.lexists(place / name)):
                    refuse_twin_of_local_file("/".join([*names[_ABOVE:depth], name]), present)
                return place.joinpath(*names[depth:]), False
            place /= name
            is_folder = folder if depth + 1 == len(names) else True
            require_local_file_kind(
                place, "/".join(names[_ABOVE : depth + 1]) or name, folder=is_folder
            )
        return place, True

    def _workspace(self, agent_id: str) -> Path:
        return self._root / workspace_folder_of_agent(agent_id) / _WORKSPACE

    def _usage(self, agent_id: str) -> _Usage:
        if agent_id not in self._usages:
            self._usages[agent_id] = self._count(self._workspace(agent_id))
        return self._usages[agent_id]

    def _count(self, workspace: Path) -> _Usage:
        usage = _Usage()
        for folder, names in _folders(workspace, topdown=False):
            self._writer.prune(folder, workspace)
            for name in names:
                status = (folder / name).lstat()
                usage.size += status.st_size
                usage.newest_ns = max(usage.newest_ns, status.st_mtime_ns)
        return usage

    def _listed(self, folder: Path, workspace: Path) -> Iterator[FileInfo]:
        for inner, names in _folders(folder, topdown=True):
            for name in names:
                place = inner / name
                path = place.relative_to(workspace).as_posix()
                with suppress(FileNotFoundError):
                    status = place.lstat()
                    if stat.S_ISREG(status.st_mode) and is_workspace_path(path):
                        yield local_file_of_disk_status(path, self._digest(place, status), status)

    def _digest(self, place: Path, status: os.stat_result) -> str:
        """Return a file's hash for a list; cached while inode, time and size are unchanged."""
        mark = f"{status.st_ino}-{status.st_mtime_ns}-{status.st_size}"
        known = self._digests.get(place)
        if known is None or known[0] != mark:
            with open_local_file_for_reading(place) as file:
                known = self._digests[place] = (mark, hash_of_open_file(file))
        return known[1]

    def _check_size(self, path: str, size: int) -> None:
        if size > self._file_bytes:
            raise TooLarge(
                f"file {path!r} has {size} bytes, at most {self._file_bytes} are allowed",
                field="content",
                cure="split it into several files",
            )

    def _sync_to(self, folder: Path) -> None:
        """Call fsync on all folders up to the root, to make an earlier write durable."""
        while folder != self._root:
            self._writer.sync(folder)
            folder = folder.parent
        self._writer.sync(self._root)


def _folders(top: Path, *, topdown: bool) -> Iterator[tuple[Path, list[str]]]:
    for folder, _, names in os.walk(top, topdown=topdown, onerror=_raise_unless_gone):
        yield Path(folder), names


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
