"""A world for each test."""

from collections.abc import Iterator

import pytest

from tests.unit.adapters.s3_files.trouble import World, world


@pytest.fixture
def s3() -> Iterator[World]:
    """An empty bucket, its ledger, and the trouble that they can have."""
    with world() as opened:
        yield opened
