"""The time zone in which an agent's day begins."""

from datetime import datetime
from zoneinfo import ZoneInfo

from opencrab.domain.agents.agent import Agent


def agent_zone(agent: Agent) -> ZoneInfo:
    """Return the time zone of an agent's day: that of its active hours, else UTC."""
    hours = agent.heartbeat.active_hours
    return ZoneInfo("UTC" if hours is None else hours.zone)


def time_in_agent_zone(agent: Agent, moment: datetime) -> str:
    """Return a moment as an agent reads it: day and time where it lives."""
    return f"{moment.astimezone(agent_zone(agent)):%Y-%m-%d %H:%M}"


def start_in_agent_zone(agent: Agent, said: str, now: datetime) -> datetime:
    """Return when a day begins for an agent ('today', '2026-02-17'), or a time in its zone.

    Raises ValueError.
    """
    here = agent_zone(agent)
    text = f"{now.astimezone(here):%Y-%m-%d}" if said.strip() == "today" else said.strip()
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=here) if moment.tzinfo is None else moment
