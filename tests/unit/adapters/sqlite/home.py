"""A local home in a folder, and programs that run beside it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.home import FILE, sqlite_home_on_database
from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.home import Home

ROOT = Path(__file__).resolve().parents[4]
"""The checkout, where such programs find the tests' own modules."""

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


@contextmanager
def database(folder: Path, *, durable: bool = False) -> Iterator[Database]:
    """The file alone, with little patience."""
    opened = Database(folder / FILE, durable=durable, patience_seconds=0.05)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def home(folder: Path, *, durable: bool = False) -> Iterator[tuple[Home, Database]]:
    """The whole home."""
    files, blobs = LocalFiles(folder, quota_bytes=1_000), LocalBlobs(folder)
    with database(folder, durable=durable) as opened:
        yield sqlite_home_on_database(opened, FakeClock(NOW), files=files, blobs=blobs), opened


def run(program: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """A program in another process, as it ended."""
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        check=False,
        cwd=ROOT,
        text=True,
        timeout=60,
    )
