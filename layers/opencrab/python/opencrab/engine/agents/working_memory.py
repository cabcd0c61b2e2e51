"""Working: an agent's working memory between two wakings, read, replaced and cleared."""

from opencrab.domain.document import Document
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory, clear_stale_working_memory
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home


def working_memory(home: Home, agent_id: str) -> WorkingMemory | None:
    """What an agent has noted for itself, None for nothing; raises NotFound for no agent."""
    home.agents.get(agent_id)
    stored = home.facts.get(agent_id, WORKING, WORKING)
    return None if stored is None else stored.read(WorkingMemory)


def clear_working_memory(home: Home, agent_id: str) -> None:
    """Take it away, whoever wrote it and whatever is written now; raises NotFound for no agent."""
    home.agents.get(agent_id)
    stored = home.facts.get(agent_id, WORKING, WORKING)
    if stored is not None:
        home.facts.commit(stored.replaced(body=None, version=0))


def clear_working_memory_after_turn(
    facts: Documents, agent_id: str, turn_id: str
) -> Document | None:
    """The change that clears it at a waking's end; None if there is none or the turn wrote it."""
    return clear_stale_working_memory(facts.get(agent_id, WORKING, WORKING), turn_id)
