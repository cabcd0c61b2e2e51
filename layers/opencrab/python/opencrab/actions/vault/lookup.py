"""Finding, reading within limits, and writing the notes of a vault for its actions."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from opencrab.actions.workspace.provenance import (
    is_foreign_workspace_file,
    writes_untainted_workspace_file,
)
from opencrab.actions.workspace.read import decode_file_text
from opencrab.actions.workspace.write import WRITE_BYTES
from opencrab.domain.agents.heartbeat import agent_time_in_zone
from opencrab.domain.errors import Conflict, Invalid, NotFound, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.action import ActionResult, FileWritten
from opencrab.domain.vault.note import Note, parse_vault_note
from opencrab.domain.vault.wikilink import (
    VAULT,
    NoteCard,
    NoteIndex,
    is_note_template,
    vault_note_card,
    vault_note_path,
)
from opencrab.ports.turn.action import ActionContext, TargetsOf
from opencrab.ports.workspace.files import ABSENT, FileInfo

SCAN_NOTES = 500
SCAN_BYTES = 16 * 1024 * 1024
"""Most bytes that one call reads from a vault."""

_CANDIDATES = 10


@dataclass(frozen=True)
class StoredNote:
    """A parsed note with the metadata of its file."""

    info: FileInfo
    note: Note


@dataclass(frozen=True)
class Reading:
    """The notes of a vault; `unread` counts those beyond the limits or not valid text."""

    stored: tuple[StoredNote, ...]
    cards: tuple[NoteCard, ...]
    unread: int

    @cached_property
    def index(self) -> NoteIndex:
        """The notes of the vault by path, file name, title and alias."""
        return NoteIndex(self.cards)

    def omission_counts(self) -> dict[str, int]:
        """Return the number of unread notes as a field of a result, or nothing if it is 0."""
        return {"unread": self.unread} if self.unread else {}


def vault_note_files(context: ActionContext) -> tuple[FileInfo, ...]:
    """Return all notes and templates of the vault, by path."""
    found = context.reach.files.list(context.agent.id, VAULT)
    return tuple(info for info in found if info.path.casefold().endswith(".md"))


def read_vault_notes(context: ActionContext, files: Iterable[FileInfo]) -> Reading:
    """Read the notes among these files up to the limits; the others are indexed by path only."""
    stored, cards, room = list[StoredNote](), list[NoteCard](), SCAN_BYTES
    notes = [info for info in files if not is_note_template(info.path)]
    for info in notes:
        room -= info.size
        if len(stored) < SCAN_NOTES and room >= 0:
            with suppress(Invalid, NotFound):
                stored.append(read_one_vault_note(context, info.path))
                cards.append(vault_note_card(info.path, stored[-1].note))
                continue
        cards.append(vault_note_card(info.path, None))
    return Reading(tuple(stored), tuple(cards), len(notes) - len(stored))


def read_one_vault_note(context: ActionContext, path: str) -> StoredNote:
    """Read one note; raises NotFound, and Invalid if it is not UTF-8 text."""
    info, content = context.reach.files.read(context.agent.id, path)
    return StoredNote(info, parse_vault_note(decode_file_text(path, content)))


def find_vault_note_path(context: ActionContext, name: str) -> str:
    """Return the path of the note with this path, file name, title or alias.

    Raises NotFound, and Invalid if the name is ambiguous.
    """
    path = None
    with suppress(Invalid):
        path = vault_note_path(name)
    if path is not None and context.reach.files.info(context.agent.id, path) is not None:
        return path
    files = vault_note_files(context)
    found = NoteIndex(
        vault_note_card(info.path, None) for info in files if not is_note_template(info.path)
    ).find(name) or read_vault_notes(context, files).index.find(name)
    return _the_one_note(name, found)


def vault_action_targets(
    resolve: TargetsOf, arguments: Any, context: ActionContext
) -> tuple[str, ...]:
    """Return the paths that were ruled on for a call; resolve them now where nobody ruled."""
    return resolve(arguments, context) if context.targets is None else context.targets


def _the_one_note(name: str, found: tuple[str, ...]) -> str:
    """Return the only candidate; raises NotFound for none, Invalid naming them for several."""
    if not found:
        raise NotFound(f"there is no note {name!r}", cure="find it with search_notes")
    if len(found) > 1:
        shown = ", ".join(repr(path) for path in found[:_CANDIDATES])
        raise Invalid(f"{name!r} is ambiguous: {shown}", cure="use the path of one")
    return found[0]


def prepare_note_write(
    context: ActionContext, path: str, text: str, *, over: StoredNote | None, **more: Any
) -> dict[str, Any]:
    """Return the condition of a write: path, version to replace, hash, and taint.

    Raises TooLarge for more than WRITE_BYTES bytes.
    """
    content = text.encode()
    if len(content) > WRITE_BYTES:
        raise TooLarge(
            f"note {path!r} would have {len(content)} bytes, at most {WRITE_BYTES} are allowed",
            field="content",
            cure="split it into several notes",
        )
    return {
        "path": path,
        "condition": over.info.version if over else ABSENT,
        "sha256": content_hash(content),
        "is_clean": over is None or not is_foreign_workspace_file(over.info),
        **more,
    }


def write_prepared_note(context: ActionContext, text_of: Callable[[], str]) -> FileInfo:
    """Write a prepared note, once however often it is retried.

    `text_of` makes the same text again; it is not called if the file has it already. Raises
    Conflict if the note was changed meanwhile.
    """
    ready, files, agent_id = context.prepared, context.reach.files, context.agent.id
    path = ready["path"]
    stored = files.info(agent_id, path)
    if stored is not None and stored.sha256 == ready["sha256"]:
        if stored.version == ready["condition"]:
            return stored
        _, content = files.read(agent_id, path)
    else:
        try:
            content = text_of().encode()
        except NotFound:
            content = b""
    if content_hash(content) != ready["sha256"]:
        raise Conflict(
            f"note {path!r} was changed concurrently and was not written",
            cure="read it again, then decide what to write",
        )
    clean = writes_untainted_workspace_file(context, own_words=ready["is_clean"])
    return files.write(agent_id, path, content, condition=ready["condition"], clean=clean)


def vault_note_write_result(info: FileInfo, **data: Any) -> ActionResult:
    """Return the result of a write, with the written file as a side effect."""
    written = FileWritten(path=info.path, sha256=info.sha256, size=info.size)
    return ActionResult.ok(written, path=info.path, size=info.size, **data)


def vault_front_matter_time(context: ActionContext) -> str:
    """Return the current time in UTC in the format of front matter."""
    return context.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def vault_note_modified(context: ActionContext, info: FileInfo) -> dict[str, str]:
    """Return when a note's file was changed, where its agent lives, as a field of a result."""
    at = info.modified_at
    return {} if at is None else {"modified": agent_time_in_zone(at, context.time_zone)}


def append_vault_note_lines(text: str, more: str) -> str:
    """Append text on lines of its own; the result ends with a line break."""
    above = text if not text or text.endswith("\n") else f"{text}\n"
    return f"{above}{more}" if not more or more.endswith("\n") else f"{above}{more}\n"
