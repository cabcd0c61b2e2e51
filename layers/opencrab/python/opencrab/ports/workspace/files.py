"""Workspace files: per agent, by normalised path, with versions as conditions."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

ABSENT = "absent"
"""The condition of a write that must create the file."""

VERSIONS = 20
"""The limit of versions of one file that are listed."""

DELETED_VERSIONS_KEPT = timedelta(days=30)
"""The default time for which the versions of a deleted file can be read."""


@dataclass(frozen=True)
class FileInfo:
    """A file without its content; `sha256` is its identity, `version` only a precondition.

    `clean` says that an untainted write stored the present content. `modified_at` is when it was
    changed last, None where only a list tells it.
    """

    path: str
    size: int
    sha256: str
    version: str
    clean: bool = False
    modified_at: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True)
class FileVersion:
    """The content of a file since `at`; `version` is the same as in its FileInfo."""

    version: str
    size: int
    at: datetime
    is_current: bool


class Files(Protocol):
    """A store of workspace files; an agent's files are invisible to every other agent."""

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        """Return the file under a path, or None."""

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        """Return a file and its content; raises NotFound."""

    def write(
        self,
        agent_id: str,
        path: str,
        content: bytes,
        *,
        condition: str | None = None,
        clean: bool = False,
    ) -> FileInfo:
        """Store a file, all or nothing.

        `condition` is the version that it replaces or ABSENT; raises Conflict if it does not hold,
        unless the stored content already is this content. Raises TooLarge beyond the quota. `clean`
        is stored with the file until other content replaces it. A repeated write of the same
        content does not change whether it is clean. A crash may lose the mark of a clean file, and
        never marks one that is not.
        """

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        """Return the files below a folder, by path."""

    def has_files(self, agent_id: str, prefix: str) -> bool:
        """Check whether a file is below a folder; False for a file or what is not there.

        It is quicker than a list, and may be ten minutes late about what other processes did.
        """

    def delete(self, agent_id: str, path: str, *, condition: str | None = None) -> None:
        """Remove a file; raises NotFound, and Conflict unless it still has the given version."""

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        """Return the stored versions of a file, even of a deleted one, newest first.

        At most VERSIONS are returned. The store limits the older versions of an existing file. All
        versions of a deleted file end some time after its deletion, which the store is opened with.
        """

    def read_version(self, agent_id: str, path: str, version: str) -> bytes:
        """Return the content of one version of a file; raises NotFound if it is not stored."""

    def delete_versions(self, agent_id: str, path: str, version: str | None = None) -> int:
        """Permanently delete the older versions of a file, or only one; return their number.

        The current content stays; of a deleted file nothing does. May be repeated. Raises NotFound
        if the given version is not stored, and Conflict if it is the current one.
        """
