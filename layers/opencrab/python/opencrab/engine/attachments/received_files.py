"""Received files: what people attach on a service, fetched and stored as uploads of who sent it.

Links end after some hours, so files are fetched before their message is admitted. What became of
each is kept first: the same message again means the same, whatever the service answers then. A file
that is not taken is named in the message with the reason, so that the agent can say so.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from opencrab.domain.access.authority import Authority
from opencrab.domain.access.principal import Principal
from opencrab.domain.conversation.attachment import (
    PICTURE_BYTES,
    UPLOADS,
    WORKSPACE,
    AttachmentFault,
    judge_message_attachment,
    message_attachment_name,
)
from opencrab.domain.conversation.message import FilePart, ImagePart, Part, TextPart
from opencrab.domain.conversation.sent_file import FILES, SentFile
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.document import new_fact
from opencrab.domain.errors import (
    Changed,
    Conflict,
    Invalid,
    NotFound,
    OpenCrabError,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import MESSAGE_BYTES, Language, Value
from opencrab.domain.workspace.path import workspace_path
from opencrab.engine.conversation.uploads import store_session_upload
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.file_source import FileSource
from opencrab.ports.texts import Texts

log = logging.getLogger(__name__)

SECONDS = 10.0
"""The time for all files of one message: a REST request on AWS has 20 seconds."""

KEPT = timedelta(days=2)
"""The time in which the same message may come again."""

_CUT = " […]"
_TRIES = 2
_TRUSTED = {Authority.OWNER, Authority.USER}
_TEXTS = Texts(__file__)


class FileOutcome(StrEnum):
    """What became of a file: it was stored as a picture or as a text, or why not."""

    IMAGE = "image"
    FILE = "file"
    STRANGER = "stranger"
    UNFETCHED = "unfetched"
    ELSEWHERE = "elsewhere"
    FORBIDDEN = "forbidden"
    GONE = "gone"
    UNREACHABLE = "unreachable"
    TOO_LARGE = "too_large"
    EMPTY = "empty"
    NOT_TEXT = "not_text"
    NO_PICTURE = "no_picture"
    IS_PICTURE = "is_picture"
    FULL = "full"
    NOT_STORED = "not_stored"
    TOO_MANY = "too_many"


class FilesFetched(Value):
    """What became of a message's files, in their order; it names neither files nor people."""

    outcomes: tuple[FileOutcome, ...]


@dataclass(frozen=True)
class MessageFiles:
    """The files of one message of a service, which is sent with `authority`.

    `source` is where they are fetched, and `owner` whose uploads they are, by the session. With
    `is_quoted` who sent the message did not write and name them.
    """

    service: str
    message_id: str
    files: tuple[SentFile, ...]
    authority: Authority
    source: FileSource | None
    owner: Callable[[Session], Principal]
    is_quoted: bool = False

    @property
    def kind(self) -> str:
        """The kind of the documents that say what became of files; a session owns them."""
        return f"{self.service}_files"


@dataclass(frozen=True)
class _Batch:
    """The files of one message to one session, and until when they are fetched."""

    runtime: Runtime
    session: Session
    sent: MessageFiles
    deadline: datetime

    def upload(self, place: int) -> tuple[str, str]:
        """Return the id and the name of a file's upload, the same whenever the message comes."""
        sent, name = self.sent, _storable_name(self.sent.files[place].name)
        source = f"{sent.service}-file"
        return stable_id(source, self.session.id, sent.message_id, str(place)), name

    def reference(self, place: int) -> str:
        """Return how a message refers to a stored file."""
        upload_id, name = self.upload(place)
        return WORKSPACE + workspace_path(f"{UPLOADS}/{upload_id}/{message_attachment_name(name)}")


def parts_of_message_with_files(
    runtime: Runtime, session: Session, agent_id: str, text: str, sent: MessageFiles
) -> tuple[Part, ...]:
    """Return the parts of a message: its text, and its files, fetched once.

    A file that is not taken is named below the text, with the reason, in the agent's language.
    Raises Conflict if the session ended before, or if the message came with other files, as when
    some were taken away since; Unavailable of the stores.
    """
    language = Language(runtime.home.agents.get(agent_id).agent.language)
    batch = _Batch(runtime, session, sent, runtime.clock.now() + timedelta(seconds=SECONDS))
    parts, notes = list[Part](), list[str]()
    outcomes = _outcomes(batch)
    if len(outcomes) != len(sent.files):
        raise Conflict(
            f"message {sent.message_id!r} came with {len(outcomes)} files before, "
            f"now {len(sent.files)}",
            cure="send a new message",
        )
    for place, outcome in enumerate(outcomes):
        if outcome is FileOutcome.IMAGE:
            parts.append(ImagePart(reference=batch.reference(place)))
        elif outcome is FileOutcome.FILE:
            parts.append(FilePart(reference=batch.reference(place)))
        else:
            notes.append(_note(sent, place, outcome, language))
    said = _text_of_message(text, notes, parts)
    return (TextPart(text=said), *parts) if said else tuple(parts)


def _text_of_message(text: str, notes: list[str], parts: list[Part]) -> str:
    """Return the text with the notes below, cut to what a message has room for beside its parts."""
    room = MESSAGE_BYTES - sum(len(f"\n{each}".encode()) for each in parts)
    below = _cut_to_bytes("\n".join(notes), room // 2)
    above = _cut_to_bytes(text, room - len(f"\n{below}".encode()))
    return "\n".join(filter(str.strip, (above, below)))


def _cut_to_bytes(text: str, most: int) -> str:
    """Return a text of at most so many bytes; one that is cut says so."""
    encoded = text.encode()
    if len(encoded) <= most:
        return text
    return encoded[: most - len(_CUT.encode())].decode(errors="ignore") + _CUT


def _outcomes(batch: _Batch) -> tuple[FileOutcome, ...]:
    """Return what became of each file, as stored when the message came first."""
    facts, session, sent = batch.runtime.home.facts, batch.session, batch.sent
    earlier = facts.get(session.id, sent.kind, sent.message_id)
    if earlier is not None:
        return earlier.read(FilesFetched).outcomes
    if session.status is SessionStatus.ENDED:
        raise Conflict(f"session {session.id!r} has ended", cure="start a new session")
    outcomes = tuple(_take(batch, place, file) for place, file in enumerate(sent.files))
    until = batch.runtime.clock.now() + KEPT
    fetched = FilesFetched(outcomes=outcomes)
    try:
        facts.commit(new_fact(session.id, sent.kind, sent.message_id, fetched, expires_at=until))
    except Changed:
        stored = facts.get(session.id, sent.kind, sent.message_id)
        return outcomes if stored is None else stored.read(FilesFetched).outcomes
    return outcomes


def _take(batch: _Batch, place: int, file: SentFile) -> FileOutcome:
    """Fetch and store one file; raises Unavailable of the stores."""
    if batch.sent.authority not in _TRUSTED:
        # Of them a turn opens no file, and whoever passes by must not fill a workspace.
        return FileOutcome.STRANGER
    if place >= FILES:
        return FileOutcome.TOO_MANY
    content = _fetch(batch, file)
    if isinstance(content, FileOutcome):
        return content
    found = judge_message_attachment(file.name, content)
    if isinstance(found, AttachmentFault):
        return FileOutcome(found.value)
    return _store(batch, place, content) or FileOutcome(found.kind)


def _store(batch: _Batch, place: int, content: bytes) -> FileOutcome | None:
    """Store a file; return why not if it cannot be stored."""
    session, by = batch.session, batch.sent.owner(batch.session)
    try:
        store_session_upload(batch.runtime, session, *batch.upload(place), content, by=by)
    except TooLarge:
        return FileOutcome.FULL
    except (Invalid, Conflict) as error:
        log.warning("attachment not stored: session=%s, error=%s", session.id, error.message)
        return FileOutcome.NOT_STORED
    return None


def _fetch(batch: _Batch, file: SentFile) -> bytes | FileOutcome:
    """Fetch a file within the time that the message's files have left."""
    source = batch.sent.source
    if source is None or not file.url:
        return FileOutcome.UNFETCHED
    if file.size > PICTURE_BYTES:
        return FileOutcome.TOO_LARGE
    for _ in range(_TRIES):
        left = (batch.deadline - batch.runtime.clock.now()).total_seconds()
        if left <= 0:
            break
        try:
            return source.fetch(file.url, most=PICTURE_BYTES, seconds=left)
        except OpenCrabError as error:
            about = batch.sent.message_id, error.message
            log.warning("attachment not fetched: message=%s, error=%s", *about)
            if not isinstance(error, Unavailable):
                return _fault(error)
    return FileOutcome.UNREACHABLE


def _fault(error: OpenCrabError) -> FileOutcome:
    match error:
        case TooLarge():
            return FileOutcome.TOO_LARGE
        case NotFound():
            return FileOutcome.GONE
        case Unauthenticated():
            return FileOutcome.FORBIDDEN
        case Refused() | Invalid(field="url"):
            return FileOutcome.ELSEWHERE
    return FileOutcome.UNREACHABLE


def _storable_name(name: str) -> str:
    """Return the file's name, or a shorter or plain one if no file may be called so."""
    stem, dot, ending = name.rpartition(".")
    for each in (name, f"{stem[:40]}{dot}{ending}", f"file{dot}{ending}"):
        with suppress(Invalid):
            workspace_path(f"{UPLOADS}/x/{message_attachment_name(each)}")
            return each
    return "file"


def _note(sent: MessageFiles, place: int, outcome: FileOutcome, language: Language) -> str:
    """Name a file that was not taken; in a quotation if another person chose its name."""
    own = f"{outcome}_{sent.service}"
    service = _TEXTS[f"service_{sent.service}"][language]
    why = _TEXTS[own if own in _TEXTS else outcome][language].format(
        service=service, kind=sent.service
    )
    note = _TEXTS["note"][language].format(name=sent.files[place].name, why=why)
    return f"> {note}" if sent.is_quoted else note
