"""Describing a file of a workspace on the disk, and refusing what is no plain file of its own."""

import hashlib
import os
import stat
from collections.abc import Iterable
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path

from opencrab.adapters.local_files.disk import open_local_file_for_reading
from opencrab.domain.errors import Invalid
from opencrab.domain.workspace.path import workspace_path_collision_key
from opencrab.ports.workspace.files import FileInfo


def local_file_with_hash(place: Path, path: str) -> FileInfo:
    """Return what a file is now, with the hash of its content."""
    with open_local_file_for_reading(place) as file:
        status = os.fstat(file.fileno())
        return local_file_of_disk_status(path, hash_of_open_file(file), status)


def hash_of_open_file(file: BufferedReader) -> str:
    """Return the hash of a file from where it is read on."""
    return hashlib.file_digest(file, "sha256").hexdigest()


def local_file_of_disk_status(path: str, sha256: str, status: os.stat_result) -> FileInfo:
    """Return a file's info from its status on the disk."""
    version = f"{sha256}-{status.st_ino:x}-{status.st_mtime_ns:x}"
    return FileInfo(
        path=path,
        size=status.st_size,
        sha256=sha256,
        version=version,
        modified_at=datetime.fromtimestamp(status.st_mtime_ns // 10**9, UTC),
    )


def require_local_file_kind(place: Path, shown: str, *, folder: bool | None) -> None:
    """Raise Invalid unless the place is a folder or a regular file, as `folder` demands."""
    mode = place.lstat().st_mode
    is_folder, is_file = stat.S_ISDIR(mode), stat.S_ISREG(mode)
    if (is_folder and folder is not False) or (is_file and folder is not True):
        return
    if stat.S_ISDIR(mode):
        raise Invalid(f"{shown!r} is a folder", field="path", cure="use a file")
    if stat.S_ISREG(mode):
        raise Invalid(f"{shown!r} is a file", field="path", cure="use a folder")
    raise Invalid(f"{shown!r} is a link or a device", field="path", cure="use another file")


def refuse_twin_of_local_file(path: str, present: Iterable[str]) -> None:
    """Raise Invalid if a new name differs from one that is there in case or width only."""
    *above, name = path.split("/")
    twin = next(
        (
            other
            for other in present
            if workspace_path_collision_key(other) == workspace_path_collision_key(name)
        ),
        None,
    )
    if twin is not None:
        existing = "/".join([*above, twin])
        raise Invalid(
            f"{path!r} differs from the existing {existing!r} in case or width only",
            field="path",
            cure=f"use {twin!r}, or another name",
        )
