"""Attached folders: folders of the owner's computer as an agent's vault or workspace."""

from typing import Annotated

from fastapi import Path
from pydantic import Field

from opencrab.domain.value import Value
from opencrab.engine.agents.attached_folders import agent_attached_folders, attach_folder_to_agent
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.view import View
from opencrab.ports.workspace.attached_folders import AttachedPlace

router = http_routes_below("/api/agents/{agent_id}/folders", "workspace")

Place = Annotated[AttachedPlace, Path(description="the part of its files: vault or workspace")]


class FolderPut(Value, defer_build=False):
    """The folder to attach."""

    folder: Annotated[str, Field(min_length=1, max_length=4_096)] | None = Field(
        description="its whole path on the computer of the installation; null detaches"
    )


class AttachedFolderView(View):
    """A folder of the owner's computer that serves as a part of an agent's files."""

    place: AttachedPlace
    folder: str


class AttachedFoldersView(Value):
    """The folders that serve one agent."""

    items: tuple[AttachedFolderView, ...]


@router.get("", operation_id="list_attached_folders")
def list_folders_attached_to_workspace(
    api: Api, _caller: Owner, agent_id: Id
) -> AttachedFoldersView:
    """List the folders of the computer that serve an agent.

    On AWS there are none.
    """
    return _view(api.runtime, agent_id)


@router.put("/{place}")
def put_attached_folder(
    api: Api, _caller: Owner, agent_id: Id, place: Place, body: Strict[FolderPut]
) -> AttachedFoldersView:
    """Attach a folder of the computer as an agent's vault or workspace.

    Its files stay where they are, and nothing is copied. On AWS the answer is 422.
    """
    attach_folder_to_agent(api.runtime, agent_id, place, body.folder)
    return _view(api.runtime, agent_id)


def _view(runtime: Runtime, agent_id: str) -> AttachedFoldersView:
    found = agent_attached_folders(runtime, agent_id)
    return AttachedFoldersView(items=tuple(map(AttachedFolderView.of, found)))
