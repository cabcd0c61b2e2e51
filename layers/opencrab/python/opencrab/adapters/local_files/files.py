"""Workspaces in a directory: per agent, by path, with versions as conditions."""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from threading import Lock

from pydantic import TypeAdapter, ValidationError

from opencrab.adapters.local_files.disk import (
    REAL_DISK,
    Disk,
    entries,
    opened,
    prepared,
    translated,
)
from opencrab.domain.errors import Conflict, Invalid, NotFound, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.domain.path import twin_key, workspace_path, workspace_prefix
from opencrab.domain.value import Identifier
from opencrab.ports.files import ABSENT, FileInfo

MEBIBYTE = 2**20

_AGENT_ID: TypeAdapter[str] = TypeAdapter(Identifier)
_WORKSPACE = "workspace"
_ABOVE = 2
"""Names between the root and what is in a workspace."""


@dataclass
class _Usage:
    """An agent's bytes and its newest time of change, counted once and then kept."""

    size: int = 0
    newest_ns: int = 0


class LocalFiles:
    """Workspaces in `root/<agent id>/workspace`, for one process at a time.

    A version is the content's hash with inode and time of change. The hash alone would let a stale
    condition hold again once a file is changed and changed back; inode and time alone miss an edit
    in place within one tick of the clock, and inodes are used again. Each write makes a new inode
    and a time later than every earlier one of its agent, so that no version ever comes back.
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
        self._writer = prepared(self._root, disk)

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        path = workspace_path(path)
        with self._lock, translated(self._root):
            place, exists = self._locate(agent_id, path)
            return _info(place, path) if exists else None

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        path = workspace_path(path)
        with self._lock, translated(self._root):
            place, exists = self._locate(agent_id, path)
            if not exists:
                raise _absent(path)
            with opened(place) as file:
                status = os.fstat(file.fileno())
                self._check_size(path, status.st_size)
                content = file.read()
        return _described(path, content_hash(content), status), content

    def write(
        self, agent_id: str, path: str, content: bytes, *, condition: str | None = None
    ) -> FileInfo:
        path = workspace_path(path)
        self._check_size(path, len(content))
        with self._lock, translated(self._root):
            usage = self._usage(agent_id)
            place, exists = self._locate(agent_id, path, creating=True)
            stored = _info(place, path) if exists else None
            if condition in {None, stored.version if stored else ABSENT}:
                self._check_quota(path, usage, len(content) - (stored.size if stored else 0))
                return self._replace(agent_id, place, path, content)
            if stored is None or stored.sha256 != content_hash(content):
                raise _changed(path, stored)
            self._sync_to(place.parent)
            return stored

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        prefix = workspace_prefix(prefix)
        with translated(self._root):
            with self._lock:
                place, exists = self._locate(agent_id, prefix, folder=True)
            found = self._listed(place, self._workspace(agent_id)) if exists else ()
            return tuple(sorted(found, key=lambda info: info.path))

    def delete(self, agent_id: str, path: str) -> None:
        path = workspace_path(path)
        with self._lock, translated(self._root):
            place, exists = self._locate(agent_id, path)
            if not exists:
                raise _absent(path)
            usage, size = self._usages.pop(agent_id, None), place.lstat().st_size
            self._writer.disk.unlink(place)
            if usage is not None:
                self._usages[agent_id] = _Usage(usage.size - size, usage.newest_ns)
            self._digests.pop(place, None)
            self._writer.sync(self._writer.prune(place.parent, self._workspace(agent_id)))

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
        return _described(path, content_hash(content), status)

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
        self, agent_id: str, path: str, *, folder: bool = False, creating: bool = False
    ) -> tuple[Path, bool]:
        """Where a path lies and whether it exists; nothing on the way may be a link or a file."""
        self._workspace(agent_id)
        place, names = self._root, [agent_id, _WORKSPACE, *filter(None, path.split("/"))]
        for depth, name in enumerate(names):
            present = entries(place)
            if name not in present:
                # A name that exists unlisted belongs to a file system that ignores case.
                if creating and (depth >= _ABOVE or os.path.lexists(place / name)):
                    _refuse_twin("/".join([*names[_ABOVE:depth], name]), present)
                return place.joinpath(*names[depth:]), False
            place /= name
            is_folder = folder or depth + 1 < len(names)
            _check_kind(place, "/".join(names[_ABOVE : depth + 1]) or name, folder=is_folder)
        return place, True

    def _workspace(self, agent_id: str) -> Path:
        try:
            return self._root / _AGENT_ID.validate_python(agent_id) / _WORKSPACE
        except ValidationError as error:
            raise Invalid(
                f"agent id {agent_id!r} is none",
                field="agent_id",
                cure="use 1 to 64 letters, digits, dashes and underscores",
            ) from error

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
                    if stat.S_ISREG(status.st_mode) and _is_path(path):
                        yield _described(path, self._digest(place, status), status)

    def _digest(self, place: Path, status: os.stat_result) -> str:
        """The hash for a list, which need not read again what has not changed since the last."""
        mark = f"{status.st_ino}-{status.st_mtime_ns}-{status.st_size}"
        known = self._digests.get(place)
        if known is None or known[0] != mark:
            with opened(place) as file:
                known = self._digests[place] = (mark, _hash_of(file))
        return known[1]

    def _check_size(self, path: str, size: int) -> None:
        if size > self._file_bytes:
            raise TooLarge(
                f"file {path!r} has {size} bytes, at most {self._file_bytes} are allowed",
                field="content",
                cure="split it into several files",
            )

    def _sync_to(self, folder: Path) -> None:
        """Make an earlier write last whose own attempt at it may have failed."""
        while folder != self._root:
            self._writer.sync(folder)
            folder = folder.parent
        self._writer.sync(self._root)


def _info(place: Path, path: str) -> FileInfo:
    with opened(place) as file:
        status = os.fstat(file.fileno())
        return _described(path, _hash_of(file), status)


def _hash_of(file: BufferedReader) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


def _described(path: str, sha256: str, status: os.stat_result) -> FileInfo:
    version = f"{sha256}-{status.st_ino:x}-{status.st_mtime_ns:x}"
    return FileInfo(path=path, size=status.st_size, sha256=sha256, version=version)


def _folders(top: Path, *, topdown: bool) -> Iterator[tuple[Path, list[str]]]:
    for folder, _, names in os.walk(top, topdown=topdown, onerror=_raise_unless_gone):
        yield Path(folder), names


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _is_path(path: str) -> bool:
    try:
        return workspace_path(path) == path
    except Invalid:
        return False


def _check_kind(place: Path, shown: str, *, folder: bool) -> None:
    """Refuse anything but a plain folder, or a plain file."""
    mode = place.lstat().st_mode
    if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise Invalid(f"{shown!r} is a folder", field="path", cure="name a file")
    if stat.S_ISREG(mode):
        raise Invalid(f"{shown!r} is a file", field="path", cure="name a folder")
    raise Invalid(f"{shown!r} is a link or a device", field="path", cure="name another file")


def _refuse_twin(path: str, present: list[str]) -> None:
    *above, name = path.split("/")
    twin = next((other for other in present if twin_key(other) == twin_key(name)), None)
    if twin is not None:
        existing = "/".join([*above, twin])
        raise Invalid(
            f"{path!r} differs from the existing {existing!r} in case or width only",
            field="path",
            cure=f"use {twin!r}, or another name",
        )


def _absent(path: str) -> NotFound:
    return NotFound(f"there is no file {path!r}", field="path", cure="list the workspace")


def _changed(path: str, stored: FileInfo | None) -> Conflict:
    became = "is gone" if stored is None else "is another one now"
    return Conflict(f"file {path!r} {became}", field="path", cure="read it again, then write")
