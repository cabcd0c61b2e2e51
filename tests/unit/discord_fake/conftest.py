"""A fake Discord whose door leaves every interaction alone, and somebody who calls its API."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from opencrab.adapters.system_clock import FakeClock
from tests.discord.calling import Caller
from tests.discord.fake import FakeDiscord


@pytest.fixture
def discord() -> Iterator[FakeDiscord]:
    """A Discord on its own."""
    clock = FakeClock(datetime(2026, 1, 5, 9, 0, tzinfo=UTC))
    with FakeDiscord(clock, lambda headers, body: (202, {}, b"")) as running:
        yield running


@pytest.fixture
def call(discord: FakeDiscord) -> Caller:
    """Its client."""
    return Caller(discord)
