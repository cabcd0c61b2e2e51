"""A workspace of its own for every test."""

from pathlib import Path

import pytest

from opencrab.ports.turn.action import ActionContext
from tests.unit.actions.bench import context


@pytest.fixture
def at(tmp_path: Path) -> ActionContext:
    """Where an action runs."""
    return context(tmp_path)
