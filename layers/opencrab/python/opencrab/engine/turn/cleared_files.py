"""Files as a turn may read them: where others hear the answer, only those that they may know."""

from collections.abc import Iterable
from dataclasses import replace

from opencrab.domain.document import Document
from opencrab.domain.errors import Invalid, Refused, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.domain.memory.clearance import Clearance
from opencrab.domain.turn.action import FileWritten, SideEffect
from opencrab.domain.workspace.path import (
    FILE_READERS,
    FOREIGN_NAME,
    FileReaders,
    NamedFile,
    file_name_key,
    file_name_taken_error,
    file_not_found_error,
    is_published_workspace_path,
    workspace_file_version_gone_error,
    workspace_folder_path,
    workspace_path,
)
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages
from opencrab.ports.turn.action import ActionReach
from opencrab.ports.workspace.files import FileInfo, Files, FileVersion


class ClearedFiles:
    """`ports.workspace.files.Files` for one turn; a file that it may not read does not exist.

    A turn of narrower clearance reads what is published and what was written in a turn with the
    same audience or a wider one. The label of such a file holds for its content: once somebody else
    writes the file, only owners and the agent itself read it. `repeats` says that a call runs again
    after a crash: then the content that it writes may be there already, without its label.

    What a tainted turn calls a file is marked before the file is written, so that no crash and no
    stop leaves a name without its mark; with `names` False somebody else made the names.
    """

    def __init__(
        self,
        files: Files,
        facts: Documents,
        clearance: Clearance,
        *,
        tainted: bool,
        repeats: bool = False,
        names: bool = True,
    ) -> None:
        self._files = files
        self._facts = facts
        self._clearance = clearance
        self._tainted = tainted
        self._repeats = repeats
        self._marks_names = tainted and names

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        found = self._files.info(agent_id, path)
        return found if found is not None and self._reads(agent_id, found) else None

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        found, content = self._files.read(agent_id, path)
        if not self._reads(agent_id, found):
            raise file_not_found_error(path)
        return found, content

    def write(
        self,
        agent_id: str,
        path: str,
        content: bytes,
        *,
        condition: str | None = None,
        clean: bool = False,
    ) -> FileInfo:
        self._refuse_published(
            path,
            f"file {path!r} would be published",
            "write it elsewhere; your owner can publish it",
        )
        stored = None if self._clearance.whole else self._files.info(agent_id, path)
        # Only a call that ran before: any other would learn by success that it guessed a file.
        if stored is not None and not self._reads(agent_id, stored):
            if self._repeats and stored.sha256 == content_hash(content):
                return self._files.write(agent_id, path, content, condition=condition, clean=clean)
            raise file_name_taken_error(path)
        if self._marks_names:
            self._facts.commit(foreign_name_mark_of_turn(agent_id, workspace_path(path)))
        return self._files.write(agent_id, path, content, condition=condition, clean=clean)

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        found = self._files.list(agent_id, prefix)
        if self._clearance.whole or not found:
            return found
        kept = {fact.id: fact for fact in all_pages(self._facts, agent_id, FILE_READERS)}
        return tuple(
            each
            for each in found
            if is_published_workspace_path(each.path)
            or self._allows(kept.get(file_name_key(each.path)), each.sha256)
        )

    def has_files(self, agent_id: str, prefix: str) -> bool:
        if self._clearance.whole:
            return self._files.has_files(agent_id, prefix)
        return bool(self.list(agent_id, prefix))

    def delete(self, agent_id: str, path: str, *, condition: str | None = None) -> None:
        self._refuse_published(
            path, f"file {path!r} is published", "keep it; your owner can delete it"
        )
        if not self._clearance.whole and self.info(agent_id, path) is None:
            raise file_not_found_error(path)
        self._files.delete(agent_id, path, condition=condition)

    def versions(self, agent_id: str, path: str) -> tuple[FileVersion, ...]:
        return self._files.versions(agent_id, path) if self._clearance.whole else ()

    def read_version(self, agent_id: str, path: str, version: str) -> bytes:
        if not self._clearance.whole:
            raise workspace_file_version_gone_error(path, version)
        return self._files.read_version(agent_id, path, version)

    def delete_versions(self, agent_id: str, path: str, version: str | None = None) -> int:
        if not self._clearance.whole:
            raise file_not_found_error(path)
        return self._files.delete_versions(agent_id, path, version)

    def _refuse_published(self, path: str, fact: str, cure: str) -> None:
        """Raise Refused for what everybody may read unless this turn may change it."""
        if is_published_workspace_path(path) and (self._tainted or not self._clearance.whole):
            raise Refused(
                f"{fact}, and this turn has read untrusted text or serves others",
                field="path",
                cure=cure,
            )

    def _reads(self, agent_id: str, found: FileInfo) -> bool:
        if self._clearance.whole or is_published_workspace_path(found.path):
            return True
        fact = self._facts.get(agent_id, FILE_READERS, file_name_key(found.path))
        return self._allows(fact, found.sha256)

    def _allows(self, fact: Document | None, sha256: str) -> bool:
        """Check a file's label, which must be that of its content."""
        if fact is None:
            return False
        label = fact.read(FileReaders)
        return self._clearance.reads(label.readers) and sha256 == label.sha256


def foreign_name_mark_of_turn(agent_id: str, path: str) -> Document:
    """Return the document that marks a file's name as untrusted; store it before the file."""
    return Document(
        owner=agent_id,
        kind=FOREIGN_NAME,
        id=file_name_key(path),
        version=0,
        body=NamedFile(path=path).model_dump(),
    )


class HiddenFiles:
    """`ports.workspace.files.Files` for turns of narrower clearance, whose errors name no file.

    A store names the file or folder that is in the way of a path. Here such a path has no file, and
    cannot be written; a path that is invalid in itself is reported as ever.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self.versions = files.versions
        self.read_version = files.read_version
        self.delete_versions = files.delete_versions

    def info(self, agent_id: str, path: str) -> FileInfo | None:
        try:
            return self._files.info(agent_id, path)
        except Invalid:
            workspace_path(path)
            return None

    def read(self, agent_id: str, path: str) -> tuple[FileInfo, bytes]:
        try:
            return self._files.read(agent_id, path)
        except Invalid as error:
            if is_published_workspace_path(path) and isinstance(error, TooLarge):
                raise
            raise file_not_found_error(workspace_path(path)) from error

    def write(
        self,
        agent_id: str,
        path: str,
        content: bytes,
        *,
        condition: str | None = None,
        clean: bool = False,
    ) -> FileInfo:
        try:
            return self._files.write(agent_id, path, content, condition=condition, clean=clean)
        except TooLarge:
            raise
        except Invalid as error:
            raise file_name_taken_error(workspace_path(path)) from error

    def list(self, agent_id: str, prefix: str = "") -> tuple[FileInfo, ...]:
        try:
            return self._files.list(agent_id, prefix)
        except Invalid:
            workspace_folder_path(prefix)
            return ()

    def has_files(self, agent_id: str, prefix: str) -> bool:
        return bool(self.list(agent_id, prefix))

    def delete(self, agent_id: str, path: str, *, condition: str | None = None) -> None:
        try:
            self._files.delete(agent_id, path, condition=condition)
        except Invalid as error:
            raise file_not_found_error(workspace_path(path)) from error


def turn_file_labels(work: TurnWork, effects: Iterable[SideEffect]) -> tuple[Document, ...]:
    """Return a document for each file that a turn of narrower clearance wrote: its label."""
    if work.clearance.whole:
        return ()
    written = {effect.path: effect for effect in effects if isinstance(effect, FileWritten)}
    return tuple(
        Document(
            owner=work.turn.agent_id,
            kind=FILE_READERS,
            id=file_name_key(path),
            version=0,
            body=FileReaders(readers=work.clearance.label, sha256=effect.sha256).model_dump(),
        )
        for path, effect in written.items()
    )


def files_a_turn_may_use(work: TurnWork, *, repeats: bool = False, names: bool = True) -> Files:
    """Return the workspace files as a turn may read and write them; see `ClearedFiles`.

    `names` is False if the engine names them, and not the turn.
    """
    home, clearance, taint = work.runtime.home, work.clearance, work.turn.taint
    if clearance.whole and not taint:
        return home.files
    files = home.files if clearance.whole else HiddenFiles(home.files)
    return ClearedFiles(files, home.facts, clearance, tainted=taint, repeats=repeats, names=names)


def turn_action_reach(work: TurnWork, *, repeats: bool = False) -> ActionReach:
    """Return what actions of a turn may use, with its files as the turn may read them."""
    reach, files = work.runtime.reach, files_a_turn_may_use(work, repeats=repeats)
    return reach if files is reach.files else replace(reach, files=files)
