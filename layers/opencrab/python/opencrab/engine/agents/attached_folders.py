"""Folders of the owner's computer as the vault or the workspace of an agent."""

from opencrab.domain.errors import Conflict, Invalid
from opencrab.engine.runtime import Runtime
from opencrab.ports.workspace.attached_folders import (
    AttachedFolder,
    AttachedFolders,
    AttachedPlace,
)


def agent_attached_folders(runtime: Runtime, agent_id: str) -> tuple[AttachedFolder, ...]:
    """Return the folders that serve an agent; () for none, and on AWS."""
    runtime.home.agents.get(agent_id)
    known = runtime.home.folders
    return () if known is None else tuple(each for each in known.all() if each.agent_id == agent_id)


def attach_folder_to_agent(
    runtime: Runtime, agent_id: str, place: AttachedPlace, folder: str | None
) -> None:
    """Let a folder serve an agent, or its own files again (None).

    No file is moved, copied or changed. Folders of retired agents are free. Raises NotFound,
    Invalid on AWS and for a folder that cannot serve, and Conflict for one that serves already.
    """
    agent = runtime.home.agents.get(agent_id).agent
    known = _require_local(runtime.home.folders)
    if folder is None:
        known.detach(agent_id, place)
        return
    if not agent.answers:
        raise Conflict(f"agent {agent_id!r} has retired", cure="attach it to an active agent")
    for each in known.all():
        if each.agent_id != agent_id and not runtime.home.agents.get(each.agent_id).agent.answers:
            known.detach(each.agent_id, each.place)
    known.attach(AttachedFolder(agent_id, place, folder))


def _require_local(known: AttachedFolders | None) -> AttachedFolders:
    if known is None:
        raise Invalid(
            "this installation runs on AWS, where no folder of a computer can be attached",
            field="folder",
            cure="copy the files with `opencrab workspace put`, or use `opencrab up`",
        )
    return known
