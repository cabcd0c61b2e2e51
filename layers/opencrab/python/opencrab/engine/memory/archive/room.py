"""Room for what an archive brings: the limits of an agent's memory."""

from opencrab.domain.document import Document
from opencrab.domain.errors import TooLarge
from opencrab.domain.memory.write_policy import MEMORIES
from opencrab.engine.memory.records import memory_count
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages


def require_memory_room(facts: Documents, agent_id: str, memories: int) -> None:
    """Raise TooLarge unless an agent has room for so many more memories."""
    kept = memory_count(facts, agent_id).kept
    if kept + memories > MEMORIES:
        raise TooLarge(
            f"{kept} memories are stored and {memories} are in the archive; the limit is "
            f"{MEMORIES}",
            field="archive",
            cure="delete unused ones here, or remove them from the archive",
        )


def require_belief_room(
    facts: Documents, agent_id: str, read: list[tuple[str, Document]], kind: str, most: int
) -> None:
    """Raise TooLarge unless an agent has room for the new documents of a kind."""
    new = {fact.id for each, fact in read if each == kind}
    if not new:
        return
    kept = {fact.id for fact in all_pages(facts, agent_id, kind)}
    if len(kept | new) > most:
        raise TooLarge(
            f"{len(kept)} of kind {kind} are stored, {len(new - kept)} more are in the archive; "
            f"the limit is {most}",
            field="archive",
            cure="remove unused ones here or from the archive",
        )
