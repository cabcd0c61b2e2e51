"""A house for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.homes import sqlite
from tests.e2e.house import House


@pytest.fixture
def home(tmp_path: Path) -> Iterator[House]:
    """A house of the local kind."""
    house = House(sqlite, tmp_path)
    yield house
    house.close()
