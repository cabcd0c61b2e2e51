"""When an agent's day begins."""

from datetime import UTC, datetime

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.heartbeat import ActiveHours, Heartbeat
from opencrab.domain.agents.zone import agent_zone, start_in_agent_zone, time_in_agent_zone

NOW = datetime(2026, 11, 20, 23, 0, tzinfo=UTC)
HERE = Agent(id="a", name="葵", created_at=NOW, updated_at=NOW)
TOKYO = HERE.replaced(heartbeat=Heartbeat(active_hours=ActiveHours(zone="Asia/Tokyo")))


def test_an_agent_lives_where_its_hours_are() -> None:
    assert [agent_zone(each).key for each in (HERE, TOKYO)] == ["UTC", "Asia/Tokyo"]
    assert time_in_agent_zone(TOKYO, NOW) == "2026-11-21 08:00"


def test_a_day_begins_where_the_agent_lives() -> None:
    began = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
    assert start_in_agent_zone(TOKYO, "today", NOW) == began
    assert start_in_agent_zone(TOKYO, "2026-11-21", NOW) == began
    assert start_in_agent_zone(HERE, "today", NOW) == datetime(2026, 11, 20, tzinfo=UTC)
    assert start_in_agent_zone(HERE, "2026-11-21T00:00:00+09:00", NOW) == began
