"""A house for each test, and one for tests that leave no traces in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.rest.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """An installation with nobody in it."""
    house = House(tmp_path)
    yield house
    house.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """An installation that all tests of a module use."""
    house = House(tmp_path_factory.mktemp("shared"))
    yield house
    house.close()
