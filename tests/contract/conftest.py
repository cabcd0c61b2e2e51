"""A clock that stands still, each home in turn, and each kind of queue."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Queue
from tests.contract.example import NOW
from tests.contract.homes import HOMES, QUEUES, OpenHome, OpenQueues


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
