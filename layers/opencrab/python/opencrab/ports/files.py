"""Workspace files: per agent, by normalised path, with versions as conditions."""

from dataclasses import dataclass
from typing import Protocol

ABSENT = "absent"
"""The condition of a write that must create the file."""


@dataclass(frozen=True)
class FileInfo:
    """A file without its content; `sha256` is its identity, `version` only a condition."""

    path: str
    size: int
    sha256: str
    version: str


class Files(Protocol):
    """One agent's files are invisible to every other agent."""

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        """What is stored under a path, or None."""

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        """A file and its content; raises NotFound."""

    def write(
        self, agent_id: str, path: str, content: bytes, *, condition: str | None = None
    ) -> FileInfo:
        """Store a file whole or not at all.

        `condition` is the version it replaces or ABSENT; raises Conflict when it does not hold,
        unless the stored content already is this content. Raises TooLarge beyond the quota.
        """

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        """Files below a folder, by path."""

    def delete(self, agent_id: str, path: str) -> None:
        """Remove a file; raises NotFound."""
