"""Moments: times that somebody sends, each with its time zone, as the stores write them."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator

_EARLIEST, _LATEST = 1, 9_999


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("has no time zone: write it as 2026-02-17T09:00:00Z")
    if moment.year in {_EARLIEST, _LATEST}:
        raise ValueError("is out of range: use a year from 2 to 9998")
    return moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]
"""A time with its zone, in UTC; the first and the last year are none, as they may not be in it."""
