"""Workspace files: per agent, by normalised path, with versions as conditions."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

ABSENT = "absent"
"""The condition of a write that must create the file."""

VERSIONS = 20
"""The most versions of one file that are told."""


@dataclass(frozen=True)
class FileInfo:
    """A file without its content; `sha256` is its identity, `version` only a condition.

    `clean` tells that a clean write made it what it is. A list may not know: False says nothing
    there. Whoever needs it asks for the file.
    """

    path: str
    size: int
    sha256: str
    version: str
    clean: bool = False


@dataclass(frozen=True)
class FileVersion:
    """What a file holds or once held, since `at`; `version` is the same as in its FileInfo."""

    version: str
    size: int
    at: datetime
    is_current: bool


class Files(Protocol):
    """One agent's files are invisible to every other agent."""

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        """What is stored under a path, or None."""

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        """A file and its content; raises NotFound."""

    def write(
        self,
        agent_id: str,
        path: str,
        content: bytes,
        *,
        condition: str | None = None,
        clean: bool = False,
    ) -> FileInfo:
        """Store a file whole or not at all.

        `condition` is the version it replaces or ABSENT; raises Conflict when it does not hold,
        unless the stored content already is this content. Raises TooLarge beyond the quota.

        `clean` is kept with the file until anything else is stored there. Content that is there
        already stays as clean as it is, whoever writes it again. A crash may lose the mark of a
        clean file, and never marks one that is not.
        """

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        """Files below a folder, by path."""

    def delete(self, agent_id: str, path: str, *, condition: str | None = None) -> None:
        """Remove a file; raises NotFound, and Conflict unless it still is the version given."""

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        """What is kept of a file, even of one that is gone: newest first, VERSIONS at most.

        How long older versions stay is the store's own matter; none is kept for good.
        """

    def read_version(self, agent_id: str, path: str, version: str) -> bytes:
        """The content of one version of a file; raises NotFound when it is not kept any more."""
