"""A house in a world: fixtures of those who test agents that are bound to it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.homes import sqlite
from tests.e2e.house import House
from tests.world.reference import ReferenceWorld


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A house of the local kind, without agents."""
    made = House(sqlite, tmp_path)
    yield made
    made.close()


@pytest.fixture
def kingdom(house: House, tmp_path: Path) -> ReferenceWorld:
    """The world that this house has a way to."""
    world = ReferenceWorld(house.clock)
    house.runtime = replace(house.runtime, world=world.link(tmp_path / "secrets"))
    return world
