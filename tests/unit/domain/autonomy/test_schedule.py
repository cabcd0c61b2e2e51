"""Schedules: when they come, in zones whose clocks change too, and what an edit does to that."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from opencrab.domain.autonomy.schedule import (
    ScheduleDraft,
    WhyOff,
    new_schedule,
    next_schedule_time,
)
from opencrab.domain.errors import Invalid
from tests.soak import examples

BERLIN, NEW_YORK, TOKYO = "Europe/Berlin", "America/New_York", "Asia/Tokyo"
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
RULES = (
    "@every 1m", "@every 7h", "@every 366d", "* * * * *", "*/15 2 * * *", "30 2 * * *",
    "0 9 * * 1-5", "0 0 29 2 *", "0 0 L * *", "5 4 * * SUN", "30 1,2 * 3,10,11 *", "0 */2 1 * 1",
)  # fmt: skip


def times(when: str, zone: str, first: str, count: int = 4) -> list[str]:
    """The next times after a local one, as that place's clocks show them."""
    here = ZoneInfo(zone)
    found, after = [], datetime.fromisoformat(first).replace(tzinfo=here).astimezone(UTC)
    for _ in range(count):
        after = next_schedule_time(when, zone, after)
        found.append(after.astimezone(here).strftime("%m-%d %H:%M %z"))
    return found


def draft(when: str = "@every 1h", **changes: object) -> ScheduleDraft:
    given = {"name": "朝の挨拶", "when": when, "instructions": "挨拶する", **changes}
    return ScheduleDraft.model_validate(given)


@pytest.mark.parametrize(
    ("zone", "first", "expected"),
    [
        (BERLIN, "2026-03-28 00:00", ["03-28 02:30 +0100", "03-29 03:00 +0200"]),
        (NEW_YORK, "2026-03-07 00:00", ["03-07 02:30 -0500", "03-08 03:00 -0400"]),
        (TOKYO, "2026-03-28 00:00", ["03-28 02:30 +0900", "03-29 02:30 +0900"]),
    ],
)
def test_what_falls_into_the_hour_that_is_left_out_comes_right_after_it(
    zone: str, first: str, expected: list[str]
) -> None:
    assert times("30 2 * * *", zone, first, 2) == expected
    assert times("30 2 * * *", zone, first, 3)[2][6:11] == "02:30"


@pytest.mark.parametrize(
    ("when", "zone", "first", "expected"),
    [
        ("30 2 * * *", BERLIN, "2026-10-25 00:00", ["10-25 02:30 +0200", "10-26 02:30 +0100"]),
        ("30 1 * * *", NEW_YORK, "2026-11-01 00:00", ["11-01 01:30 -0400", "11-02 01:30 -0500"]),
        ("30 2 * * *", TOKYO, "2026-10-25 00:00", ["10-25 02:30 +0900", "10-26 02:30 +0900"]),
        ("30 * * * *", BERLIN, "2026-10-25 02:00", ["10-25 02:30 +0200", "10-25 02:30 +0100"]),
    ],
)
def test_a_set_time_in_the_hour_that_comes_twice_comes_once_and_every_hour_comes_twice(
    when: str, zone: str, first: str, expected: list[str]
) -> None:
    assert times(when, zone, first, 2) == expected


def test_a_day_of_at_every_is_24_hours_and_being_late_adds_nothing_up() -> None:
    before = datetime(2026, 3, 28, 12, 0, tzinfo=ZoneInfo(BERLIN)).astimezone(UTC)
    assert next_schedule_time("@every 1d", BERLIN, before) == before + timedelta(hours=24)
    late = START + timedelta(hours=3, minutes=7, microseconds=5)
    assert next_schedule_time("@every 1h", "UTC", late, START) == START + timedelta(hours=4)
    assert next_schedule_time("@every 5m", "UTC", late) == late.replace(microsecond=0) + timedelta(
        minutes=5
    )


def test_the_29th_of_february_comes_in_leap_years() -> None:
    assert times("0 0 29 2 *", TOKYO, "2026-01-01 00:00", 2) == ["02-29 00:00 +0900"] * 2
    assert next_schedule_time("0 0 29 2 *", "UTC", START).year == 2028


@settings(max_examples=examples(50), deadline=None)
@given(
    rule=st.sampled_from(RULES),
    zone=st.sampled_from((BERLIN, NEW_YORK, TOKYO, "UTC", "Australia/Lord_Howe")),
    after=st.integers(0, 4 * 10**15).map(lambda us: datetime.fromtimestamp(us / 10**6, UTC)),
    late=st.integers(0, 10**6),
)
@example("30 2 * * *", BERLIN, datetime(2026, 10, 25, 1, 15, tzinfo=UTC), 0)
@example("30 1,2 * 3,10,11 *", NEW_YORK, datetime(2026, 11, 1, 6, 15, tzinfo=UTC), 0)
@example("*/15 2 * * *", BERLIN, datetime(2026, 3, 29, 0, 59, 59, 999_999, tzinfo=UTC), 0)
def test_the_next_time_is_always_after_now(
    rule: str, zone: str, after: datetime, late: int
) -> None:
    found = next_schedule_time(rule, zone, after, after - timedelta(seconds=late))
    assert found > after
    assert found.tzinfo is UTC
    assert next_schedule_time(rule, zone, after) > after


@pytest.mark.parametrize(
    "when",
    [
        "0 0 31 2 *", "0 0 31 4,6 *", "@every 0m", "@every 30s", "@every 367d", "@every 5 m",
        "@daily", "0 9 * *", "0 0 9 * * *", "60 * * * *", "*/0 * * * *",
        "\uff11 * * * *", "nine", "",
    ],
)  # fmt: skip
def test_what_never_comes_or_is_no_rule_is_refused_with_what_to_do(when: str) -> None:
    with pytest.raises(ValidationError) as refused:
        draft(when)
    (error,) = refused.value.errors()
    assert error["loc"] == ("when",)
    assert not when or ": write @every 5m" in str(error["ctx"]["error"])


@pytest.mark.parametrize(
    ("field", "value"),
    [("zone", "Asia/Edo"), ("zone", "+09:00"), ("instructions", " \n"), ("name", "")],
)
def test_a_draft_that_cannot_be_is_refused(field: str, value: str) -> None:
    with pytest.raises(ValidationError):
        draft(**{field: value})


def test_a_rule_is_kept_with_single_spaces() -> None:
    assert draft(" 0  9 * *\t1-5 ").when == "0 9 * * 1-5"


def test_an_edit_keeps_the_next_time_unless_the_times_change_and_never_brings_one_back() -> None:
    schedule = new_schedule("s1", "ada", draft(), START)
    fired = schedule.with_next_time(START + timedelta(hours=1)).after_run(
        "t1", START + timedelta(hours=1)
    )
    later = START + timedelta(hours=1, minutes=30)
    reworded = fired.with_draft(draft(instructions="歌う"), later)
    assert (reworded.next_at, reworded.version) == (START + timedelta(hours=2), 2)
    moved = reworded.with_draft(draft("0 * * * *"), later)
    assert moved.next_at == START + timedelta(hours=2)
    assert (moved.last_at, moved.last_turn_id, moved.fired) == (fired.last_at, "t1", 1)
    paused = moved.with_draft(draft("0 * * * *", enabled=False), later)
    assert paused.next_at is None
    resumed = paused.with_draft(draft("0 * * * *"), later + timedelta(days=1))
    assert resumed.next_at == START + timedelta(days=1, hours=2)


def test_what_can_no_longer_be_read_says_so_and_can_be_switched_off() -> None:
    schedule = new_schedule("s1", "ada", draft("0 9 * * *"), START)
    with pytest.raises(Invalid) as refused:
        schedule.replaced(zone="Mars/Olympus").with_next_time(START)
    assert (refused.value.field, refused.value.cure) == (
        "when",
        "use an IANA name such as Asia/Tokyo",
    )
    off = schedule.with_off_reason(WhyOff.NEVER, START)
    assert (off.enabled, off.next_at, off.slot) == (False, None, 0)
    assert off.with_draft(draft("0 9 * * *"), START).why_off is None
