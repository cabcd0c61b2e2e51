"""Marks of clean files: kept beside the workspace, each naming the content that it stands for.

A mark is written after its file and not waited for, so a crash may lose one: then the file counts
as foreign, which is safe. It holds for the content that it names and for no other, so half a mark,
or one that outlives its file's content, says nothing.
"""

import os
from contextlib import suppress
from pathlib import Path

from opencrab.adapters.local_files.disk import open_local_file_for_reading
from opencrab.domain.identifier import content_hash

_FOLDER = "clean"
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
_MOST = 100


class Marks:
    """The clean marks of files, in `root/<agent id>/clean/<hash of the path>`.

    Not thread-safe: callers hold a lock.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def has(self, agent_id: str, path: str, sha256: str) -> bool:
        """Check whether a file with this content is marked as clean."""
        with suppress(OSError), open_local_file_for_reading(self._place(agent_id, path)) as file:
            return file.read(_MOST) == sha256.encode()
        return False

    def set(self, agent_id: str, path: str, sha256: str) -> None:
        """Mark a file with this content as clean; disk errors are ignored."""
        place = self._place(agent_id, path)
        with suppress(OSError):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(place, _FLAGS, 0o600), "wb") as file:
                file.write(sha256.encode())

    def forget(self, agent_id: str, path: str) -> None:
        """Remove a file's mark, if it has one; disk errors are ignored."""
        with suppress(OSError):
            self._place(agent_id, path).unlink()

    def _place(self, agent_id: str, path: str) -> Path:
        return self._root / agent_id / _FOLDER / content_hash(path.encode())[:40]
