"""The clocks: ids that sort, secrets that nobody guesses, and time that tests can move."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest

from opencrab.adapters.system_clock import FakeClock, SystemClock
from opencrab.domain.errors import Invalid
from opencrab.ports.clock import Clock

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


@pytest.fixture(params=[SystemClock, lambda: FakeClock(NOW)], ids=["system", "fake"])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


def test_every_id_sorts_after_every_earlier_one(clock: Clock) -> None:
    ids = [clock.new_id() for _ in range(5_000)]
    assert all(one < other for one, other in pairwise(ids))
    assert {len(each) for each in ids} == {26}


def test_ids_are_distinct_however_many_ask_at_once(clock: Clock) -> None:
    with ThreadPoolExecutor(4) as pool:
        many = list(pool.map(lambda _: [clock.new_id() for _ in range(500)], range(4)))
    assert len({each for ids in many for each in ids}) == 2_000
    assert all(ids == sorted(ids) for ids in many)


def test_time_has_a_zone_and_never_goes_back_for_durations(clock: Clock) -> None:
    assert clock.now().tzinfo is UTC
    assert clock.monotonic_ms() <= clock.monotonic_ms()


def test_a_secret_is_long_and_never_the_same(clock: Clock) -> None:
    secrets = {clock.secret() for _ in range(100)}
    assert len(secrets) == 100
    assert all(len(each) >= 43 and each.isascii() and each.isalnum() for each in secrets)


def test_ids_of_two_processes_differ() -> None:
    one, other = SystemClock(), SystemClock()
    assert len({clock.new_id() for clock in (one, other) for _ in range(100)}) == 200


def test_a_fake_clock_stands_still_until_it_is_told_to_move() -> None:
    clock = FakeClock(NOW)
    assert clock.now() == clock.now() == NOW
    clock.advance(61.5)
    assert clock.now() == NOW + timedelta(seconds=61.5)
    assert clock.monotonic_ms() == 61_500


def test_a_fake_clock_can_move_with_every_look() -> None:
    clock = FakeClock(NOW, step_ms=5)
    assert [clock.now() - NOW for _ in range(3)] == [timedelta(milliseconds=n) for n in (0, 5, 10)]


def test_fake_ids_follow_its_time_and_are_the_same_every_time() -> None:
    def made() -> list[str]:
        clock = FakeClock(NOW)
        ids = [clock.new_id(), clock.new_id()]
        clock.advance(1)
        return [*ids, clock.new_id(), clock.secret()]

    assert made() == made()
    assert made()[:3] == sorted(made()[:3])


def test_fake_time_goes_forwards_only() -> None:
    with pytest.raises(Invalid, match="cannot go backwards"):
        FakeClock(NOW).advance(-1)


def test_a_fake_clock_speaks_utc() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert FakeClock(NOW.astimezone(tokyo)).now().tzinfo is UTC
    with pytest.raises(Invalid, match="time zone"):
        FakeClock(NOW.replace(tzinfo=None))
