"""An owner's view of the events that an agent received in the last days, read or unread."""

from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.engine.runtime import Runtime


def received_events_of_agent(
    runtime: Runtime, agent_id: str, *, after: str = "", limit: int
) -> tuple[AgentEvent, ...]:
    """Return a page of the events that are still stored, newest first; raises NotFound."""
    runtime.home.agents.get(agent_id)
    now = runtime.clock.now()
    page = runtime.home.facts.page(agent_id, HAPPENING, after=after, limit=limit, newest_first=True)
    kept = (fact for fact in page if fact.expires_at is None or fact.expires_at > now)
    return tuple(fact.read(AgentEvent) for fact in kept)
