"""Uploads: files that people send with a message, in the workspace of every agent that hears it.

Somebody else wrote them: a turn that is shown one is tainted, and so is one that lists its name.
Everybody in the session may hear of them, and nobody else but owners. A session keeps who uploaded
what, so that an erasure finds the files, also those that no message refers to.
"""

from dataclasses import dataclass

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import Principal
from opencrab.domain.conversation.attachment import (
    PICTURE_BYTES,
    TEXT_FILE_BYTES,
    UPLOADS,
    WORKSPACE,
    AttachedKind,
    AttachmentFault,
    judge_message_attachment,
    message_attachment_name,
)
from opencrab.domain.conversation.session import Session
from opencrab.domain.conversation.upload_record import UPLOADED, UploadRecord
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.domain.memory.clearance import memory_label_of_session_members
from opencrab.domain.workspace.path import (
    FILE_READERS,
    FileReaders,
    file_name_key,
    workspace_path,
)
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.cleared_files import foreign_name_mark_of_turn
from opencrab.ports.workspace.files import ABSENT, Files

ALLOWED = "PNG, JPEG, GIF and WebP pictures, and text in UTF-8"

_FAULTS = {
    AttachmentFault.EMPTY: "is empty",
    AttachmentFault.NO_PICTURE: "is named like a picture, but its content is none",
    AttachmentFault.IS_PICTURE: "is named like a text, but its content is a picture",
    AttachmentFault.NOT_TEXT: "is neither a picture nor text in UTF-8",
    AttachmentFault.TOO_LARGE: "is too large",
}


OTHERS_BYTES = 50_000_000
"""With more bytes in an agent's `uploads/`, only owners upload: the rest is for its own work."""


@dataclass(frozen=True)
class Upload:
    """A stored upload; `reference` names it in the parts of a message to its session."""

    reference: str
    name: str
    size: int
    kind: AttachedKind


def store_session_upload(
    runtime: Runtime, session: Session, upload_id: str, name: str, content: bytes, *, by: Principal
) -> Upload:
    """Store a principal's file for all agents of a session, once by its id.

    Raises Invalid for another kind of file, TooLarge beyond its limit, an agent's quota, or the
    part of it that is for people who are not owners.
    """
    kind = _require_attachable(name, content)
    stored = message_attachment_name(name)
    path = workspace_path(f"{UPLOADS}/{upload_id}/{stored}")
    readers = FileReaders(
        readers=memory_label_of_session_members(session.id), sha256=content_hash(content)
    )
    files, facts = runtime.home.files, runtime.home.facts
    if by.scope is not Scope.OWNER:
        for agent_id in session.agent_ids:
            _require_room(files, agent_id, path, len(content))
    uploaded = UploadRecord(
        path=path, agent_ids=session.agent_ids, principal_id=by.id, at=runtime.clock.now()
    )
    # Before the files, as a crash in between may leave a record without its file, not the reverse.
    facts.commit(new_fact(session.id, UPLOADED, upload_id, uploaded).replaced(version=0))
    for agent_id in session.agent_ids:
        label = Document(
            owner=agent_id,
            kind=FILE_READERS,
            id=file_name_key(path),
            version=0,
            body=readers.model_dump(),
        )
        facts.commit(foreign_name_mark_of_turn(agent_id, path), label)
        files.write(agent_id, path, content, condition=ABSENT)
    return Upload(WORKSPACE + path, stored, len(content), kind)


def _require_room(files: Files, agent_id: str, path: str, size: int) -> None:
    used = sum(each.size for each in files.list(agent_id, UPLOADS) if each.path != path)
    if used + size > OTHERS_BYTES:
        raise TooLarge(
            f"the files that people sent to agent {agent_id!r} have {used:,} of "
            f"{OTHERS_BYTES:,} bytes",
            field="body",
            cure=f"ask the owner to delete files in {UPLOADS}/ of its workspace",
        )


def _require_attachable(name: str, content: bytes) -> AttachedKind:
    found = judge_message_attachment(name, content)
    if isinstance(found, AttachedKind):
        return found
    error = TooLarge if found is AttachmentFault.TOO_LARGE else Invalid
    raise error(
        f"file {name!r} {_FAULTS[found]}",
        field="body",
        cure=f"send {ALLOWED}: pictures of at most {PICTURE_BYTES:,} bytes, "
        f"texts of at most {TEXT_FILE_BYTES:,}",
    )
