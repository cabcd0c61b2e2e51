"""Core memories: the few in the agent state, which are part of every prompt."""

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Refused
from opencrab.domain.memory.memory import CORE, CoreMemory, Memory

CORE_MEMORIES = 20
CORE_BYTES = 4 * 1024
"""The size limit of all core memories together: every turn reads and pays for them."""


def agent_with_core_memory(mind: AgentState, memory: Memory) -> AgentState:
    """Return the agent state with a memory added, replaced or removed among its core memories.

    A memory is held exactly if its category is core and it is not tainted. Raises Refused if the
    core memories would exceed their number (20) or size (4 KiB).
    """
    if memory.category != CORE or memory.tainted:
        return agent_without_core_memory(mind, memory.id)
    held = CoreMemory(
        id=memory.id,
        content=memory.content,
        hearing=memory.hearing,
        session_id=memory.session_id,
        guild_id=memory.guild_id,
        person_id=memory.person_id,
    )
    core = tuple(held if each.id == memory.id else each for each in mind.core)
    if held not in core:
        core = (*core, held)
    if len(core) > CORE_MEMORIES:
        raise _full(f"limit reached: {CORE_MEMORIES} core memories")
    size = sum(len(each.content.encode()) for each in core)
    if size > CORE_BYTES:
        raise _full(f"the core memories would have {size} bytes, at most {CORE_BYTES} are allowed")
    return mind.replaced(core=core)


def agent_without_core_memory(mind: AgentState, memory_id: str) -> AgentState:
    """Return the agent state without a core memory; unchanged if it does not hold that memory."""
    if all(each.id != memory_id for each in mind.core):
        return mind
    return mind.replaced(core=tuple(each for each in mind.core if each.id != memory_id))


def _full(what: str) -> Refused:
    return Refused(
        what,
        field="category",
        cure="forget one, or use another category, which search still finds",
    )
