"""Knowledge seeds: what an agent is given to know at its birth in a world, read by code.

A seed is a file of its workspace, a memory of an agent here, or a web address. Each is read once
and becomes memories; what could not be read is said, and read when the agent is bound again.
"""

import logging
from collections.abc import Iterator

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid, NotFound, OpenCrabError, Refused
from opencrab.domain.identifier import content_hash
from opencrab.domain.memory.memory import MEMORY_CHARACTERS, Memory
from opencrab.domain.workspace.path import is_published_workspace_path, workspace_path
from opencrab.domain.world.standing import ReadSeed
from opencrab.engine.memory.curation import MemoryCurator, NewMemory
from opencrab.engine.memory.records import find_memory
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.binding import world_seed_sources_of_agent

log = logging.getLogger(__name__)

SEED_READ = "knowledge_seed"
"""The kind of documents that say which seeds an agent has read, by the hash of the seed."""

CATEGORY = "knowledge_summary"
_OWNER = "owner"
PARTS = 20
"""The most memories that are made of one seed; the rest of a longer one is not read."""


def read_knowledge_seeds_for_learning(runtime: Runtime, agent_id: str) -> tuple[ReadSeed, ...]:
    """Read the seed sources of a bound agent that were not read yet; safe to repeat."""
    sources = world_seed_sources_of_agent(runtime.home.facts, agent_id)
    return tuple(_read(runtime, agent_id, source) for source in sources)


def _read(runtime: Runtime, agent_id: str, source: str) -> ReadSeed:
    mark = content_hash(source.encode())
    stored = runtime.home.facts.get(agent_id, SEED_READ, mark)
    if stored is not None:
        return stored.read(ReadSeed)
    try:
        text, foreign = _text(runtime, agent_id, source)
        parts = list(_parts(text))
        if not parts:
            raise Invalid(f"{source!r} has no text")
        owner = runtime.home.agents.get(agent_id).agent.owner or _OWNER
        curator = MemoryCurator(runtime, agent_id, owner=owner, foreign=foreign)
        hearing = _hearing(source)
        found = ReadSeed(
            source=source, memories=sum(_add(curator, part, hearing) for part in parts)
        )
        runtime.home.facts.commit(new_fact(agent_id, SEED_READ, mark, found))
    except OpenCrabError as error:
        log.warning(
            "knowledge seed not read: agent=%s, seed=%s, error=%s", agent_id, mark[:16], error
        )
        return ReadSeed(source=source, problem=error.message)
    return found


def _hearing(source: str) -> Hearing:
    """Return who may hear of a seed: of a file only its owner and the agent, if not published."""
    kind, _, name = source.partition(":")
    is_private = kind == "file" and not is_published_workspace_path(workspace_path(name))
    return Hearing.PRIVATE if is_private else Hearing.PUBLIC


def _add(curator: MemoryCurator, part: str, hearing: Hearing) -> bool:
    """Add a part; return False for one that the agent knows, or that says nothing."""
    try:
        curator.add(NewMemory(content=part, category=CATEGORY, hearing=hearing))
    except Invalid:
        return False
    return True


def _text(runtime: Runtime, agent_id: str, source: str) -> tuple[str, bool]:
    """Return the text of a seed, and whether its words are foreign."""
    kind, _, name = source.partition(":")
    if kind == "file":
        _, content = runtime.home.files.read(agent_id, name)
        try:
            return content.decode(), False
        except UnicodeDecodeError as error:
            raise Invalid(f"{name!r} is no text file") from error
    if kind == "memory":
        return _memory_text(runtime, *name.split("/"))
    if runtime.web is None:
        raise Refused("web access is not configured: web.allow is empty")
    return runtime.web.fetch(source).text, True


def _memory_text(runtime: Runtime, agent_id: str, memory_id: str) -> tuple[str, bool]:
    """Return a memory that everybody may hear of; others would be told to a new listener."""
    runtime.home.agents.get(agent_id)
    fact = find_memory(runtime.home.facts, agent_id, memory_id)
    if fact is None:
        raise NotFound(f"agent {agent_id!r} has no memory {memory_id!r}")
    memory = fact.read(Memory)
    if memory.hearing is not Hearing.PUBLIC or memory.session_id:
        raise Refused(f"memory {memory_id!r} is not for everybody")
    return memory.content, memory.tainted


def _parts(text: str) -> Iterator[str]:
    """Yield the paragraphs of a text, joined up to the size of a memory; long ones are cut."""
    whole, count = "", 0
    for paragraph in (*(each.strip() for each in text.replace("\x00", "").split("\n\n")), ""):
        joined = f"{whole}\n\n{paragraph}" if whole and paragraph else whole or paragraph
        if paragraph and len(joined) <= MEMORY_CHARACTERS:
            whole = joined
            continue
        for start in range(0, len(whole), MEMORY_CHARACTERS):
            if count == PARTS:
                return
            count += 1
            yield whole[start : start + MEMORY_CHARACTERS]
        whole = paragraph
