"""Working memory: the note that an agent keeps for itself between turns."""

from collections.abc import Collection

from opencrab.domain.document import Document
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory, clear_stale_working_memory
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home


def working_memory(home: Home, agent_id: str) -> WorkingMemory | None:
    """Return an agent's working memory, None if empty; raise NotFound for an unknown agent."""
    home.agents.get(agent_id)
    stored = home.facts.get(agent_id, WORKING, WORKING)
    return None if stored is None else stored.read(WorkingMemory)


def clear_working_memory(home: Home, agent_id: str) -> None:
    """Delete an agent's working memory, even one being written; raise NotFound if no agent."""
    home.agents.get(agent_id)
    stored = home.facts.get(agent_id, WORKING, WORKING)
    if stored is not None:
        home.facts.commit(stored.replaced(body=None, version=0))


def clear_working_memory_after_turn(
    facts: Documents, agent_id: str, turn_id: str, kept_for: Collection[str]
) -> Document | None:
    """Return the change that clears working memory, None if there is nothing to clear.

    It stays if this turn wrote it, or if it was written in one of the sessions `kept_for`.
    """
    return clear_stale_working_memory(facts.get(agent_id, WORKING, WORKING), turn_id, kept_for)
