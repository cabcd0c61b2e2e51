"""How bytes reach the disk whole or not at all, and what its errors mean.

A write fills a temporary file of the same file system, brings it to the disk, and takes the old
file's place by one rename: after a crash there is the old content or the new, never half of one.
"""

import errno
import os
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from itertools import takewhile
from pathlib import Path

from opencrab.domain.errors import Invalid, OpenCrabError, Unavailable

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_MISNAMED = {errno.ENAMETOOLONG, errno.ELOOP}


def _set_times(descriptor: int, nanoseconds: int) -> None:
    os.utime(descriptor, ns=(nanoseconds, nanoseconds))


@dataclass(frozen=True)
class Disk:
    """The system calls that change the disk, replaceable so that a test can make one fail."""

    open_file: Callable[[Path, int, int], int] = os.open
    write: Callable[[int, memoryview], int] = os.write
    set_times: Callable[[int, int], None] = _set_times
    fsync: Callable[[int], None] = os.fsync
    close: Callable[[int], None] = os.close
    mkdir: Callable[[Path, int], None] = os.mkdir
    replace: Callable[[Path, Path], None] = os.replace
    link: Callable[[Path, Path], None] = os.link
    unlink: Callable[[Path], None] = os.unlink
    rmdir: Callable[[Path], None] = os.rmdir


REAL_DISK = Disk()


@dataclass(frozen=True)
class Writer:
    """Atomic file replacement; `temporary` is the folder of files that are being written."""

    disk: Disk
    temporary: Path

    def clean(self) -> None:
        """Remove the temporary files of a process that crashed."""
        for leftover in local_folder_entries(self.temporary):
            self.disk.unlink(self.temporary / leftover)

    def replace(self, target: Path, content: bytes, *, after_ns: int = 0) -> os.stat_result:
        """Replace a file atomically; its modification time becomes later than `after_ns`."""
        self.make_folder(self.temporary)
        growing = self.temporary / secrets.token_hex(8)
        try:
            status = self._fill(growing, content, after_ns)
            self.make_folder(target.parent)
            self.disk.replace(growing, target)
        except OSError:
            with suppress(OSError):
                self.disk.unlink(growing)
            raise
        return status

    def make_folder(self, folder: Path) -> None:
        """Make a folder of mode 0700 with its missing parents, durably."""
        # A folder that exists has all its parents.
        missing = list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))
        for each in reversed(missing):
            with suppress(FileExistsError):
                self.disk.mkdir(each, 0o700)
            self.sync(each.parent)

    def sync(self, folder: Path) -> None:
        """Call fsync on a folder, which makes a rename in it durable."""
        descriptor = self.disk.open_file(folder, os.O_RDONLY | os.O_DIRECTORY, 0)
        try:
            self.disk.fsync(descriptor)
        finally:
            self.disk.close(descriptor)

    def prune(self, folder: Path, top: Path) -> Path:
        """Remove empty folders from here up to `top`; return the first that remains."""
        while folder != top:
            with suppress(OSError):
                self.disk.rmdir(folder)
            if folder.exists():
                break
            folder = folder.parent
        return folder

    def _fill(self, path: Path, content: bytes, after_ns: int) -> os.stat_result:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = self.disk.open_file(path, flags, 0o600)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[self.disk.write(descriptor, rest) :]
            changed_ns = os.fstat(descriptor).st_mtime_ns
            if changed_ns <= after_ns:
                self.disk.set_times(descriptor, after_ns + 1)
            self.disk.fsync(descriptor)
            return os.fstat(descriptor)
        finally:
            self.disk.close(descriptor)


def prepare_local_files_root(root: Path, disk: Disk) -> Writer:
    """Create a root folder, clean its temporary files and return its writer."""
    with translate_disk_errors(root):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        writer = Writer(disk, root / ".writing")
        writer.clean()
    return writer


@contextmanager
def open_local_file_for_reading(place: Path) -> Generator[BufferedReader]:
    """Open a file for reading, but no symbolic link; raise FileNotFoundError."""
    descriptor = os.open(place, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as file:
        yield file


def local_folder_entries(folder: Path) -> list[str]:
    """Return the names in a folder; empty if it does not exist."""
    try:
        # A path for each name costs more than the system call.
        return os.listdir(folder)  # noqa: PTH208
    except FileNotFoundError:
        return []


@contextmanager
def translate_disk_errors(root: Path) -> Generator[None]:
    """Translate OSError into our errors, naming the directory."""
    try:
        yield
    except OSError as error:
        raise _translation(error, root) from error


def _translation(error: OSError, root: Path) -> OpenCrabError:
    shown = str(root)
    if error.errno in _FULL:
        return Unavailable(f"disk full: no space left in {shown!r}", cure="free some space there")
    if error.errno in _FORBIDDEN:
        return Unavailable(
            f"no permission to write or read in {shown!r}", cure="grant read and write permission"
        )
    if error.errno in _MISNAMED:
        return Invalid(
            f"the file system of {shown!r} cannot use this name: {error.strerror}",
            field="path",
            cure="use a shorter name that is not a link",
        )
    return Unavailable(
        f"directory {shown!r} cannot be used: {error.strerror or error}",
        cure="check that it exists and that OpenCrab may write in it",
    )
