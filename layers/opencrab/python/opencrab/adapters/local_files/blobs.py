"""Large journal bodies, each in a file named after its own hash."""

import re
from contextlib import suppress
from pathlib import Path
from threading import Lock

from opencrab.adapters.local_files.disk import (
    REAL_DISK,
    Disk,
    open_local_file_for_reading,
    prepare_local_files_root,
    translate_disk_errors,
)
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.identifier import content_hash

_SHA256 = re.compile(r"[0-9a-f]{64}")


class LocalBlobs:
    """Journal bodies in `root/blobs`, each in a file named after its own SHA-256 hash."""

    def __init__(self, root: Path, *, disk: Disk = REAL_DISK) -> None:
        self._lock = Lock()
        self._folder = root.resolve() / "blobs"
        self._writer = prepare_local_files_root(self._folder, disk)

    def put(self, sha256: str, content: bytes) -> None:
        if content_hash(content) != sha256:
            raise Invalid(
                f"content does not match hash {sha256!r}",
                field="sha256",
                cure="use the content's SHA-256",
            )
        place = self._place(sha256)
        with self._lock, translate_disk_errors(self._folder):
            if self._stored(sha256) is None:
                self._writer.replace(place, content)
            self._writer.sync(place.parent)
            self._writer.sync(self._folder)

    def get(self, sha256: str) -> bytes:
        with translate_disk_errors(self._folder):
            content = self._stored(sha256)
        if content is None:
            raise NotFound(
                f"blob {sha256!r} is missing or damaged",
                field="sha256",
                cure="put it back from a backup",
            )
        return content

    def remove(self, sha256: str) -> None:
        if not _SHA256.fullmatch(sha256):
            return
        place = self._place(sha256)
        with self._lock, translate_disk_errors(self._folder):
            with suppress(FileNotFoundError):
                self._writer.disk.unlink(place)
            if place.parent.exists():
                self._writer.sync(place.parent)

    def _place(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256[2:]

    def _stored(self, sha256: str) -> bytes | None:
        if not _SHA256.fullmatch(sha256):
            return None
        try:
            with open_local_file_for_reading(self._place(sha256)) as file:
                content = file.read()
        except FileNotFoundError:
            return None
        return content if content_hash(content) == sha256 else None
