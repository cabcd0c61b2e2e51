"""Trees of files: copied with their hashes, looked through, and brought to the disk.

Links and devices are never followed or copied; a file that is removed meanwhile is left out.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from opencrab.domain.errors import Unavailable

_CHUNK = 2**20
_FOLDER_MODE = 0o700
_OTHERS = 0o077


@dataclass(frozen=True)
class FileEntry:
    """A file of a tree: its path from the top, its size in bytes and the hash of its content."""

    path: str
    size: int
    sha256: str


def local_files_below(top: Path, *, below: str = "") -> Iterator[str]:
    """Yield the paths of all regular files, from the top, sorted within each folder.

    Raises Unavailable for a folder that cannot be read.
    """
    for folder, folders, names in os.walk(top / below, onerror=_raise_unless_gone):
        folders.sort()
        for name in sorted(names):
            place = Path(folder, name)
            with suppress(FileNotFoundError):
                if stat.S_ISREG(place.lstat().st_mode):
                    yield place.relative_to(top).as_posix()


def copy_local_file(source: Path, target: Path, path: str) -> FileEntry | None:
    """Copy a file to a new one, fsync it and keep its time; None if there is none any more."""
    try:
        descriptor = os.open(source / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        place = target / path
        place.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(place, flags, 0o600), "wb") as copy:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
                copy.write(chunk)
            copy.flush()
            os.utime(copy.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(copy.fileno())
    return FileEntry(path, size, digest.hexdigest())


def describe_local_file(top: Path, path: str) -> FileEntry | None:
    """Return a file's size and hash; None if it is not there."""
    try:
        descriptor = os.open(top / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return FileEntry(path, size, hashlib.file_digest(file, "sha256").hexdigest())


def sync_local_file_tree(top: Path) -> None:
    """Call fsync on all folders of a tree, which makes its names durable."""
    for folder, _, _ in os.walk(top, topdown=False):
        sync_local_folder(Path(folder))


def sync_local_folder(folder: Path) -> None:
    """Call fsync on one folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def local_files_open_to_others(top: Path, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the top folder and those files that other users may use, with the mode, as in 0644."""
    for path in (".", *paths):
        with suppress(FileNotFoundError):
            mode = stat.S_IMODE((top / path).lstat().st_mode)
            if mode & _OTHERS:
                yield path, f"{mode:04o}"


def local_links_and_devices(top: Path) -> Iterator[str]:
    """Yield the paths of links and devices, which OpenCrab neither makes nor follows.

    Raises Unavailable for a folder that cannot be read.
    """
    for folder, folders, names in os.walk(top, onerror=_raise_unless_gone):
        for name in sorted([*folders, *names]):
            place = Path(folder, name)
            with suppress(FileNotFoundError):
                mode = place.lstat().st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    yield place.relative_to(top).as_posix()


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise Unavailable(
            f"folder {str(error.filename)!r} cannot be read: {error.strerror}",
            cure="let the user that runs OpenCrab read it, or remove it",
        ) from error
