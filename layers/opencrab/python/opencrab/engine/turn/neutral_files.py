"""Files whose errors do not tell a turn which files exist that it may not read."""

from dataclasses import dataclass

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.workspace.path import (
    file_name_taken_error,
    file_not_found_error,
    is_published_path,
    workspace_path,
    workspace_prefix,
)
from opencrab.ports.workspace.files import FileInfo, Files, FileVersion


@dataclass(frozen=True)
class NeutralFiles:
    """`ports.workspace.files.Files` for turns of narrower clearance.

    A store names the file or folder that is in the way of a path. Here such a path has no file, and
    cannot be written; a path that is invalid in itself is reported as ever.
    """

    files: Files

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        workspace_path(path)
        try:
            return self.files.info(agent_id, path)
        except Invalid:
            return None

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        workspace_path(path)
        try:
            return self.files.read(agent_id, path)
        except Invalid as error:
            if is_published_path(path) and isinstance(error, TooLarge):
                raise
            raise file_not_found_error(path) from error

    def write(
        self,
        agent_id: str,
        path: str,
        content: bytes,
        *,
        condition: str | None = None,
        clean: bool = False,
    ) -> FileInfo:
        workspace_path(path)
        try:
            return self.files.write(agent_id, path, content, condition=condition, clean=clean)
        except TooLarge:
            raise
        except Invalid as error:
            raise file_name_taken_error(path) from error

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        workspace_prefix(prefix)
        try:
            return self.files.list(agent_id, prefix)
        except Invalid:
            return ()

    def delete(self, agent_id: str, path: str, *, condition: str | None = None) -> None:
        workspace_path(path)
        try:
            self.files.delete(agent_id, path, condition=condition)
        except Invalid as error:
            raise file_not_found_error(path) from error

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        return self.files.versions(agent_id, path)

    def read_version(self, agent_id: str, path: str, version: str) -> bytes:
        return self.files.read_version(agent_id, path, version)

    def delete_versions(self, agent_id: str, path: str, version: str | None = None) -> int:
        return self.files.delete_versions(agent_id, path, version)
