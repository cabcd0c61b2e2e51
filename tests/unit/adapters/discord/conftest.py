"""A talk with a fake Discord for every test."""

from collections.abc import Iterator

import pytest

from tests.unit.adapters.discord.speaking import Talk, talking


@pytest.fixture
def talk() -> Iterator[Talk]:
    with talking() as found:
        yield found
