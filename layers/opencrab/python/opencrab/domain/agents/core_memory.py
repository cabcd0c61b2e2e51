"""Core memories: the few that a mind holds, so that they ride in every prompt."""

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Refused
from opencrab.domain.memory.memory import CORE, CoreMemory, Memory

CORE_MEMORIES = 20
CORE_BYTES = 4 * 1024
"""All core memories together: every turn reads them with its agent, and pays for them."""


def with_core_memory(mind: AgentState, memory: Memory) -> AgentState:
    """A mind that holds a memory exactly if it is a core one and somebody vouches for it.

    Raises Refused where there is no room for one more.
    """
    if memory.category != CORE or memory.tainted:
        return without_core_memory(mind, memory.id)
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
        raise _full(f"there are {CORE_MEMORIES} core memories")
    size = sum(len(each.content.encode()) for each in core)
    if size > CORE_BYTES:
        raise _full(f"the core memories would take {size} bytes, at most {CORE_BYTES} are kept")
    return mind.replaced(core=core)


def without_core_memory(mind: AgentState, memory_id: str) -> AgentState:
    """A mind that does not hold a memory."""
    if all(each.id != memory_id for each in mind.core):
        return mind
    return mind.replaced(core=tuple(each for each in mind.core if each.id != memory_id))


def _full(what: str) -> Refused:
    return Refused(
        what,
        field="category",
        cure="forget one, or save this in another category: search finds it there",
    )
