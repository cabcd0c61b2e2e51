"""Review periods: the days and weeks of nightly reviews, and the results of a review."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
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
"""The kind of an agent's documents that record reviewed periods; the id is the period's."""

NIGHTFALL = "nightfall"
"""Kind and id of the installation's document with the progress of sending nightly messages."""

MADE_UP_DAYS = 7
"""The number of days for which missed nightly reviews are made up later."""

OPEN_DAYS = 3
"""The days whose evidence is computed again each night, so that later opinions count."""

FOUND_OFTEN = 3
"""The number of hits from which a memory that was never useful is junk."""

KEPT = timedelta(days=60)
"""The time for which a reviewed period is remembered: longer than its message can be repeated."""


class ReviewSpan(StrEnum):
    """The length of a period."""

    DAILY = "daily"
    WEEKLY = "weekly"
    REVIEW = "review"


class ReviewPeriod(Value):
    """A day (UTC) or an ISO week that is over, or the present day so far.

    `number` distinguishes the reviews of one day: how many times enough sessions had begun by then.
    """

    span: ReviewSpan
    first: date
    last: date
    number: Annotated[int, Field(ge=0)] = 0

    @property
    def id(self) -> str:
        """The id, like daily-2026-11-21, weekly-2026-W47 and review-2026-11-22-1."""
        return f"{self.span.value}-{self.name}"

    @property
    def name(self) -> str:
        """The day or week alone, with the number of a review by day."""
        if self.span is ReviewSpan.DAILY:
            return self.first.isoformat()
        if self.span is ReviewSpan.REVIEW:
            return f"{self.first.isoformat()}-{self.number}"
        year, week, _ = self.first.isocalendar()
        return f"{year}-W{week:02d}"

    @property
    def days(self) -> tuple[date, ...]:
        """The days of the period in order."""
        length = (self.last - self.first).days + 1
        return tuple(self.first + timedelta(days=place) for place in range(length))

    def start_time(self) -> datetime:
        """Return the first moment of the period."""
        return review_day_midnight(self.first)

    def end_time(self) -> datetime:
        """Return the first moment after the period."""
        return review_day_midnight(self.last + timedelta(days=1))


class NightlyRun(Value):
    """A nightly review of one agent: its begin and end; a repeat uses the same `at`."""

    at: datetime
    done_at: datetime | None = None


class NightlySending(Value):
    """Progress of sending nightly messages: the last day that is done, and what is being sent.

    Of `doing`, a period's id, all agents up to `after` have been sent their message.
    """

    done: date
    doing: str = ""
    after: str = ""


class Remark(StrEnum):
    """A proposal of the nightly review for a skill that was measured."""

    KEEP = "keep"
    REFINE = "refine"
    MERGE = "merge"
    RETIRE = "retire"


class SkillReview(Value):
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
    """The reason why nothing was learned about a choice of models."""

    subject: str
    reason: str


class UnusedRecall(Value):
    """Memories or experiences that searches found: their number, and those that were never used."""

    found: int = 0
    useless: tuple[str, ...] = ()
    rate: Unit | None = None


class ReviewResult(Value):
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
    reviews: tuple[SkillReview, ...] = ()
    standstills: tuple[Standstill, ...] = ()
    junk: UnusedRecall = UnusedRecall()
    lived: UnusedRecall = UnusedRecall()
    report: tuple[str, ...] = Field(default=())
    problem: str = ""


def last_ended_review_day(now: datetime, night_hour: int) -> date:
    """Return the last day (UTC) whose nightly review may run."""
    return (now.astimezone(UTC) - timedelta(hours=night_hour)).date() - timedelta(days=1)


def review_period_of_day(day: date) -> ReviewPeriod:
    """Build the period of a day."""
    return ReviewPeriod(span=ReviewSpan.DAILY, first=day, last=day)


def _review_period_of_week(day: date) -> ReviewPeriod:
    first = day - timedelta(days=day.weekday())
    return ReviewPeriod(span=ReviewSpan.WEEKLY, first=first, last=first + timedelta(days=6))


def review_period(day: date, number: int) -> ReviewPeriod:
    """Build the period of a day so far; `number` counts the reviews of that day from 1."""
    return ReviewPeriod(span=ReviewSpan.REVIEW, first=day, last=day, number=number)


def newest_period(span: ReviewSpan, ended: date) -> ReviewPeriod:
    """Return the newest day or week that is over at the end of day `ended`."""
    if span is ReviewSpan.DAILY:
        return review_period_of_day(ended)
    return _review_period_of_week(ended - timedelta(days=0 if ended.weekday() == _SUNDAY else 7))


def review_periods_ending_on(day: date) -> Iterator[ReviewPeriod]:
    """Yield the periods to review at the end of a day: the day, and on Sundays its week."""
    yield review_period_of_day(day)
    if day.weekday() == _SUNDAY:
        yield _review_period_of_week(day)


def parse_review_period(text: str) -> ReviewPeriod:
    """Parse the id of a period; raises Invalid if it is none, or if no calendar goes so far."""
    span, _, name = text.partition("-")
    with suppress(ValueError, OverflowError):
        if span == ReviewSpan.DAILY:
            found = review_period_of_day(date.fromisoformat(name))
        elif span == ReviewSpan.WEEKLY:
            found = _review_period_of_week(date.fromisoformat(f"{name}-1"))
        else:
            day, number = name[: len("2026-11-21")], name[len("2026-11-21-") :]
            found = review_period(date.fromisoformat(day), int(number))
        if found.id == text and found.last < date.max:
            return found
    raise Invalid(
        f"{text[:100]!r} is not a valid period",
        field="period",
        cure="use a day like daily-2026-11-21 or a week like weekly-2026-W47",
    )


def review_useless_searches(recalled: Mapping[str, MemoryHits], since: datetime) -> UnusedRecall:
    """Count memories found since a time and those never useful; the worst 20 are named."""
    found, never = (
        sum(x.at >= since for x in recalled.values()),
        useless_experience_ids(recalled, since),
    )
    rate = len(never) / found if found else None
    return UnusedRecall(found=found, useless=never[:_USELESS], rate=rate)


def useless_experience_ids(recalled: Mapping[str, MemoryHits], since: datetime) -> tuple[str, ...]:
    """Return the ids found FOUND_OFTEN times or more without being useful, most found first.

    Only those found since a time. The ids are of memories or of experiences, as in `recalled`.
    """
    never = (
        name
        for name, each in recalled.items()
        if each.at >= since and each.found >= FOUND_OFTEN and not each.useful
    )
    return tuple(sorted(never, key=lambda name: (-recalled[name].found, name)))


def review_day_midnight(day: date) -> datetime:
    """Return the first moment of a day, UTC."""
    return datetime.combine(day, time(), UTC)


_USELESS = 20
_SUNDAY = 6
