"""Heartbeat settings: how often an agent acts on its own, when it sleeps, and its time zone.

An agent's own time zone is the zone of its active hours, which are the whole day if it has no
quiet hours: releases that know no such setting read and follow it. Other agents have the time zone
of the installation.
"""

from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, StringConstraints

from opencrab.domain.agents.event import EventFilter
from opencrab.domain.conversation.message import Channel
from opencrab.domain.value import ShortText, Value

SHORTEST_SECONDS, LONGEST_SECONDS = 29, 86_399
"""The shortest and the longest interval; both are primes, the longest is just within a day."""

DEFAULT_SECONDS = 61
"""The first prime over a minute: heartbeats of agents with different primes rarely coincide."""

FILTERS = 20


def is_prime_agent_interval(number: int) -> bool:
    """Check whether a number of seconds is prime."""
    if number < 2:  # noqa: PLR2004  - the first prime
        return False
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def prime_agent_interval(number: int) -> int:
    """Return the smallest prime that is at least `number`."""
    while not is_prime_agent_interval(number):
        number += 1
    return number


def _prime(seconds: int) -> int:
    if SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS and is_prime_agent_interval(seconds):
        return seconds
    nearest = prime_agent_interval(min(max(seconds, SHORTEST_SECONDS), LONGEST_SECONDS))
    raise ValueError(
        f"must be a prime number of seconds from {SHORTEST_SECONDS} to {LONGEST_SECONDS}: "
        f"take {nearest}"
    )


_PLACELESS = frozenset({"localtime", "posixrules", "Factory"})
"""Files of the zone database that are no zones, or differ from machine to machine."""


def _zone(name: str) -> str:
    if not is_agent_time_zone_name(name):
        raise ValueError("must be an IANA time zone such as Asia/Tokyo or UTC")
    return name


def is_agent_time_zone_name(name: str) -> bool:
    """Check whether a name is that of an IANA time zone."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return name not in _PLACELESS


Zone = Annotated[str, StringConstraints(max_length=64), AfterValidator(_zone)]
"""The name of an IANA time zone."""

Interval = Annotated[
    int,
    Field(
        strict=True,
        json_schema_extra={"minimum": SHORTEST_SECONDS, "maximum": LONGEST_SECONDS},
    ),
    AfterValidator(_prime),
]
"""Seconds between two heartbeats: a prime number."""

TimeOfDay = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]


class ActiveHours(Value):
    """The hours when an agent is awake; `start` after `end` spans midnight, equal is all day."""

    start: TimeOfDay = "00:00"
    end: TimeOfDay = "00:00"
    zone: Zone = "UTC"

    def includes(self, now: datetime) -> bool:
        """Check whether a moment is within the hours, in their time zone."""
        told = now.astimezone(ZoneInfo(self.zone)).strftime("%H:%M")
        if self.start <= self.end:
            return self.start == self.end or self.start <= told < self.end
        return told >= self.start or told < self.end


class Heartbeat(Value):
    """An agent's settings for acting on its own.

    Without `initiative`, or without `instructions`, the agent acts only on outside causes, never on
    its own goals. What it says on its own goes to `channel`, at most once in `cooldown_seconds`.
    `subscriptions` choose the events that it receives; an empty list is all.
    """

    enabled: bool = True
    interval_seconds: Interval = DEFAULT_SECONDS
    initiative: bool = True
    instructions: ShortText = ""
    active_hours: ActiveHours | None = None
    channel: Channel | None = None
    cooldown_seconds: Annotated[int, Field(ge=0, le=86_400)] = 300
    subscriptions: Annotated[tuple[EventFilter, ...], Field(max_length=FILTERS)] = ()

    @property
    def acts_on_its_own(self) -> bool:
        """True if the agent may set itself goals: initiative is on, instructions not blank."""
        return self.initiative and bool(self.instructions.strip())

    @property
    def without_instructions(self) -> "Heartbeat":
        """The settings for vital signs: instructions cut to one character to keep the item small.

        The one character shows whether there are instructions at all.
        """
        return self.replaced(instructions=self.instructions.strip()[:1])

    def hears(self, kind: str, source: str) -> bool:
        """Check whether the agent subscribes to events of a type from a source."""
        return not self.subscriptions or any(f.fits(kind, source) for f in self.subscriptions)


def time_zone_of_agent(heartbeat: Heartbeat) -> str | None:
    """Return the time zone that an agent has of its own; None for the installation's."""
    return None if heartbeat.active_hours is None else heartbeat.active_hours.zone


def agent_time_zone(heartbeat: Heartbeat, default: str) -> str:
    """Return the IANA name of an agent's time zone; `default` is the installation's."""
    return default if heartbeat.active_hours is None else heartbeat.active_hours.zone


def agent_heartbeat_in_zone(heartbeat: Heartbeat, zone: str | None, default: str) -> Heartbeat:
    """Return heartbeat settings with another time zone; None for the installation's, `default`.

    Quiet hours stay, at the same hours of the clock in the new zone.
    """
    hours = heartbeat.active_hours
    if hours is None or hours.start == hours.end:
        kept = None if zone is None else ActiveHours(zone=zone)
    else:
        kept = hours.replaced(zone=default if zone is None else zone)
    return heartbeat.replaced(active_hours=kept)


def agent_heartbeat_with_hours_in_zone(heartbeat: Heartbeat, zone: str) -> Heartbeat:
    """Return heartbeat settings whose active hours are in this zone if they name none."""
    hours = heartbeat.active_hours
    if hours is None or "zone" in hours.model_fields_set:
        return heartbeat
    return heartbeat.replaced(active_hours=hours.replaced(zone=zone))


def local_time_of_agent(moment: datetime, zone: str) -> datetime:
    """Convert a moment to the clock of a time zone."""
    return moment.astimezone(ZoneInfo(zone))


def agent_time_in_zone(moment: datetime, zone: str) -> str:
    """Return a moment as day and time on the clock of a time zone."""
    return f"{local_time_of_agent(moment, zone):%Y-%m-%d %H:%M}"


def agent_day_start_in_zone(said: str, now: datetime, zone: str) -> datetime:
    """Return when a day begins in a time zone ('today', '2026-02-17'), or a time on its clock.

    Raises ValueError.
    """
    text = f"{local_time_of_agent(now, zone):%Y-%m-%d}" if said.strip() == "today" else said.strip()
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=ZoneInfo(zone)) if moment.tzinfo is None else moment
