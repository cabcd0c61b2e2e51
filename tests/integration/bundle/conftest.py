"""An installation on SQLite with an agent in it, and one on AWS without."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from tests.contract.homes import aws_in_memory
from tests.integration.bundle.moving import Place, live

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
LATER = datetime(2046, 1, 1, tzinfo=UTC)
"""A clock ahead of every id that the other installation makes."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """An installation on SQLite, where nobody is yet."""
    place = Place(tmp_path / "here", monkeypatch)
    yield place
    place.house.close()


@pytest.fixture
def rowan(here: Place) -> str:
    """The id of an agent who lives here."""
    return live(here, NOW)


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """An installation on AWS, where nobody is yet."""
    clock = FakeClock(LATER)
    with aws_in_memory(tmp_path / "aws", clock) as home:
        place = Place(tmp_path / "there", monkeypatch, home=home, clock=clock)
        yield place
        place.house.close()
