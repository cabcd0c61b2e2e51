"""A house for each test of the whole way."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opencrab.engine.runtime import Rules
from tests.e2e.house import House

Build = Callable[[Rules], House]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Build a house with rules of its own."""
    houses: list[House] = []

    def house(rules: Rules) -> House:
        houses.append(House(tmp_path, rules))
        return houses[-1]

    yield house
    for each in houses:
        each.database.close()


@pytest.fixture
def house(build: Build) -> House:
    """A house with the usual rules."""
    return build(Rules())
