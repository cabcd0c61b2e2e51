"""Imports of agents: begun, fed part by part, and finished or undone."""

from datetime import datetime
from typing import Annotated

from fastapi import Path, Response
from pydantic import Field

from opencrab.domain.bundle.agent import BundledAgent
from opencrab.domain.value import Identifier, Value
from opencrab.engine.bundle.importing import (
    AgentImportNote,
    begin_agent_import,
    finish_agent_import,
    list_agent_imports,
    prepare_agent_import,
)
from opencrab.engine.bundle.limits import BUNDLE_FILES, BUNDLE_PARTS
from opencrab.engine.bundle.record import AgentImport, AgentImportState, BundleHash
from opencrab.engine.bundle.undo import undo_agent_import
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/agent-imports", "bundle")

ImportId = Annotated[Identifier, Path(description="the import's id")]


class NewAgentImport(Value, defer_build=False):
    """The agent of a bundle, and whether its owner trusts the bundle.

    Without `trusted` all that is imported counts as untrusted, and its settings are the defaults.
    `bundle` is the SHA-256 of the whole file.
    """

    agent: BundledAgent
    bundle: BundleHash
    trusted: bool = False
    dry_run: bool = Field(default=False, description="only check it; nothing is written")


class AgentImportView(View):
    """An unfinished import; `agent_id` will be the agent's, `parts` are those that came.

    `notes` say which settings do not come along. In a dry run both ids are empty.
    """

    id: str
    agent_id: str
    bundle: str
    trusted: bool
    name: str
    state: AgentImportState
    parts: tuple[int, ...]
    notes: tuple[AgentImportNote, ...]
    begun_at: datetime


class AgentImportsView(Value):
    """The imports that have not ended."""

    items: tuple[AgentImportView, ...]


class AgentImportEnd(Value, defer_build=False):
    """What the import must have received."""

    parts: Annotated[int, Field(ge=0, le=BUNDLE_PARTS)]
    files: Annotated[int, Field(ge=0, le=BUNDLE_FILES)]


class ImportedAgentView(Value):
    """The agent that was imported."""

    id: str
    name: str


@router.get("")
def list_imports(api: Api, _caller: Owner) -> AgentImportsView:
    """List the imports that have not ended.

    Continue one with its missing parts, or undo it.
    """
    return AgentImportsView(items=tuple(_view(each) for each in list_agent_imports(api.runtime)))


@router.post("", status_code=201, response_model=AgentImportView)
def begin_import(
    api: Api, caller: Owner, body: Strict[NewAgentImport], once: Repeatable
) -> Response:
    """Begin the import of an agent.

    The agent exists once the import is finished. `dry_run` only checks its settings.
    """
    owner = caller.principal.id
    _, notes = prepare_agent_import(api.runtime, body.agent, trusted=body.trusted)

    def make() -> AgentImportView:
        if body.dry_run:
            record = AgentImport(
                id="-",
                agent_id="-",
                owner=owner,
                bundle=body.bundle,
                trusted=body.trusted,
                agent=body.agent,
                begun_at=api.runtime.clock.now(),
            )
            return _view(record, notes).replaced(id="", agent_id="")
        record = begin_agent_import(
            api.runtime,
            once.id_of("import"),
            body.agent,
            owner=owner,
            bundle=body.bundle,
            trusted=body.trusted,
        )
        return _view(record, notes)

    return once.answer(body, make, status=201)


@router.post("/{import_id}/finish", response_model=ImportedAgentView)
def finish_import(
    api: Api, _caller: Owner, import_id: ImportId, body: Strict[AgentImportEnd], once: Repeatable
) -> Response:
    """Finish an import: the agent is there.

    Refused with 409 while parts or files are missing.
    """

    def make() -> ImportedAgentView:
        made = finish_agent_import(api.runtime, import_id, parts=body.parts, files=body.files)
        return ImportedAgentView(id=made.agent.id, name=made.agent.name)

    return once.answer(body, make)


@router.delete("/{import_id}", status_code=204)
def undo_import(api: Api, _caller: Owner, import_id: ImportId) -> None:
    """Undo an import that has not ended.

    Everything that it wrote is removed.
    """
    undo_agent_import(api.runtime, import_id)


def _view(record: AgentImport, notes: tuple[AgentImportNote, ...] = ()) -> AgentImportView:
    return AgentImportView.of(record, name=record.agent.name, notes=notes)
