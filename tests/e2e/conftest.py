"""A house for each test of the whole way."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opencrab.engine.runtime import Rules
from tests.contract.homes import DISTINCT_HOMES, HOMES
from tests.crash.errand import RICH
from tests.e2e.house import House

Build = Callable[[Rules], House]


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Build]:
    """Build a house with rules of its own, in each home."""
    houses: list[House] = []

    def house(rules: Rules) -> House:
        houses.append(House(request.param, tmp_path, rules))
        return houses[-1]

    yield house
    for each in houses:
        each.close()


@pytest.fixture
def house(build: Build) -> House:
    """A house with the usual rules."""
    return build(Rules())


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    """A house of the local kind with plenty of money, for what every home does alike."""
    house = House(HOMES[0], tmp_path, RICH)
    yield house
    house.close()
