"""A house for each test."""

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
