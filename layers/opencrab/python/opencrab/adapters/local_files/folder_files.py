"""The files of one folder that an owner has attached: they stay where they are.

The owner's editor changes them at the same time, so a file is looked at again at the moment it is
replaced. Names with a dot at the front and links are not touched and not listed. A name on the disk
may be decomposed (NFD, as macOS writes it): paths are composed, and both mean the same file.
"""

import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock

from opencrab.adapters.local_files.disk import (
    REAL_DISK,
    Disk,
    Writer,
    local_folder_entries,
    open_local_file_for_reading,
    translate_disk_errors,
)
from opencrab.adapters.local_files.file_info import (
    hash_of_open_file,
    local_file_of_disk_status,
    refuse_twin_of_local_file,
    require_local_file_kind,
)
from opencrab.adapters.local_files.history import VersionHistory, describe_local_file_version
from opencrab.adapters.local_files.marks import Marks
from opencrab.domain.errors import Invalid, TooLarge, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.workspace.path import (
    current_file_version_error,
    file_conflict_error,
    file_not_found_error,
    is_workspace_path,
    workspace_file_version_gone_error,
)
from opencrab.ports.workspace.files import ABSENT, VERSIONS, FileInfo, FileVersion

WRITING = ".opencrab-writing"
"""The folder for files that are being written; it is gone after each write."""

_MARKER = ".keep"


class _ChangedMeanwhileError(OSError):
    """The file that is to be replaced is not the one that was looked at."""


class FolderFiles:
    """The files in `top`, whose paths begin with `prefix`; older versions lie in `kept`.

    What the agent adds is limited to `quota_bytes` while this object lives: the owner's own files
    do not count. Versions are those of `LocalFiles`.
    """

    def __init__(
        self,
        top: Path,
        prefix: str,
        kept: Path,
        *,
        quota_bytes: int,
        file_bytes: int,
        disk: Disk = REAL_DISK,
    ) -> None:
        self.top = top
        self.prefix = prefix
        self._lock = Lock()
        self._quota_bytes = quota_bytes
        self._file_bytes = file_bytes
        self._added = 0
        self._disk = disk
        self._digests: dict[Path, tuple[str, str]] = {}
        self._history = VersionHistory(kept, quota_bytes, disk.link)
        self._marks = Marks(kept)
        with suppress(OSError):
            Writer(disk, top / WRITING).clean()
            (top / WRITING).rmdir()

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        with self._lock, translate_disk_errors(self.top):
            return self._current(agent_id, path)

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        with self._lock, translate_disk_errors(self.top):
            place, exists = self._locate(path)
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
        self._check_size(path, len(content))
        with self._lock, translate_disk_errors(self.top):
            place, exists = self._locate(path, creating=True)
            stored = self._describe(place, path) if exists else None
            is_same = stored is not None and stored.sha256 == content_hash(content)
            if condition not in {None, stored.version if stored else ABSENT}:
                if stored is None or not is_same:
                    raise file_conflict_error(path, is_gone=stored is None)
                return self._marked(agent_id, stored)
            growth = len(content) - (stored.size if stored else 0)
            self._check_room(path, growth)
            if stored is not None and not is_same:
                self._keep(agent_id, path, place, stored)
            info = self._replace(place, path, content, stored)
            self._added += growth
            if not is_same:
                self._mark(agent_id, info, clean=clean)
            return self._marked(agent_id, info)

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        with self._lock, translate_disk_errors(self.top):
            place, exists = self._locate(prefix, folder=True)
            found = self._places(place) if exists else {}
            listed = list[FileInfo]()
            for path, each in found.items():
                with suppress(FileNotFoundError):
                    info = self._describe(each, path, is_fresh=False)
                    listed.append(self._marked(agent_id, info))
            return tuple(sorted(listed, key=lambda info: info.path))

    def has_files(self, prefix: str) -> bool:
        """Check whether a file is in a folder or below, without reading any."""
        with suppress(Invalid), self._lock, translate_disk_errors(self.top):
            place, exists = self._locate(prefix, folder=True)
            return exists and next(self._walk(place), None) is not None
        return False

    def delete(self, agent_id: str, path: str, *, condition: str | None = None) -> None:
        with self._lock, translate_disk_errors(self.top):
            place, exists = self._locate(path)
            if not exists:
                raise file_not_found_error(path)
            stored = self._describe(place, path)
            if condition not in {None, stored.version}:
                raise file_conflict_error(path, is_gone=False)
            self._keep(agent_id, path, place, stored)
            if not _is_still(place, stored):
                raise file_conflict_error(path, is_gone=not place.exists())
            self._disk.unlink(place)
            self._history.mark_deleted(agent_id, path)
            self._marks.forget(agent_id, path)
            self._digests.pop(place, None)
            self._added -= stored.size
            writer = Writer(self._disk, self.top / WRITING)
            writer.sync(writer.prune(place.parent, self.top))

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        with self._lock, translate_disk_errors(self.top):
            current = self._current(agent_id, path)
            older = self._history.versions(agent_id, path)
        if current is None:
            return older[:VERSIONS]
        newest = describe_local_file_version(current.version, current.size, is_current=True)
        others = [each for each in older if each.version != current.version]
        return (newest, *others)[:VERSIONS]

    def read_version(self, agent_id: str, path: str, version: str) -> bytes:
        with self._lock, translate_disk_errors(self.top):
            current = self._current(agent_id, path)
            if current is not None and current.version == version:
                with open_local_file_for_reading(self._locate(path)[0]) as file:
                    return file.read()
            content = self._history.read(agent_id, path, version)
        if content is None:
            raise workspace_file_version_gone_error(path, version)
        return content

    def delete_versions(self, agent_id: str, path: str, version: str | None = None) -> int:
        with self._lock, translate_disk_errors(self.top):
            # All older ones are deleted also while the folder is not there.
            current = None if version is None else self._current(agent_id, path)
            if version is not None and current is not None and current.version == version:
                raise current_file_version_error(path, version)
            ended = self._history.erase(agent_id, path, version)
            if version is not None and not ended:
                raise workspace_file_version_gone_error(path, version)
            for folder in self._history.folders_of(agent_id, path):
                Writer(self._disk, self.top / WRITING).sync(folder)
            return ended

    def paths(self) -> tuple[str, ...]:
        """Return the paths of all files, without reading any."""
        with self._lock, translate_disk_errors(self.top):
            return tuple(self._places(self._locate(self.prefix, folder=True)[0]))

    def _locate(
        self, path: str, *, folder: bool | None = False, creating: bool = False
    ) -> tuple[Path, bool]:
        """Return a path's place and whether it exists; raise Invalid for links and hidden names.

        `folder` says whether the path must be a folder or a file; None allows both.
        """
        self._require_top()
        names = [name for name in path.split("/") if name]
        names = names[len(self.prefix.split("/")) if self.prefix else 0 :]
        if any(map(is_hidden_local_file_name, names)):
            raise Invalid(
                f"{path!r} is hidden: its name begins with a dot, and the folder is your owner's",
                field="path",
                cure="use a name without a dot at its beginning",
            )
        place = self.top
        for depth, name in enumerate(names):
            present = local_folder_entries(place)
            found = _on_disk(name, present)
            shown = "/".join(filter(None, (self.prefix, *names[: depth + 1])))
            if found is None:
                if creating:
                    refuse_twin_of_local_file(shown, present)
                return place.joinpath(*names[depth:]), False
            place /= found
            is_folder = folder if depth + 1 == len(names) else True
            require_local_file_kind(place, shown, folder=is_folder)
        return place, True

    def _require_top(self) -> None:
        """Raise Invalid if the folder is gone, or a link has taken its place."""
        try:
            is_folder = stat.S_ISDIR(self.top.lstat().st_mode)
        except OSError:
            is_folder = False
        if not is_folder:
            raise Invalid(
                f"your owner's folder {str(self.top)!r} is not there",
                cure="your owner can bring it back, or detach it with `opencrab agents edit`",
            )

    def _current(self, agent_id: str, path: str) -> FileInfo | None:
        place, exists = self._locate(path, folder=None)
        return (
            self._marked(agent_id, self._describe(place, path))
            if exists and place.is_file()
            else None
        )

    def _describe(self, place: Path, path: str, *, is_fresh: bool = True) -> FileInfo:
        """Return a file's info; unless fresh, with the hash that inode, time and size had before.

        A file that is too large to be read has a hash of these, and not of its content.
        """
        with open_local_file_for_reading(place) as file:
            status = os.fstat(file.fileno())
            mark = f"{status.st_ino}-{status.st_mtime_ns}-{status.st_size}"
            known = self._digests.get(place)
            if is_fresh or known is None or known[0] != mark:
                is_large = status.st_size > self._file_bytes
                sha256 = content_hash(mark.encode()) if is_large else hash_of_open_file(file)
                known = self._digests[place] = (mark, sha256)
        return local_file_of_disk_status(path, known[1], status)

    def _walk(self, folder: Path) -> Iterator[tuple[str, Path]]:
        for inner, folders, names in os.walk(folder, onerror=_raise_unless_gone):
            folders[:] = sorted(each for each in folders if not is_hidden_local_file_name(each))
            for name in sorted(each for each in names if not is_hidden_local_file_name(each)):
                place = Path(inner, name)
                below = place.relative_to(self.top).as_posix()
                path = unicodedata.normalize(
                    "NFC", f"{self.prefix}/{below}" if self.prefix else below
                )
                with suppress(FileNotFoundError):
                    if stat.S_ISREG(place.lstat().st_mode) and is_workspace_path(path):
                        yield path, place

    def _places(self, folder: Path) -> dict[str, Path]:
        """Return the files below a folder by path; of two with one path the composed name's."""
        found = dict[str, Path]()
        for path, place in self._walk(folder):
            if path not in found or place.as_posix().endswith(path.rpartition("/")[2]):
                found[path] = place
        return found

    def _keep(self, agent_id: str, path: str, place: Path, stored: FileInfo) -> None:
        """Keep a file's content as an older version; raise Unavailable if that is not possible."""
        if stored.size > self._file_bytes:
            self._check_size(path, stored.size)
        self._history.keep(agent_id, path, place, stored.version)
        kept = None
        with suppress(OSError):
            kept = self._history.read(agent_id, path, stored.version)
        if kept is None:
            raise Unavailable(
                f"the present content of {path!r} could not be kept as an older version, so it "
                "was not changed",
                cure="free some space in the data folder, then try again",
            )

    def _replace(self, place: Path, path: str, content: bytes, stored: FileInfo | None) -> FileInfo:
        for folder in reversed([each for each in place.parents if not each.exists()]):
            self._disk.mkdir(folder, 0o700)
            folder.chmod(stat.S_IMODE(folder.parent.stat().st_mode))
        parent = stat.S_IMODE(place.parent.stat().st_mode) & 0o666
        mode = stat.S_IMODE(place.lstat().st_mode) if stored else parent

        def rename(growing: Path, target: Path) -> None:
            growing.chmod(mode)
            if not _is_still(target, stored):
                raise _ChangedMeanwhileError
            self._disk.replace(growing, target)

        writer = Writer(replace(self._disk, replace=rename), self.top / WRITING)
        newest = int(stored.version.rpartition("-")[2], 16) if stored else 0
        try:
            status = writer.replace(place, content, after_ns=newest)
        except _ChangedMeanwhileError as error:
            raise file_conflict_error(path, is_gone=not os.path.lexists(place)) from error
        finally:
            with suppress(OSError):
                self._disk.rmdir(self.top / WRITING)
        writer.sync(place.parent)
        return local_file_of_disk_status(path, content_hash(content), status)

    def _mark(self, agent_id: str, info: FileInfo, *, clean: bool) -> None:
        if clean:
            self._marks.set(agent_id, info.path, info.sha256)
        else:
            self._marks.forget(agent_id, info.path)

    def _marked(self, agent_id: str, info: FileInfo) -> FileInfo:
        return replace(info, clean=self._marks.has(agent_id, info.path, info.sha256))

    def _check_room(self, path: str, growth: int) -> None:
        free = max(self._quota_bytes - self._added, 0)
        if growth > free:
            raise TooLarge(
                f"file {path!r} needs {growth} bytes more and the workspace has {free} of the "
                f"{self._quota_bytes} left that you may add to your owner's folder",
                field="content",
                cure="delete or shorten other files first",
            )

    def _check_size(self, path: str, size: int) -> None:
        if size > self._file_bytes:
            raise TooLarge(
                f"file {path!r} has {size} bytes, at most {self._file_bytes} are allowed",
                field="content",
                cure="split it into several files",
            )


def is_hidden_local_file_name(name: str) -> bool:
    """Check whether a name is hidden: `.git`, `.obsidian`, but not the mark of an empty folder."""
    return name.startswith(".") and name != _MARKER


def _on_disk(name: str, present: Iterable[str]) -> str | None:
    """Return a name as it is on the disk, composed or not; None if it is not there."""
    names = tuple(present)
    if name in names:
        return name
    return next((each for each in names if unicodedata.normalize("NFC", each) == name), None)


def _is_still(place: Path, stored: FileInfo | None) -> bool:
    """Check whether a file is the one that was looked at, or still is not there."""
    try:
        status = place.lstat()
    except FileNotFoundError:
        return stored is None
    return stored is not None and stored.version == (
        local_file_of_disk_status(stored.path, stored.sha256, status).version
    )


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
