"""A stage for each test of what people do on Discord."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.homes import DISTINCT_HOMES
from tests.unit.gateways.discord.stage import Stage, staged


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage in the local home."""
    with staged(tmp_path) as made:
        yield made


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def any_stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """A stage in each home."""
    with staged(tmp_path, request.param) as made:
        yield made
