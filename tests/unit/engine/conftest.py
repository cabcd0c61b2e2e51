"""A world of its own for every test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.engine.known_world import World, opened


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as found:
        yield found
