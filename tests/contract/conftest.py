"""A clock that stands still, each home in turn, each kind of queue, and each back end of search."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Queue
from tests.contract.backends import BACKENDS, Backend, OpenBackend
from tests.contract.example import NOW
from tests.contract.homes import HOMES, QUEUES, OpenHome, OpenQueues, sqlite
from tests.contract.searched import Place
from tests.lived import Life


@pytest.fixture
def clock() -> FakeClock:
    """Time as the home sees it: it moves when a test says so."""
    return FakeClock(NOW)


@pytest.fixture(params=HOMES, ids=lambda opens: opens.__name__)
def opens(request: pytest.FixtureRequest) -> OpenHome:
    """How to open a home, for those who need more than one."""
    found: OpenHome = request.param
    return found


@pytest.fixture
def home(opens: OpenHome, tmp_path: Path, clock: FakeClock) -> Iterator[Home]:
    """An empty home."""
    with opens(tmp_path, clock) as opened:
        yield opened


@pytest.fixture(params=QUEUES, ids=lambda opens: opens.__name__)
def opens_queues(request: pytest.FixtureRequest) -> OpenQueues:
    """How to open queues, for those who need them more than once."""
    found: OpenQueues = request.param
    return found


@pytest.fixture
def queues(
    opens_queues: OpenQueues, tmp_path: Path, clock: FakeClock
) -> Iterator[tuple[Queue, Queue]]:
    """The queues of turns and of deliveries, both empty."""
    with opens_queues(tmp_path, clock) as opened:
        yield opened


@pytest.fixture(params=BACKENDS, ids=lambda opens: opens.__name__)
def place(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Place]:
    """A search of each kind over an agent's only session."""
    opens: OpenBackend = request.param
    with ExitStack() as stack:
        home = stack.enter_context(sqlite(tmp_path, clock))

        def again() -> Backend:
            return stack.enter_context(opens(home, clock, tmp_path / "search"))

        life = Life(home, clock)
        life.meet("s1", "hana")
        yield Place(home, life, again)
