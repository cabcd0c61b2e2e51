"""The stack in the emulator, deployed once for all tests; they skip, and say why, without it."""

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock, SystemClock
from tests.deployed import emulator as ministack
from tests.deployed import stack as sam
from tests.deployed.stack import Stack
from tests.deployed.vendor import Vendor, vendor_at_work
from tests.discord.fake import FakeDiscord


@pytest.fixture(scope="session")
def discord() -> Iterator[FakeDiscord]:
    """The Discord that the stack is told of; its time is that of the tests' start."""
    with FakeDiscord(FakeClock(SystemClock().now())) as made:
        yield made


@pytest.fixture(scope="session")
def vendor_of_stack() -> Iterator[Vendor]:
    """The vendor whose models the stack's agents may have."""
    with vendor_at_work() as made:
        yield made


@pytest.fixture
def vendor(vendor_of_stack: Vendor) -> Iterator[Vendor]:
    """The vendor, which is asked nothing but what a test planned."""
    vendor_of_stack.forget()
    yield vendor_of_stack
    assert not vendor_of_stack.complaints


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """What `sam build` makes of the checkout, once for all workers of a run."""
    if reason := ministack.why_not() or sam.why_not():
        pytest.skip(reason)
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "built"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            (folder / "tmp").mkdir(exist_ok=True)
            sam.build(folder)
            (folder / "done").touch()
    return folder / "build"


@pytest.fixture(scope="session")
def stack(
    discord: FakeDiscord,
    vendor_of_stack: Vendor,
    built: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stack]:
    """The real template with everything on, and nothing in it yet."""
    folder = tmp_path_factory.mktemp("deployed")
    with ministack.emulator(folder) as made:
        deployed = sam.deploy(made, built, folder, discord)
        # Before either has run: the emulator takes half a minute to replace one that has.
        sockets = {"OPENCRAB_AWS__WEBSOCKET_ENDPOINT": f"{made.url}{deployed.socket_root}"}
        deployed.configure("websocket-gateway", sockets)
        embeddings = vendor_of_stack.embedding_environment
        deployed.configure("search-indexer", embeddings)
        deployed.configure("rest-gateway", embeddings)
        turns = {**sockets, **vendor_of_stack.environment, **embeddings}
        deployed.configure("agent-turn", turns)
        yield deployed
