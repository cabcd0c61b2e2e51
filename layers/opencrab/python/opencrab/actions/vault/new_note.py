"""A new note beside those that are there: no link of theirs may come to mean it."""

from opencrab.actions.vault.lookup import read_vault_notes, vault_note_files
from opencrab.domain.errors import Conflict
from opencrab.domain.vault.note import parse_vault_note
from opencrab.domain.vault.wikilink import (
    NoteIndex,
    is_note_template,
    vault_note_card,
    wikilinks_in_vault_note,
)
from opencrab.ports.turn.action import ActionContext, one_line


def require_links_keep_their_notes(context: ActionContext, path: str, text: str) -> None:
    """Raise Conflict if a link that leads to one note would lead elsewhere once this one exists.

    Links that lead nowhere may find it.
    """
    if is_note_template(path):
        return
    reading = read_vault_notes(context, vault_note_files(context))
    card = vault_note_card(path, parse_vault_note(text))
    before, after = reading.index, NoteIndex([*reading.cards, card])
    for stored in reading.stored:
        for link in wikilinks_in_vault_note(stored.note.body):
            meant = before.follow(link)
            if len(meant) == 1 and after.follow(link) != meant:
                raise Conflict(
                    f"{stored.info.path!r} links to {meant[0]!r} as [[{one_line(link.target)}]], "
                    "which would no longer be clear beside a new note of this name",
                    field="title",
                    cure="choose another title, such as one with the folder in it, or change "
                    f"{meant[0]!r}; ask if you do not know which is meant",
                )
