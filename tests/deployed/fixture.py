"""The stack in the emulator, deployed once for all tests; they skip, and say why, without it."""

from collections.abc import Iterator

import pytest

from opencrab.adapters.system_clock import FakeClock, SystemClock
from tests.deployed import emulator as ministack
from tests.deployed import stack as sam
from tests.deployed.stack import Stack
from tests.discord.fake import FakeDiscord


@pytest.fixture(scope="session")
def discord() -> Iterator[FakeDiscord]:
    """The Discord that the stack is told of; its time is that of the tests' start."""
    with FakeDiscord(FakeClock(SystemClock().now())) as made:
        yield made


@pytest.fixture(scope="session")
def stack(discord: FakeDiscord, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The real template with everything on, and nothing in it yet."""
    reason = ministack.why_not() or sam.why_not()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("deployed")
    with ministack.emulator(folder) as made:
        yield sam.deploy(made, sam.build(folder), folder, discord)
