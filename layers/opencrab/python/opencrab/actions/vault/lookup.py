"""A vault as its actions see it: notes found by any name, read within limits, written once."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from opencrab.actions.workspace.provenance import is_foreign_file, writes_clean_file
from opencrab.actions.workspace.read import decode_file_text
from opencrab.actions.workspace.write import WRITE_BYTES
from opencrab.domain.errors import Conflict, Invalid, NotFound, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.action import ActionResult, FileWritten
from opencrab.domain.workspace.note import Note, parse_note
from opencrab.domain.workspace.wikilink import (
    VAULT,
    NoteCard,
    NoteIndex,
    is_note_template,
    note_card,
    note_path,
)
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.workspace.files import ABSENT, FileInfo

SCAN_NOTES = 500
SCAN_BYTES = 16 * 1024 * 1024
"""The most that one call reads of a vault."""

_CANDIDATES = 10


@dataclass(frozen=True)
class StoredNote:
    """One note as it is stored."""

    info: FileInfo
    note: Note


@dataclass(frozen=True)
class Reading:
    """What the vault's notes say; `unread` counts those beyond the limits or without text."""

    stored: tuple[StoredNote, ...]
    cards: tuple[NoteCard, ...]
    unread: int

    @cached_property
    def index(self) -> NoteIndex:
        """What the names in the vault mean."""
        return NoteIndex(self.cards)

    def told(self) -> dict[str, int]:
        """What a result says of the notes that were left out."""
        return {"unread": self.unread} if self.unread else {}


def note_files(context: ActionContext) -> tuple[FileInfo, ...]:
    """Every note and template of the vault, by path."""
    found = context.reach.files.list(context.agent.id, VAULT)
    return tuple(info for info in found if info.path.casefold().endswith(".md"))


def read_all_notes(context: ActionContext, files: Iterable[FileInfo]) -> Reading:
    """The notes among these files, as many as the limits allow; of all others the path counts."""
    stored, cards, room = list[StoredNote](), list[NoteCard](), SCAN_BYTES
    notes = [info for info in files if not is_note_template(info.path)]
    for info in notes:
        room -= info.size
        if len(stored) < SCAN_NOTES and room >= 0:
            with suppress(Invalid, NotFound):
                stored.append(read_one_note(context, info.path))
                cards.append(note_card(info.path, stored[-1].note))
                continue
        cards.append(note_card(info.path, None))
    return Reading(tuple(stored), tuple(cards), len(notes) - len(stored))


def read_one_note(context: ActionContext, path: str) -> StoredNote:
    """One note; raises NotFound, and Invalid for what is no text."""
    info, content = context.reach.files.read(context.agent.id, path)
    return StoredNote(info, parse_note(decode_file_text(path, content)))


def find_note_path(context: ActionContext, name: str) -> str:
    """The note that a path, a file's name, a title or an alias means; raises NotFound, Invalid."""
    path = None
    with suppress(Invalid):
        path = note_path(name)
    if path is not None and context.reach.files.info(context.agent.id, path) is not None:
        return path
    files = note_files(context)
    found = NoteIndex(
        note_card(info.path, None) for info in files if not is_note_template(info.path)
    ).find(name) or read_all_notes(context, files).index.find(name)
    return the_one_note(name, found)


def the_one_note(name: str, found: tuple[str, ...]) -> str:
    """The only candidate; raises NotFound for none and Invalid naming them for several."""
    if not found:
        raise NotFound(f"there is no note {name!r}", cure="find it with search_notes")
    if len(found) > 1:
        shown = ", ".join(repr(path) for path in found[:_CANDIDATES])
        raise Invalid(f"{name!r} is ambiguous: {shown}", cure="use the path of one")
    return found[0]


def prepare_note_write(
    context: ActionContext, path: str, text: str, *, over: StoredNote | None, **more: Any
) -> dict[str, Any]:
    """The condition of a write: what is there, what is to be, and whether its words are clean."""
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
        "is_clean": over is None or not is_foreign_file(over.info),
        **more,
    }


def write_prepared_note(context: ActionContext, text_of: Callable[[], str]) -> FileInfo:
    """Write what was prepared, unless an earlier attempt has; raises Conflict for anything else.

    `text_of` makes the text again from what it was made of; it is not asked when it is there.
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
    clean = writes_clean_file(context, own_words=ready["is_clean"])
    return files.write(agent_id, path, content, condition=ready["condition"], clean=clean)


def note_write_result(info: FileInfo, **data: Any) -> ActionResult:
    """The result of a write."""
    written = FileWritten(path=info.path, sha256=info.sha256, size=info.size)
    return ActionResult.done(written, path=info.path, size=info.size, **data)


def note_front_matter_now(context: ActionContext) -> str:
    """Now, as front matter has it."""
    return context.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def append_note_lines(text: str, more: str) -> str:
    """More text on lines of its own below what there is."""
    above = text if not text or text.endswith("\n") else f"{text}\n"
    return f"{above}{more}" if not more or more.endswith("\n") else f"{above}{more}\n"
