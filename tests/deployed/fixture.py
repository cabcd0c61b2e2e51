"""The stack in the emulator, deployed once for all tests; they skip, and say why, without it."""

from collections.abc import Iterator

import pytest

from tests.deployed import emulator as ministack
from tests.deployed import stack as sam
from tests.deployed.stack import Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The real template, with nothing in it yet."""
    reason = ministack.why_not() or sam.why_not()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("deployed")
    with ministack.emulator(folder) as made:
        yield sam.deploy(made, sam.build(folder), folder)
