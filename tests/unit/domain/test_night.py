"""Periods of days and weeks that are over."""

from datetime import UTC, date, datetime

import pytest

from opencrab.domain.errors import Invalid
from opencrab.domain.night import Span, ended_day, newest, nights_of, stretch_of


def test_a_day_is_over_for_the_night_when_the_hour_after_it_has_come() -> None:
    assert ended_day(datetime(2026, 11, 22, 17, 59, tzinfo=UTC), 18) == date(2026, 11, 20)
    assert ended_day(datetime(2026, 11, 22, 18, tzinfo=UTC), 18) == date(2026, 11, 21)
    assert ended_day(datetime(2026, 11, 22, tzinfo=UTC), 0) == date(2026, 11, 21)


def test_weeks_are_those_of_iso_8601_even_where_years_meet() -> None:
    assert [each.id for each in nights_of(date(2026, 11, 21))] == ["daily-2026-11-21"]
    sunday = [each.id for each in nights_of(date(2027, 1, 3))]
    assert sunday == ["daily-2027-01-03", "weekly-2026-W53"]
    week = stretch_of("weekly-2026-W53")
    assert (week.first, week.last, len(week.days)) == (date(2026, 12, 28), date(2027, 1, 3), 7)
    assert newest(Span.WEEKLY, date(2027, 1, 3)) == week
    assert newest(Span.WEEKLY, date(2027, 1, 9)) == week


@pytest.mark.parametrize("span", Span)
def test_a_period_is_read_back_from_its_name(span: Span) -> None:
    stretch = newest(span, date(2026, 2, 28))
    assert stretch_of(stretch.id) == stretch
    assert (stretch.ends() - stretch.begins()).days == len(stretch.days)


@pytest.mark.parametrize(
    "name", ["", "daily", "daily-2026-02-30", "weekly-2026-W54", "weekly-2026-02", "hourly-1"]
)
def test_what_names_no_period_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        stretch_of(name)
