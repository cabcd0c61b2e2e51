"""The homes that every contract is held against: a new one adds its line to HOMES."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.local_files import Disk, LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import FILE as DATABASE
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Queue
from tests.aws import aws_queues, turns_and_deliveries
from tests.aws_home import aws_home, home_on
from tests.aws_memory.account import MemoryAccount
from tests.older_file import make_older_file
from tests.scale.dynamodb import MemoryTable
from tests.soak import SOAK

OpenHome = Callable[[Path, FakeClock], AbstractContextManager[Home]]
"""Opens an empty home in a folder of its own, and closes it."""

OpenQueues = Callable[[Path, FakeClock], AbstractContextManager[tuple[Queue, Queue]]]
"""Opens the queues of turns and of deliveries, both empty."""

HASTY = Disk(fsync=lambda _descriptor: None)
"""A disk that no power failure meets: tests of durability ask for one of their own."""


@contextmanager
def sqlite(folder: Path, clock: Clock) -> Iterator[Home]:
    """The local home, without waiting for the disk."""
    files, blobs = LocalFiles(folder / "agents", disk=HASTY), LocalBlobs(folder, disk=HASTY)
    home, database = open_sqlite_home(folder, clock, files=files, blobs=blobs, durable=False)
    try:
        yield home
    finally:
        database.close()


@contextmanager
def older_sqlite(folder: Path, clock: FakeClock) -> Iterator[Home]:
    """The local home in a file that an older release made."""
    path = folder / DATABASE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        make_older_file(path)
    with sqlite(folder, clock) as home:
        yield home


@contextmanager
def aws(_folder: Path, clock: FakeClock) -> Iterator[Home]:
    """The home on AWS, with AWS in this process."""
    with aws_home(clock) as home:
        yield home


@contextmanager
def aws_in_memory(_folder: Path, clock: FakeClock) -> Iterator[Home]:
    """The home on AWS, with a table, queues and a bucket in memory."""
    table = Table("opencrab", MemoryTable(), pause=clock.advance)
    yield home_on(table, MemoryAccount(clock), clock)


@contextmanager
def sqlite_queues(folder: Path, clock: FakeClock) -> Iterator[tuple[Queue, Queue]]:
    """The queues of the local home."""
    with sqlite(folder, clock) as home:
        yield home.turns, home.deliveries


@contextmanager
def sqs(_folder: Path, clock: FakeClock) -> Iterator[tuple[Queue, Queue]]:
    """The queues of the home on AWS."""
    with aws_queues(clock) as queues:
        yield queues


@contextmanager
def sqs_in_memory(_folder: Path, clock: FakeClock) -> Iterator[tuple[Queue, Queue]]:
    """The queues of the home on AWS, on SQS in memory."""
    yield turns_and_deliveries(MemoryAccount(clock))


HOMES: tuple[OpenHome, ...] = (sqlite, older_sqlite, aws, aws_in_memory)
DISTINCT_HOMES: tuple[OpenHome, ...] = (sqlite, aws_in_memory)
"""Homes with code of their own: nothing above its adapter sees how an SQLite file is laid out.

On AWS table, queues and bucket are those in memory: they are held against the contracts as moto's
are, and answer in a tenth of the time.
"""

ENGINE_HOMES: tuple[OpenHome, ...] = DISTINCT_HOMES if SOAK else DISTINCT_HOMES[:1]
"""Homes for tests whose subject stands above all adapters, as the engine does: `make test` tries
one, `make soak` all. What they ask of a home, the contracts prove for each. Where the way of a
message, a transaction's size or what is left of data differs, take DISTINCT_HOMES.
"""

STREAMED: tuple[OpenHome, ...] = (sqlite, older_sqlite, aws)
"""Homes that tell what changed in them; the table in memory has no stream."""

FOLLOWED: tuple[OpenHome, ...] = (sqlite,)
"""Homes whose feed can be read; elsewhere changes are pushed to functions."""

QUEUES: tuple[OpenQueues, ...] = (sqlite_queues, sqs, sqs_in_memory)
