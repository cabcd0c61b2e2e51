"""Periods of days and weeks that are over."""

from datetime import UTC, date, datetime

import pytest

from opencrab.domain.errors import Invalid
from opencrab.domain.learning.evidence import Evidence, MemoryHits
from opencrab.domain.learning.review_period import (
    ReviewPeriod,
    ReviewSpan,
    last_ended_review_day,
    newest_period,
    parse_review_period,
    review_period,
    review_periods_ending_on,
    review_useless_searches,
    useless_experience_ids,
)
from opencrab.domain.memory.memory import LIVED


def test_a_day_is_over_for_the_night_when_the_hour_after_it_has_come() -> None:
    assert last_ended_review_day(datetime(2026, 11, 22, 17, 59, tzinfo=UTC), 18) == date(
        2026, 11, 20
    )
    assert last_ended_review_day(datetime(2026, 11, 22, 18, tzinfo=UTC), 18) == date(2026, 11, 21)
    assert last_ended_review_day(datetime(2026, 11, 22, tzinfo=UTC), 0) == date(2026, 11, 21)


def test_weeks_are_those_of_iso_8601_even_where_years_meet() -> None:
    assert [each.id for each in review_periods_ending_on(date(2026, 11, 21))] == [
        "daily-2026-11-21"
    ]
    sunday = [each.id for each in review_periods_ending_on(date(2027, 1, 3))]
    assert sunday == ["daily-2027-01-03", "weekly-2026-W53"]
    week = parse_review_period("weekly-2026-W53")
    assert (week.first, week.last, len(week.days)) == (date(2026, 12, 28), date(2027, 1, 3), 7)
    assert newest_period(ReviewSpan.WEEKLY, date(2027, 1, 3)) == week
    assert newest_period(ReviewSpan.WEEKLY, date(2027, 1, 9)) == week


@pytest.mark.parametrize(
    "stretch",
    [
        newest_period(ReviewSpan.DAILY, date(2026, 2, 28)),
        newest_period(ReviewSpan.WEEKLY, date(2026, 2, 28)),
        review_period(date(2026, 2, 28), 0),
        review_period(date(2026, 2, 28), 120),
    ],
    ids=lambda stretch: stretch.id,
)
def test_a_period_is_read_back_from_its_name(stretch: ReviewPeriod) -> None:
    assert parse_review_period(stretch.id) == stretch
    assert (stretch.end_time() - stretch.start_time()).days == len(stretch.days)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "daily",
        "daily-2026-02-30",
        "weekly-2026-W54",
        "weekly-2026-02",
        "hourly-1",
        "review-2026-02-28",
        "review-2026-02-28-",
        "review-2026-02-28--1",
        "review-2026-02-30-1",
        "weekly-9999-W52",
        "daily-9999-12-31",
        "review-9999-12-31-1",
    ],
)
def test_what_names_no_period_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        parse_review_period(name)


def test_memories_and_experiences_are_told_apart_and_forgotten_by_their_ids() -> None:
    now = datetime(2026, 1, 5, tzinfo=UTC)
    often = MemoryHits(found=3, at=now)
    known = Evidence(recalled={"a": often, f"{LIVED}a": often, f"{LIVED}b": often + often})
    assert known.memories_recalled == {"a": often}
    assert useless_experience_ids(known.experiences_recalled, now) == ("b", "a")
    assert review_useless_searches(known.experiences_recalled, now).rate == 1.0
    assert list(known.without({"a"}).recalled) == [f"{LIVED}b"]
