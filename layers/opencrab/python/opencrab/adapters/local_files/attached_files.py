"""Workspaces in the data folder, parts of which may be folders that the owner has attached.

What people send and what OpenCrab itself stores stays in the data folder, whatever is attached: an
owner's folder holds the owner's files and what the agent writes, and no erasure deletes in it.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock

from opencrab.adapters.local_files.attachments import (
    read_local_attached_folders,
    require_attachable_local_folder,
    write_local_attached_folders,
)
from opencrab.adapters.local_files.disk import REAL_DISK, Disk
from opencrab.adapters.local_files.files import MEBIBYTE, LocalFiles
from opencrab.adapters.local_files.folder_files import FolderFiles
from opencrab.adapters.local_files.history import VersionHistory
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import content_hash
from opencrab.domain.workspace.path import workspace_folder_path, workspace_path
from opencrab.ports.workspace.attached_folders import AttachedFolder, AttachedPlace
from opencrab.ports.workspace.files import FileInfo, FileVersion

NEVER_ATTACHED = ("uploads", "data/results", "reports/learning", "public")
"""Folders of a workspace that stay in the data folder."""

_KEPT = "attached"
_VAULT = AttachedPlace.VAULT.value


class AttachedFiles:
    """`ports.workspace.files.Files` and `ports.workspace.attached_folders.AttachedFolders`.

    A vault that is attached takes the paths below `vault/`, a workspace all others.
    """

    def __init__(
        self,
        data: Path,
        quota_bytes: int = 100 * MEBIBYTE,
        file_bytes: int = 5 * MEBIBYTE,
        *,
        disk: Disk = REAL_DISK,
    ) -> None:
        self._own = LocalFiles(data, quota_bytes, file_bytes, disk=disk)
        self._data = data.resolve()
        self._quota_bytes, self._file_bytes, self._disk = quota_bytes, file_bytes, disk
        self._lock = Lock()
        self._attached = read_local_attached_folders(self._data)
        self._opened: dict[AttachedFolder, FolderFiles] = {}

    def all(self) -> tuple[AttachedFolder, ...]:
        return self._attached

    def attach(self, wanted: AttachedFolder) -> AttachedFolder:
        with self._lock:
            found = require_attachable_local_folder(wanted, self._data, self._attached, self._disk)
            self._store((*self._others(found.agent_id, found.place), found))
            return found

    def detach(self, agent_id: str, place: AttachedPlace) -> None:
        with self._lock:
            self._store(self._others(agent_id, place))

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        path = workspace_path(path)
        return self._of(agent_id, path).info(agent_id, path)

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        path = workspace_path(path)
        return self._of(agent_id, path).read(agent_id, path)

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
        files = self._of(agent_id, path)
        return files.write(agent_id, path, content, condition=condition, clean=clean)

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        prefix = workspace_folder_path(prefix)
        found = [
            info
            for files in self._below(agent_id, prefix)
            for info in files.list(agent_id, prefix if self._reaches(files, prefix) else _VAULT)
            if self._of(agent_id, info.path) is files
        ]
        return tuple(sorted(found, key=lambda info: info.path))

    def has_files(self, agent_id: str, prefix: str) -> bool:
        prefix = workspace_folder_path(prefix)
        files = self._of(agent_id, f"{prefix}/x")
        if isinstance(files, FolderFiles):
            return files.has_files(prefix)
        return files.has_files(agent_id, prefix)

    def delete(self, agent_id: str, path: str, *, condition: str | None = None) -> None:
        path = workspace_path(path)
        self._of(agent_id, path).delete(agent_id, path, condition=condition)

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        path = workspace_path(path)
        return self._of(agent_id, path).versions(agent_id, path)

    def read_version(self, agent_id: str, path: str, version: str) -> bytes:
        path = workspace_path(path)
        return self._of(agent_id, path).read_version(agent_id, path, version)

    def delete_versions(self, agent_id: str, path: str, version: str | None = None) -> int:
        path = workspace_path(path)
        ended = self._of(agent_id, path).delete_versions(agent_id, path, version)
        if version is None:
            # What was kept of this path in a folder that is no longer attached.
            present = {self._kept(each) for each in self._attached}
            for kept in set(self._all_kept()) - present:
                ended += VersionHistory(kept, self._quota_bytes).erase(agent_id, path)
        return ended

    def end_deleted_versions(self, now: datetime, kept: timedelta) -> int:
        """Delete the versions of all agents' files that were deleted `kept` ago; return how many.

        Those of a folder that was detached end like those of deleted files; those of one that is
        not there for now stay.
        """
        ended = self._own.end_deleted_versions(now, kept)
        present = {self._kept(each): each for each in self._attached}
        for place in self._all_kept():
            each = present.get(place)
            history = VersionHistory(place, self._quota_bytes)
            with suppress(Invalid):
                for agent_id in history.agents():
                    paths = self._open(each).paths() if each and each.agent_id == agent_id else ()
                    ended += history.end_deleted(agent_id, paths, now=now, kept=kept)
        return ended

    def _of(self, agent_id: str, path: str) -> LocalFiles | FolderFiles:
        """Return the store of a path in its normal form."""
        own = {each.place: each for each in self._attached if each.agent_id == agent_id}
        if not own or any(_is_in(path, folder) for folder in NEVER_ATTACHED):
            return self._own
        vault, workspace = own.get(AttachedPlace.VAULT), own.get(AttachedPlace.WORKSPACE)
        found = vault if vault is not None and _is_in(path, _VAULT) else workspace
        return self._own if found is None else self._open(found)

    def _below(self, agent_id: str, prefix: str) -> tuple[LocalFiles | FolderFiles, ...]:
        """Return the stores that hold the files below a folder."""
        found = [self._of(agent_id, f"{prefix}/x" if prefix else "x")]
        for folder in (*NEVER_ATTACHED, _VAULT):
            files = self._of(agent_id, f"{folder}/x")
            if (not prefix or _is_in(folder, prefix)) and files not in found:
                found.append(files)
        return tuple(found)

    def _reaches(self, files: LocalFiles | FolderFiles, prefix: str) -> bool:
        """Check whether a folder lies in what a store holds: a vault has its own and no other."""
        return isinstance(files, LocalFiles) or not files.prefix or _is_in(prefix, files.prefix)

    def _open(self, attached: AttachedFolder) -> FolderFiles:
        opened = self._opened.get(attached)
        if opened is None:
            opened = FolderFiles(
                Path(attached.folder),
                _VAULT if attached.place is AttachedPlace.VAULT else "",
                self._kept(attached),
                quota_bytes=self._quota_bytes,
                file_bytes=self._file_bytes,
                disk=self._disk,
            )
            opened = self._opened.setdefault(attached, opened)
        return opened

    def _others(self, agent_id: str, place: AttachedPlace) -> tuple[AttachedFolder, ...]:
        return tuple(
            each for each in self._attached if (each.agent_id, each.place) != (agent_id, place)
        )

    def _store(self, folders: tuple[AttachedFolder, ...]) -> None:
        write_local_attached_folders(self._data, folders, self._disk)
        self._attached = folders

    def _kept(self, attached: AttachedFolder) -> Path:
        """Return where the older versions of an attached folder's files lie."""
        return self._data / _KEPT / content_hash(attached.folder.encode())[:16]

    def _all_kept(self) -> Iterator[Path]:
        with suppress(FileNotFoundError):
            yield from (self._data / _KEPT).iterdir()


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
