"""A home on this computer, on the computer's own time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import SystemClock
from opencrab.ports.home import Home
from tests.contract.homes import sqlite


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with sqlite(tmp_path, SystemClock()) as opened:
        yield opened
