"""The copies of indexes that one process holds: few of them, in a folder that goes with it."""

import fcntl
import os
import shutil
import tempfile
from contextlib import AbstractContextManager, suppress
from errno import EPERM
from itertools import count
from pathlib import Path
from threading import Lock

from opencrab.adapters.search_rows import SearchRowReader
from opencrab.adapters.sqlite_search.agent_pool import COPIES, AgentPool
from opencrab.adapters.sqlite_search.replica import IndexReplica
from opencrab.domain.errors import Unavailable
from opencrab.ports.clock import Clock
from opencrab.ports.memory.snapshots import SnapshotStore

_LOCK = "in-use"


class IndexReplicas:
    """Copies by agent, each used by one thread at a time.

    The folder must be on a local disk; what crashed processes left in it is removed.
    """

    def __init__(
        self,
        past: SearchRowReader,
        snapshots: SnapshotStore,
        folder: Path,
        clock: Clock,
        *,
        most: int = COPIES,
        source: str = "",
    ) -> None:
        self._past = past
        self._snapshots = snapshots
        self._clock = clock
        self._source = source
        self._lock = Lock()
        self._pool = AgentPool(self._replica, most=most)
        self._numbers = count(1)
        self._parent = folder
        self._folder, self._held = _own_folder(folder)

    def acquire(self, agent_id: str) -> AbstractContextManager[IndexReplica]:
        """Yield an agent's copy, locked for this thread."""
        return self._pool.acquire(agent_id)

    def close(self) -> None:
        """Remove all copies and their folder."""
        self._pool.close()
        with self._lock:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._held)

    def _replica(self, agent_id: str) -> IndexReplica:
        return IndexReplica(
            agent_id, self._past, self._snapshots, self._new_file, self._clock, source=self._source
        )

    def _new_file(self) -> Path:
        """Return an unused path, in a folder that is made again if somebody removed it."""
        with self._lock:
            if not self._folder.is_dir():
                folder, held = _own_folder(self._parent)
                os.close(self._held)
                self._folder, self._held = folder, held
            return self._folder / f"{next(self._numbers)}.db"


def _own_folder(folder: Path) -> tuple[Path, int]:
    """Create a folder inside this one, and return it with its lock's descriptor.

    The parent may be world-writable: the folder must belong to this user, and no link is followed.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Nobody else may look while a folder is made that nobody holds yet.
        making = _lock_folder(folder, fcntl.LOCK_EX)
        try:
            for left in folder.iterdir():
                with suppress(OSError):
                    os.close(_lock_folder(left, fcntl.LOCK_EX | fcntl.LOCK_NB))
                    shutil.rmtree(left)
            own = Path(tempfile.mkdtemp(dir=folder))
            return own, _lock_folder(own, fcntl.LOCK_EX)
        finally:
            os.close(making)
    except OSError as error:
        raise Unavailable(
            f"directory {str(folder)!r} cannot hold indexes: {error.strerror}",
            cure="check that it is not a link, belongs to this user, is writable and has "
            "space; or remove it",
        ) from error


def _lock_folder(folder: Path, how: int) -> int:
    """Lock a folder until the process ends, and return the lock's descriptor.

    Raises OSError if another process holds the lock, and for a link or another user's folder.
    """
    inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(inside).st_uid != os.geteuid():
            raise PermissionError(EPERM, "it belongs to another user")
        os.fchmod(inside, 0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        handle = os.open(_LOCK, flags, 0o600, dir_fd=inside)
    finally:
        os.close(inside)
    try:
        fcntl.flock(handle, how)
    except OSError:
        os.close(handle)
        raise
    return handle
