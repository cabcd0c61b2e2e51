"""Event streams: a client that may no longer read is asked about, and its stream ends."""

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import NotFound
from opencrab.gateways.rest.http.event_stream import CHECK_SECONDS, CheckedFollower
from tests.unit.engine.known_world import NOW


class Told:
    """A follower with something new each time."""

    is_over = False

    def new_events(self) -> list[str]:
        """`Follower.new_events`."""
        return ["news"]


def test_a_stream_ends_soon_after_its_client_may_no_longer_read() -> None:
    clock, allowed = FakeClock(NOW), [True]

    def check() -> None:
        if not allowed[0]:
            raise NotFound("there is no session 's1'")

    follower = CheckedFollower(Told(), check, clock)
    assert follower.new_events() == ["news"]
    allowed[0] = False
    assert not follower.is_over
    clock.advance(CHECK_SECONDS)
    with pytest.raises(NotFound):
        follower.new_events()
