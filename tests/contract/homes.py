"""The homes that every contract is held against: a new one adds its line to HOMES."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.home import Home

OpenHome = Callable[[Path, FakeClock], AbstractContextManager[Home]]
"""Opens an empty home in a folder of its own, and closes it."""


@contextmanager
def sqlite(folder: Path, clock: FakeClock) -> Iterator[Home]:
    """The local home, without waiting for the disk."""
    files, blobs = LocalFiles(folder / "agents"), LocalBlobs(folder)
    home, database = open_home(folder, clock, files=files, blobs=blobs, durable=False)
    try:
        yield home
    finally:
        database.close()


HOMES: tuple[OpenHome, ...] = (sqlite,)
