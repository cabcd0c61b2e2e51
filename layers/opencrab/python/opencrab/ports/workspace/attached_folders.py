"""Folders of the owner that serve as an agent's vault or workspace: where they are recorded."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class AttachedPlace(StrEnum):
    """The part of an agent's files that a folder of its owner takes."""

    VAULT = "vault"
    WORKSPACE = "workspace"


@dataclass(frozen=True)
class AttachedFolder:
    """A folder of the owner's computer that serves as a part of an agent's files."""

    agent_id: str
    place: AttachedPlace
    folder: str


class AttachedFolders(Protocol):
    """The attached folders of an installation on its owner's computer."""

    def all(self) -> tuple[AttachedFolder, ...]:
        """Return the attached folders of all agents, by agent and place."""

    def attach(self, wanted: AttachedFolder) -> AttachedFolder:
        """Attach a folder in place of what was there, and return it with its real path.

        Nothing in it is changed. Raises Invalid and Conflict, naming the folder, for one that
        cannot serve.
        """

    def detach(self, agent_id: str, place: AttachedPlace) -> None:
        """Let an agent have its own files again; the folder stays as it is."""
