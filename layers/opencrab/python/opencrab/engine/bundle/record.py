"""The record of an unfinished import: its agent, which nobody can see yet, and what has come."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.bundle.agent import BundledAgent
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound, Unavailable
from opencrab.domain.value import Identifier, Value
from opencrab.ports.documents import Documents

AGENT_IMPORT = "agent_import"
"""The kind of documents that record unfinished imports, owned by the installation."""

_TRIES = 8

BundleHash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class AgentImportState(StrEnum):
    """Whether an import still takes parts; each other state leads to its end only."""

    OPEN = "open"
    FINISHING = "finishing"
    UNDOING = "undoing"


class AgentImport(Value):
    """An import that has begun; its rows and files lie under `agent_id`, which is no agent yet.

    `bundle` is the hash of the bundle, by which a client finds the import that it goes on with.
    `parts` are the numbers of the parts that were taken in.
    """

    id: Identifier
    agent_id: Identifier
    owner: str
    bundle: BundleHash
    trusted: bool = False
    agent: BundledAgent
    parts: Annotated[tuple[int, ...], Field(max_length=4_000)] = ()
    state: AgentImportState = AgentImportState.OPEN
    begun_at: datetime


def find_agent_import(facts: Documents, import_id: str) -> Document:
    """Return the document of an import; raises NotFound."""
    found = facts.get(INSTALLATION_FACTS, AGENT_IMPORT, import_id)
    if found is None:
        raise NotFound(
            f"there is no import {import_id!r}",
            field="import_id",
            cure="it has ended: list the agents, or begin again",
        )
    return found


def agent_import_document(record: AgentImport) -> Document:
    """Return the first write of a record."""
    return new_fact(INSTALLATION_FACTS, AGENT_IMPORT, record.id, record)


def open_agent_import(facts: Documents, import_id: str) -> AgentImport:
    """Return an import that still takes parts; raises NotFound, and Conflict if it is ending."""
    record = find_agent_import(facts, import_id).read(AgentImport)
    require_open_agent_import(record)
    return record


def require_open_agent_import(record: AgentImport) -> None:
    """Raise Conflict for an import that is being finished or undone."""
    if record.state is not AgentImportState.OPEN:
        raise agent_import_ending_error(record)


def change_agent_import(
    facts: Documents, import_id: str, change: Callable[[AgentImport], AgentImport]
) -> AgentImport:
    """Change the record of an import, anew after a concurrent change; raises Unavailable."""
    for _ in range(_TRIES):
        stored = find_agent_import(facts, import_id)
        record = stored.read(AgentImport)
        changed = change(record)
        if changed == record:
            return record
        try:
            facts.commit(stored.with_body(changed))
        except Changed:
            continue
        return changed
    raise Unavailable(f"import {import_id!r} is busy", cure="try again")


def remove_agent_import(facts: Documents, import_id: str) -> None:
    """Remove the record of an import that has ended."""
    stored = find_agent_import(facts, import_id)
    facts.commit(stored.removed())


def agent_import_ending_error(record: AgentImport) -> Conflict:
    """Build the Conflict error for an import that is being finished or undone."""
    is_made = record.state is AgentImportState.FINISHING
    return Conflict(
        f"import {record.id!r} is {record.state.value}",
        cure="finish it again; retire the agent if it is not wanted"
        if is_made
        else "undo it again, then begin a new one",
    )
