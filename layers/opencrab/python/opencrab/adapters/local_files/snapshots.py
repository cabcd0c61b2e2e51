"""Snapshots of indexes in a directory, which may lie on a network file system (NFSv4, EFS).

A snapshot is one file: a head that describes it, then the copy. It grows under a temporary name,
is brought to the disk, and gets the next number of its agent by one hard link, which fails when
somebody has that number already. No locks, and nothing is ever written in place: after a crash at
any point the file with the highest number is whole.
"""

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache
from io import BufferedReader
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from opencrab.adapters.local_files.disk import (
    REAL_DISK,
    Disk,
    Writer,
    local_folder_entries,
    open_local_file_for_reading,
    translate_disk_errors,
)
from opencrab.domain.workspace.path import workspace_folder_of_agent
from opencrab.ports.clock import Clock
from opencrab.ports.memory.snapshots import Snapshot

HEAD_BYTES = 512
LEFT_BEHIND_SECONDS = 3_600
"""After so long a file that still has a temporary name belongs to nobody."""

_NUMBERED = re.compile(r"[0-9]{10}\.snapshot")
_GROWING = "growing-"
_CHUNK = 2**20
_KEPT = 2
"""The one before the newest stays a while: somebody may be reading it."""


class DirectorySnapshots:
    """Snapshots in `root/<agent id>/`, for any number of processes and machines at once.

    An empty file with the highest number means that all snapshots were removed. Numbers continue
    after it, so that a process that built on an older snapshot can no longer publish.
    """

    def __init__(self, root: Path, clock: Clock, *, disk: Disk = REAL_DISK) -> None:
        self._root = root.resolve()
        self._clock = clock
        self._disk = disk
        self._writer = Writer(disk, self._root)

    def newest(self, agent_id: str) -> Snapshot | None:
        folder = self._folder(agent_id)
        with translate_disk_errors(folder):
            return self._newest(folder)

    def fetch(self, snapshot: Snapshot, into: Path) -> bool:
        folder = self._folder(snapshot.agent_id)
        with translate_disk_errors(folder):
            try:
                return _copy_snapshot(_place(folder, _number(snapshot.version)), snapshot, into)
            except OSError as error:
                if error.errno in {errno.ENOENT, errno.ESTALE}:
                    return False
                raise

    def publish(
        self,
        agent_id: str,
        file: Path,
        *,
        rows: int,
        tokenizer: int,
        over: Snapshot | None,
        keeps: AbstractSet[str] = frozenset(),
    ) -> Snapshot | None:
        folder = self._folder(agent_id)
        with translate_disk_errors(folder):
            self._make(folder)
            number = _last(folder)
            if self._newest(folder) != over:
                return None
            with file.open("rb") as content:
                sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            published = Snapshot(
                agent_id=agent_id,
                version=f"{number + 1}-{sha256[:16]}",
                sha256=sha256,
                size=file.stat().st_size,
                rows=rows,
                tokenizer=tokenizer,
                published_at=self._clock.now(),
            )
            if not self._enter(folder, number + 1, published, file):
                return None
            if _last(folder) != number + 1:
                # Who was away for long gets a number that the others have left behind them.
                with suppress(FileNotFoundError):
                    self._disk.unlink(_place(folder, number + 1))
                return None
            self._prune(folder, number + 1, keeps)
            return published

    def remove_earlier(self, newest: Snapshot, keeps: AbstractSet[str] = frozenset()) -> bool:
        folder, number = self._folder(newest.agent_id), _number(newest.version)
        kept = {_number(each) for each in keeps}
        with translate_disk_errors(folder):
            if self._newest(folder) != newest:
                return False
            for name in local_folder_entries(folder):
                # What is published meanwhile has a higher number.
                is_over = _number(name) < number and _number(name) not in kept
                if _NUMBERED.fullmatch(name) and is_over:
                    with suppress(FileNotFoundError):
                        self._disk.unlink(folder / name)
            self._writer.sync(folder)
            return True

    def remove(self, agent_id: str) -> None:
        folder = self._folder(agent_id)
        with translate_disk_errors(folder):
            if not local_folder_entries(folder):
                return
            while not self._enter(folder, number := _last(folder) + 1, None, None):
                pass
            for name in local_folder_entries(folder):
                # Files that still grow go as well: they hold what is to be forgotten.
                if name != _place(folder, number).name:
                    with suppress(FileNotFoundError):
                        self._disk.unlink(folder / name)
            self._writer.sync(folder)

    def _folder(self, agent_id: str) -> Path:
        return self._root / workspace_folder_of_agent(agent_id)

    def _make(self, folder: Path) -> None:
        for each in (self._root, folder):
            if not each.exists():
                each.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with suppress(FileExistsError):
                    self._disk.mkdir(each, 0o700)
                self._writer.sync(each.parent)

    def _newest(self, folder: Path) -> Snapshot | None:
        """Return the snapshot with the highest number; None if that file is empty or damaged.

        A file is removed only after a higher number exists, so on FileNotFoundError the folder is
        read again.
        """
        while number := _last(folder):
            try:
                with open_local_file_for_reading(_place(folder, number)) as file:
                    return _read_snapshot_head(file, folder.name, number)
            except FileNotFoundError:
                continue
        return None

    def _enter(
        self, folder: Path, number: int, described: Snapshot | None, file: Path | None
    ) -> bool:
        """Publish a file, or an empty one, under a number; False if the number is taken."""
        growing = folder / f"{_GROWING}{secrets.token_hex(8)}"
        place = _place(folder, number)
        try:
            self._fill(growing, described, file)
            try:
                self._disk.link(growing, place)
            except FileExistsError:
                # A network file system may do it, lose its answer, and be asked again.
                if not _are_one(growing, place):
                    return False
            except FileNotFoundError:
                return False
            self._writer.sync(folder)
        finally:
            with suppress(OSError):
                self._disk.unlink(growing)
        return True

    def _fill(self, growing: Path, described: Snapshot | None, file: Path | None) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = self._disk.open_file(growing, flags, 0o600)
        try:
            if described is not None and file is not None:
                self._write(descriptor, _header_format().dump_json(described).ljust(HEAD_BYTES))
                with file.open("rb") as content:
                    while chunk := content.read(_CHUNK):
                        self._write(descriptor, chunk)
            self._disk.fsync(descriptor)
        finally:
            self._disk.close(descriptor)

    def _write(self, descriptor: int, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[self._disk.write(descriptor, rest) :]

    def _prune(self, folder: Path, number: int, keeps: AbstractSet[str]) -> None:
        """Remove older snapshots that are not kept, and stale temporary files.

        Errors are retried at the next publication.
        """
        kept = {_number(each) for each in keeps}
        oldest = self._clock.now().timestamp() - LEFT_BEHIND_SECONDS
        for name in local_folder_entries(folder):
            path = folder / name
            with suppress(OSError):
                if _NUMBERED.fullmatch(name):
                    is_over = _number(name) <= number - _KEPT and _number(name) not in kept
                else:
                    is_over = name.startswith(_GROWING) and path.stat().st_mtime < oldest
                if is_over:
                    self._disk.unlink(path)


@cache
def _header_format() -> TypeAdapter[Snapshot]:
    """Build the type adapter on first use, since most processes never need it."""
    return TypeAdapter(Snapshot)


def _place(folder: Path, number: int) -> Path:
    return folder / f"{number:010d}.snapshot"


def _number(name: str) -> int:
    """Return the number in a file name or version; 0 if there is none."""
    digits = re.match(r"[0-9]{1,10}", name, re.ASCII)
    return int(digits.group()) if digits else 0


def _last(folder: Path) -> int:
    return max(
        (_number(name) for name in local_folder_entries(folder) if _NUMBERED.fullmatch(name)),
        default=0,
    )


def _are_one(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(one.stat(), other.stat())
    except FileNotFoundError:
        return False


def _read_snapshot_head(file: BufferedReader, agent_id: str, number: int) -> Snapshot | None:
    """Parse a file's header; None unless it has this agent and this number."""
    try:
        snapshot = _header_format().validate_json(file.read(HEAD_BYTES))
    except ValidationError:
        return None
    own = snapshot.agent_id == agent_id and _number(snapshot.version) == number
    return snapshot if own else None


def _copy_snapshot(place: Path, snapshot: Snapshot, into: Path) -> bool:
    """Copy a snapshot's content; return False if its size or hash is wrong."""
    digest, size = hashlib.sha256(), 0
    with open_local_file_for_reading(place) as file:
        if _read_snapshot_head(file, snapshot.agent_id, _number(snapshot.version)) != snapshot:
            return False
        with into.open("wb") as copy:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
                copy.write(chunk)
    if (digest.hexdigest(), size) == (snapshot.sha256, snapshot.size):
        return True
    into.unlink()
    return False
