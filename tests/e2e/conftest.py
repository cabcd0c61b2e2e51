"""A house for each test of the whole way."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opencrab.engine.runtime import Rules
from tests.contract.homes import ENGINE_HOMES, HOMES, OpenHome
from tests.crash.errand import RICH
from tests.e2e.house import House

Build = Callable[[Rules], House]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module that says `IN_HOMES` has its houses in these homes, the others in ENGINE_HOMES."""
    if "opens_home" in metafunc.fixturenames:
        homes = getattr(metafunc.module, "IN_HOMES", ENGINE_HOMES)
        metafunc.parametrize("opens_home", homes, ids=lambda opens: opens.__name__)


@pytest.fixture
def build(opens_home: OpenHome, tmp_path: Path) -> Iterator[Build]:
    """Build a house with rules of its own."""
    houses: list[House] = []

    def house(rules: Rules) -> House:
        houses.append(House(opens_home, tmp_path, rules))
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
