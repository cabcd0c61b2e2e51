"""Nights: the days and weeks that are looked at when they are over, and what came of it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.errors import Invalid
from opencrab.domain.learning.change import Adjustment
from opencrab.domain.learning.evidence import MemoryHits
from opencrab.domain.statistics.confidence import Estimate
from opencrab.domain.value import MicroUsd, Unit, Value

NIGHT = "night"
"""Kind of an agent's facts that say which periods are done; the id is the period's."""

NIGHTFALL = "nightfall"
"""Kind and id of the installation's fact that says how far the sending of nights has come."""

MADE_UP_DAYS = 7
"""A night that was missed is made up for so many days later at most."""

OPEN_DAYS = 3
"""Days whose evidence is reckoned anew each night, so that what is said of them later counts."""

FOUND_OFTEN = 3
"""A memory that searches showed so often without ever being of use is junk."""

KEPT = timedelta(days=60)
"""How long it is known that a period is done: longer than a message about it can come again."""


class Span(StrEnum):
    """Length of a period."""

    DAILY = "daily"
    WEEKLY = "weekly"
    REVIEW = "review"


class ReviewPeriod(Value):
    """A day (UTC) or an ISO week that is over, or a day so far.

    `number` tells the reviews of a day apart: how many times enough sessions had begun by then.
    """

    span: Span
    first: date
    last: date
    number: Annotated[int, Field(ge=0)] = 0

    @property
    def id(self) -> str:
        """Its name, like daily-2026-11-21, weekly-2026-W47 and review-2026-11-22-1."""
        return f"{self.span.value}-{self.name}"

    @property
    def name(self) -> str:
        """The day or week alone, and which review of the day it is."""
        if self.span is Span.DAILY:
            return self.first.isoformat()
        if self.span is Span.REVIEW:
            return f"{self.first.isoformat()}-{self.number}"
        year, week, _ = self.first.isocalendar()
        return f"{year}-W{week:02d}"

    @property
    def days(self) -> tuple[date, ...]:
        """Its days in order."""
        length = (self.last - self.first).days + 1
        return tuple(self.first + timedelta(days=place) for place in range(length))

    def begins(self) -> datetime:
        """Its first moment."""
        return utc_midnight(self.first)

    def ends(self) -> datetime:
        """The first moment after it."""
        return utc_midnight(self.last + timedelta(days=1))


class NightlyRun(Value):
    """One agent's night: when its run began, and when it was done; every repeat goes by `at`."""

    at: datetime
    done_at: datetime | None = None


class NightlySending(Value):
    """How far the sending has come: the last day that is done, and what is being sent.

    Of `doing`, a period's id, all agents up to `after` have been sent their message.
    """

    done: date
    doing: str = ""
    after: str = ""


class Remark(StrEnum):
    """What the nightly review proposes for a skill that was measured."""

    KEEP = "keep"
    REFINE = "refine"
    MERGE = "merge"
    RETIRE = "retire"


class Review(Value):
    """A proposal for one skill and its reason; `other` is the skill to merge it with."""

    skill: str
    status: str
    remark: Remark
    reason: str
    other: str = ""
    effect: Estimate | None = None
    given: int = 0
    held: int = 0


class Standstill(Value):
    """Why nothing was learned about a choice of models."""

    subject: str
    reason: str


class Junk(Value):
    """Memories or experiences that searches found: their number, and those that were never used."""

    found: int = 0
    useless: tuple[str, ...] = ()
    rate: Unit | None = None


class Looked(Value):
    """Result of a review of one period; with `dry_run` nothing was written.

    `done_before` says that the period had been reviewed already and nothing was done again.
    `budget_micro_usd` is for the whole period. `junk` is about memories, `lived` about experiences.
    `report` are the paths of the report's files; it is empty if `problem` says why.
    """

    agent_id: str
    period: str
    first: date
    last: date
    dry_run: bool = False
    done_before: bool = False
    turns: int = 0
    judged: int = 0
    spent_micro_usd: MicroUsd = 0
    budget_micro_usd: MicroUsd = 0
    adjustments: tuple[Adjustment, ...] = ()
    reviews: tuple[Review, ...] = ()
    standstills: tuple[Standstill, ...] = ()
    junk: Junk = Junk()
    lived: Junk = Junk()
    report: tuple[str, ...] = Field(default=())
    problem: str = ""


def last_ended_review_day(now: datetime, night_hour: int) -> date:
    """The last day (UTC) whose night has begun."""
    return (now.astimezone(UTC) - timedelta(hours=night_hour)).date() - timedelta(days=1)


def day_period(day: date) -> ReviewPeriod:
    """A day."""
    return ReviewPeriod(span=Span.DAILY, first=day, last=day)


def week_period(day: date) -> ReviewPeriod:
    """The ISO week of a day."""
    first = day - timedelta(days=day.weekday())
    return ReviewPeriod(span=Span.WEEKLY, first=first, last=first + timedelta(days=6))


def review_period(day: date, number: int) -> ReviewPeriod:
    """A day so far, looked at when enough sessions had begun for the so manieth time."""
    return ReviewPeriod(span=Span.REVIEW, first=day, last=day, number=number)


def newest_period(span: Span, ended: date) -> ReviewPeriod:
    """The last day or week that is over when a day is."""
    if span is Span.DAILY:
        return day_period(ended)
    return week_period(ended - timedelta(days=0 if ended.weekday() == _SUNDAY else 7))


def periods_ending_on(day: date) -> Iterator[ReviewPeriod]:
    """What is to be looked at when a day is over: it, and on Sundays its week."""
    yield day_period(day)
    if day.weekday() == _SUNDAY:
        yield week_period(day)


def parse_review_period(text: str) -> ReviewPeriod:
    """The period of an id; raises Invalid for anything else."""
    span, _, name = text.partition("-")
    try:
        if span == Span.DAILY and len(name) == _DAY_LENGTH:
            return day_period(date.fromisoformat(name))
        if span == Span.WEEKLY and len(name) == _WEEK_LENGTH:
            return week_period(date.fromisoformat(f"{name}-1"))
        if span == Span.REVIEW and name[_DAY_LENGTH:][:1] == "-":
            return review_period(date.fromisoformat(name[:_DAY_LENGTH]), _number(name))
    except ValueError:
        pass
    raise Invalid(
        f"{text[:100]!r} is not a valid period",
        field="period",
        cure="use a day like daily-2026-11-21 or a week like weekly-2026-W47",
    )


def _number(name: str) -> int:
    """Which review of its day a name tells; raises ValueError for anything that is no number."""
    text = name[_DAY_LENGTH + 1 :]
    if not text.isascii() or not text.isdecimal():
        raise ValueError(text)
    return int(text)


def useless_searches(recalled: Mapping[str, MemoryHits], since: datetime) -> Junk:
    """What searches showed since then, and what of it was of no use; the worst of that is named."""
    found, never = (
        sum(each.at >= since for each in recalled.values()),
        useless_experience_ids(recalled, since),
    )
    rate = len(never) / found if found else None
    return Junk(found=found, useless=never[:_USELESS], rate=rate)


def useless_experience_ids(recalled: Mapping[str, MemoryHits], since: datetime) -> tuple[str, ...]:
    """What searches showed often and that was never of use, the most often shown first."""
    never = (
        name
        for name, each in recalled.items()
        if each.at >= since and each.found >= FOUND_OFTEN and not each.useful
    )
    return tuple(sorted(never, key=lambda name: (-recalled[name].found, name)))


def utc_midnight(day: date) -> datetime:
    """The first moment of a day, UTC."""
    return datetime.combine(day, time(), UTC)


_USELESS = 20
_SUNDAY = 6
_DAY_LENGTH = len("2026-11-21")
_WEEK_LENGTH = len("2026-W47")
