"""Schedules: instructions that an agent gets at set times, and when those times are.

Where clocks change, a cron line of set times goes by Debian's cron: what falls into the hour that
is left out comes right after it, what falls into the hour that comes twice comes once. A line whose
minute or hour begins with `*` goes by the time that passes.
"""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from opencrab.domain.agents.heartbeat import Zone
from opencrab.domain.conversation.message import Channel
from opencrab.domain.errors import Invalid
from opencrab.domain.name import NewName
from opencrab.domain.value import Identifier, MessageText, Name, Value

SCHEDULE = "schedule"
"""The kind of documents that store schedules; they are due at their next time."""

SCHEDULES = 50
"""The limit of schedules of one agent."""

_FIELDS = 5
_LONGEST = timedelta(days=366)
_LATE = timedelta(hours=1)
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_EVERY = re.compile(r"@every ([1-9][0-9]{0,5})([mhd])")
_HOW = "write @every 5m, @every 2h or @every 1d, or five cron fields such as 0 9 * * 1-5"


def _rule(text: str) -> str:
    rule = " ".join(text.split())
    _times(rule, "UTC", datetime(2000, 1, 1, tzinfo=UTC))
    return rule


Rule = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_rule)]
"""A rule for times: `@every` with minutes, hours or days, or five cron fields."""


class ScheduleDraft(Value, defer_build=False):
    """An owner's settings of a schedule.

    Speech goes to the session, or to the agent's own session if none is given, and to `channel` if
    it is set.
    """

    name: NewName
    when: Rule = Field(description="`@every 5m`, `@every 2h` or `@every 1d`, or five cron fields")
    zone: Zone | None = Field(
        default=None, description="time zone of a cron expression; by default the agent's"
    )
    instructions: MessageText
    enabled: bool = True
    session_id: Identifier | None = Field(
        default=None, description="session in which it runs; by default the agent's own session"
    )
    channel: Channel | None = None

    def in_zone(self, zone: str) -> "ScheduleDraft":
        """Return the draft with this time zone if it names none."""
        return self if self.zone is not None else self.replaced(zone=zone)

    @model_validator(mode="after")
    def _says_something(self) -> "ScheduleDraft":
        if not self.instructions.strip():
            raise ValueError("instructions are blank: write text")
        return self


class WhyOff(StrEnum):
    """The reason why OpenCrab switched a schedule off."""

    RETIRED = "agent_retired"
    NOT_THERE = "session_over"
    NEVER = "never_again"


class Schedule(Value):
    """A stored schedule.

    `next_at` is set while it is enabled. `fired` counts its runs, `run now` included;
    `last_turn_id` is the turn of the latest run. `version` counts its owner's changes. Rule and
    zone were checked when they were written: if they can no longer be parsed, the schedule is
    switched off, not deleted.
    """

    id: Identifier
    agent_id: Identifier
    name: Name
    when: str
    zone: str = "UTC"
    instructions: MessageText
    enabled: bool = True
    session_id: Identifier | None = None
    channel: Channel | None = None
    next_at: datetime | None = None
    last_at: datetime | None = None
    last_turn_id: str | None = None
    fired: Annotated[int, Field(ge=0)] = 0
    why_off: WhyOff | None = None
    created_at: datetime
    updated_at: datetime
    version: Annotated[int, Field(ge=1)] = 1

    @property
    def slot(self) -> int:
        """The next time as an id: seconds since 1970, 0 if there is none."""
        return 0 if self.next_at is None else int(self.next_at.timestamp())

    def with_draft(self, draft: ScheduleDraft, now: datetime) -> "Schedule":
        """Return the schedule with the owner's new settings.

        A due time that was not handled yet stays due unless rule, zone or `enabled` change; then
        the next time is in the future.
        """
        draft = draft.in_zone(self.zone)
        same = (draft.when, draft.zone, draft.enabled) == (self.when, self.zone, self.enabled)
        next_at = self.next_at if same else None
        if draft.enabled and next_at is None:
            next_at = next_schedule_time(draft.when, draft.zone or self.zone, now)
        return self.replaced(
            **dict(draft),
            next_at=next_at,
            why_off=None if draft.enabled else self.why_off,
            updated_at=now,
            version=self.version + 1,
        )

    def after_run(self, turn_id: str, now: datetime) -> "Schedule":
        """Return the schedule after one more run."""
        return self.replaced(last_at=now, last_turn_id=turn_id, fired=self.fired + 1)

    def with_next_time(self, now: datetime) -> "Schedule":
        """Return the schedule with its next time after now; missed times are skipped.

        Raises Invalid if there is no next time.
        """
        planned = now if self.next_at is None else self.next_at
        return self.replaced(next_at=next_schedule_time(self.when, self.zone, now, planned))

    def with_bounded_next_time(self, now: datetime) -> "Schedule":
        """Return the schedule with `next_at` moved forward if it is later than its rule allows.

        That happens after a clock was ahead. Raises Invalid if there is no next time.
        """
        if self.next_at is None:
            return self
        soonest = next_schedule_time(self.when, self.zone, now)
        return self if self.next_at <= soonest + _LATE else self.replaced(next_at=soonest)

    def with_off_reason(self, why: WhyOff, now: datetime) -> "Schedule":
        """Return the schedule switched off by OpenCrab, with the reason."""
        return self.replaced(enabled=False, next_at=None, why_off=why, updated_at=now)


def new_schedule(schedule_id: str, agent_id: str, draft: ScheduleDraft, now: datetime) -> Schedule:
    """Build a schedule whose first time is in the future."""
    draft = draft.in_zone("UTC")
    next_at = next_schedule_time(draft.when, draft.zone or "UTC", now) if draft.enabled else None
    return Schedule(
        id=schedule_id,
        agent_id=agent_id,
        **dict(draft),
        next_at=next_at,
        created_at=now,
        updated_at=now,
    )


def next_schedule_time(
    when: str, zone: str, after: datetime, planned: datetime | None = None
) -> datetime:
    """Return the first time of a rule after a moment, in UTC.

    `@every` counts from the planned time if there is one, so that delays do not accumulate. Raises
    Invalid if the rule or zone cannot be parsed, or if no such time ever comes.
    """
    try:
        return _times(when, zone, after, planned)
    except ValueError as error:
        wrong, _, cure = str(error).partition(": ")
        raise Invalid(f"when {wrong}", field="when", cure=cure) from error


def _times(when: str, zone: str, after: datetime, planned: datetime | None = None) -> datetime:
    """Return the next time, or raise ValueError with the problem, a colon and what to do."""
    if not when.startswith("@"):
        return _by_cron(when, zone, after)
    every = _EVERY.fullmatch(when)
    interval = None if every is None else int(every[1]) * _UNITS[every[2]]
    if interval is None or interval > _LONGEST:
        raise ValueError(f"must be 1m to 366d after @every: {_HOW}")
    after = after.astimezone(UTC)
    if planned is None or planned > after:
        return after.replace(microsecond=0) + interval
    return planned.astimezone(UTC) + ((after - planned) // interval + 1) * interval


def _by_cron(line: str, zone: str, after: datetime) -> datetime:
    # Loaded with the first cron line, not with every worker that could meet one.
    from cronsim import CronSim, CronSimError  # noqa: PLC0415

    if len(line.split()) != _FIELDS:
        raise ValueError(f"must have five fields (minute hour day month weekday): {_HOW}")
    try:
        here = ZoneInfo(zone)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("has an unknown time zone: use an IANA name such as Asia/Tokyo") from error
    try:
        times = CronSim(line, after.astimezone(here))
        # In the second of two like hours cronsim goes on in the first.
        return next(found for each in times if (found := each.astimezone(UTC)) > after)
    except CronSimError as error:
        raise ValueError(f"has an invalid field ({str(error).lower()}): {_HOW}") from error
    except (StopIteration, OverflowError) as error:
        raise ValueError(f"never occurs: {_HOW}") from error
