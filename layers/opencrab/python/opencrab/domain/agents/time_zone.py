"""Time zones of agents: the one of its own that an agent has, or the installation's.

An agent's own time zone is the zone of its active hours, which are the whole day if it has no
quiet hours. Releases that know no such setting read and follow it.
"""

from datetime import datetime
from zoneinfo import ZoneInfo

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.heartbeat import ActiveHours, Heartbeat


def agent_time_zone(agent: Agent, default: str) -> str:
    """Return the IANA name of an agent's time zone; `default` is the installation's."""
    hours = agent.heartbeat.active_hours
    return default if hours is None else hours.zone


def time_zone_of_agent(heartbeat: Heartbeat) -> str | None:
    """Return the time zone that an agent has of its own; None for the installation's."""
    return None if heartbeat.active_hours is None else heartbeat.active_hours.zone


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
