"""Moments over REST: any time with its zone is the same time in UTC, and nothing else is one."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from opencrab.gateways.rest.http.timestamps import Moment

READER: TypeAdapter[datetime] = TypeAdapter(Moment)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


EARLIEST = datetime(2, 1, 1)  # noqa: DTZ001 - hypothesis adds the zones
LATEST = datetime(9998, 12, 31)  # noqa: DTZ001


@given(st.datetimes(EARLIEST, LATEST, timezones=ZONES))
def test_a_time_with_its_zone_is_the_same_time_in_utc(moment: datetime) -> None:
    read = READER.validate_python(moment)
    assert read == moment
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "now", ""],
)
def test_a_time_that_is_none_or_nowhere_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        READER.validate_json(f'"{text}"', strict=True)
