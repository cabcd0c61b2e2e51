"""Limits hold for what Discord says that they hold for, and for no longer."""

from datetime import UTC, datetime

import pytest

from opencrab.adapters.discord.client import DiscordRateLimits, Route
from opencrab.adapters.system_clock import FakeClock

CLOCK_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
POST, PATCH = Route("POST messages", "1", as_bot=True), Route("PATCH message", "1", as_bot=True)
ELSEWHERE = Route("POST messages", "2", as_bot=True)
BY_TOKEN = Route("PATCH @original", "t", as_bot=False)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(CLOCK_START)


@pytest.fixture
def limits(clock: FakeClock) -> DiscordRateLimits:
    return DiscordRateLimits(clock)


def told(left: object, after: object, bucket: str = "b1") -> dict[str, str]:
    return {
        "x-ratelimit-remaining": str(left),
        "x-ratelimit-reset-after": str(after),
        "x-ratelimit-bucket": bucket,
    }


def test_what_is_not_known_is_allowed(limits: DiscordRateLimits) -> None:
    assert limits.try_acquire(POST) == 0


def test_what_is_left_is_used_up_and_comes_back(
    limits: DiscordRateLimits, clock: FakeClock
) -> None:
    limits.update_from_headers(POST, told(2, 4.5))
    assert [limits.try_acquire(POST) for _ in range(3)] == [0, 0, 4.5]
    clock.advance(4.5)
    assert limits.try_acquire(POST) == 0


def test_routes_of_one_bucket_share_it_and_channels_do_not(limits: DiscordRateLimits) -> None:
    limits.update_from_headers(PATCH, told(5, 3))
    limits.update_from_headers(POST, told(0, 3))
    assert limits.try_acquire(PATCH) == 3
    assert limits.try_acquire(ELSEWHERE) == 0


def test_everything_waits_but_for_answers_by_token(
    limits: DiscordRateLimits, clock: FakeClock
) -> None:
    limits.block(POST, 7, everything=True)
    assert (limits.try_acquire(ELSEWHERE), limits.try_acquire(BY_TOKEN)) == (7, 0)
    clock.advance(7)
    assert limits.try_acquire(ELSEWHERE) == 0


def test_a_refused_route_waits_without_any_header(limits: DiscordRateLimits) -> None:
    limits.block(BY_TOKEN, 2, everything=True)
    assert limits.try_acquire(BY_TOKEN) == 2


@pytest.mark.parametrize("strange", ["", "many", "nan", "inf", "-1", "1e99"])
def test_strange_headers_are_not_counted_with(limits: DiscordRateLimits, strange: str) -> None:
    limits.update_from_headers(POST, told(0, strange))
    limits.update_from_headers(POST, told(strange, 5))
    assert limits.try_acquire(POST) == 0


def test_what_is_over_is_forgotten(limits: DiscordRateLimits, clock: FakeClock) -> None:
    for number in range(2_000):
        limits.update_from_headers(Route("POST", str(number), as_bot=False), told(1, 1))
        clock.advance(0.1)
    assert len(limits._buckets) <= 500


def test_what_is_spared_is_left_for_others(limits: DiscordRateLimits) -> None:
    limits.update_from_headers(BY_TOKEN, told(2, 5))
    assert limits.try_acquire(BY_TOKEN, spare=1) == 0
    assert limits.try_acquire(BY_TOKEN, spare=1) == 5
    assert limits.try_acquire(BY_TOKEN) == 0
