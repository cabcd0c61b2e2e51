"""Changing the vault: updating notes, adding links, renaming notes.

Every change is keyed: the version it is based on is stored before it begins, and the same text is
made from it again after a crash. A renamed note is written before the old one is deleted, and keeps
the old name as an alias.
"""

from typing import Any

from pydantic import Field

from opencrab.actions.vault.create import group
from opencrab.actions.vault.lookup import (
    Reading,
    StoredNote,
    append_vault_note_lines,
    find_vault_note_path,
    prepare_note_write,
    read_one_vault_note,
    read_vault_notes,
    vault_action_targets,
    vault_front_matter_time,
    vault_note_files,
    vault_note_write_result,
    write_prepared_note,
)
from opencrab.actions.workspace.provenance import (
    is_foreign_workspace_file,
    names_foreign_workspace_file,
)
from opencrab.actions.workspace.write import WRITE_BYTES, file_change
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.call_text import TextChange
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.turn.action import ActionResult, Effect, FileDeleted
from opencrab.domain.value import Language, ShortText, Text, Value
from opencrab.domain.vault.note import Note, parse_vault_note, stamp_vault_note_update_time
from opencrab.domain.vault.wikilink import (
    NoteIndex,
    add_vault_wikilink_in_context,
    add_vault_wikilink_under_heading,
    is_note_template,
    require_vault_linkable_path,
    shadowed_vault_note_name,
    shortest_vault_wikilink,
    vault_note_card,
    vault_note_path,
    vault_note_with_path,
    vault_wikilink_context_line,
    wikilinks_in_vault_note,
)
from opencrab.ports.turn.action import ActionContext, one_line

__all__ = ["group"]

RELATED = {Language.EN: "## Related", Language.JA: "## 関連"}

_ARGUMENT_BYTES = 3 * WRITE_BYTES


class UpdateNote(Value):
    path: str
    content: Text
    append: bool = False


class CreateLink(Value):
    source_note: str
    target_note: str
    link_text: ShortText | None = None
    context: Text | None = Field(None, description="Words of the source to put the link after")


class RenameNote(Value):
    path: str
    new_path: str = Field(description="From the vault down")


def _update_targets(arguments: UpdateNote, context: ActionContext) -> tuple[str, ...]:
    return (find_vault_note_path(context, arguments.path),)


def _update(arguments: UpdateNote, context: ActionContext) -> dict[str, Any]:
    (path,) = vault_action_targets(_update_targets, arguments, context)
    stored = read_one_vault_note(context, path)
    now = vault_front_matter_time(context)
    text = _updated_note_text(arguments, stored, now)
    return prepare_note_write(context, stored.info.path, text, over=stored, now=now)


def _update_change(arguments: UpdateNote, context: ActionContext) -> TextChange:
    (path,) = vault_action_targets(_update_targets, arguments, context)
    stored = read_one_vault_note(context, path)
    text = _updated_note_text(arguments, stored, vault_front_matter_time(context))
    return file_change(context, stored.info.path, text)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Change the note {path}", "ノート「{path}」を更新する"),
    ja="ノートの内容を置き換えます。append を true にすると末尾に追記します。",
    prepare=_update,
    targets=_update_targets,
    change=_update_change,
    argument_bytes=_ARGUMENT_BYTES,
)
def update_note(arguments: UpdateNote, context: ActionContext) -> ActionResult:
    """Replace a note's content, or add to its end with `append`."""
    path, now = context.prepared["path"], context.prepared["now"]
    return vault_note_write_result(
        write_prepared_note(
            context, lambda: _updated_note_text(arguments, read_one_vault_note(context, path), now)
        )
    )


def _link_targets(arguments: CreateLink, context: ActionContext) -> tuple[str, ...]:
    """Return the note that gets the link, and the note that it leads to."""
    return (
        find_vault_note_path(context, arguments.source_note),
        find_vault_note_path(context, arguments.target_note),
    )


def _link(arguments: CreateLink, context: ActionContext) -> dict[str, Any]:
    changed_path, path = vault_action_targets(_link_targets, arguments, context)
    source, now = read_one_vault_note(context, changed_path), vault_front_matter_time(context)
    index = read_vault_notes(context, vault_note_files(context)).index
    text = arguments.link_text or ""
    link = shortest_vault_wikilink(path, index, text)
    body = source.note.body
    scope = (
        body if arguments.context is None else vault_wikilink_context_line(body, arguments.context)
    )
    exists = any(
        index.follow(each) == (path,) and text in {"", each.text}
        for each in wikilinks_in_vault_note(scope)
    )
    ready = {"link": link, "added": not exists, "now": now}
    changed = _linked_note_text(arguments, context, source, ready)
    note = prepare_note_write(context, source.info.path, changed, over=source, **ready)
    # The link is the target's name, and whoever named that note has written these words.
    return {
        **note,
        "is_clean": note["is_clean"] and not names_foreign_workspace_file(context, link),
    }


def _link_change(arguments: CreateLink, context: ActionContext) -> TextChange:
    ready = _link(arguments, context)
    text = _linked_note_text(arguments, context, read_one_vault_note(context, ready["path"]), ready)
    return file_change(context, ready["path"], text)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=(
        "Link {source_note} to {target_note}",
        "「{source_note}」から「{target_note}」へリンクする",
    ),
    ja="ノートに別のノートへのリンクを加えます。context がなければ「関連」の節に置きます。",
    prepare=_link,
    targets=_link_targets,
    change=_link_change,
)
def create_link(arguments: CreateLink, context: ActionContext) -> ActionResult:
    """Add a link to another note: after `context`, else under the heading "Related"."""
    ready = context.prepared
    info = write_prepared_note(
        context,
        lambda: _linked_note_text(
            arguments, context, read_one_vault_note(context, ready["path"]), ready
        ),
    )
    return vault_note_write_result(info, link=ready["link"], added=ready["added"])


def _rename_targets(arguments: RenameNote, context: ActionContext) -> tuple[str, ...]:
    """Return the note's path and its new one."""
    new = require_vault_linkable_path(vault_note_path(arguments.new_path))
    return find_vault_note_path(context, arguments.path), new


def _rename(arguments: RenameNote, context: ActionContext) -> dict[str, Any]:
    old, new = vault_action_targets(_rename_targets, arguments, context)
    source = read_one_vault_note(context, old)
    if is_note_template(old) or is_note_template(new):
        raise Invalid(
            f"{old!r} cannot be renamed to {new!r}: templates keep their paths, and no other note "
            "becomes one",
            cure="choose a path outside the template folder, or create another template",
        )
    if old == new or context.reach.files.info(context.agent.id, new) is not None:
        raise Conflict(f"there is a note {new!r} already", cure="choose another new_path")
    note = _renamed_note(source.note, old, new)
    reading = read_vault_notes(context, vault_note_files(context))
    others = [card for card in reading.cards if card.path != old]
    before, after = (
        NoteIndex([*others, vault_note_card(old, source.note)]),
        NoteIndex([*others, vault_note_card(new, note)]),
    )
    if not source.note.opening:
        _require_no_lost_link(reading, before, after, old, new)
        lost = shadowed_vault_note_name(NoteIndex(others), after, "", new)
    else:
        lost = shadowed_vault_note_name(before, after, old, new)
    if lost is not None:
        raise Conflict(
            f"[[{one_line(lost)}]] would then mean another note, or be ambiguous",
            cure="choose another new_path, or rename the other note of this name first",
        )
    ready = prepare_note_write(
        context, new, note.text, over=None, source=old, was=source.info.version
    )
    # The old name becomes an alias, and so a part of the text.
    is_clean = not (
        is_foreign_workspace_file(source.info) or names_foreign_workspace_file(context, repr(old))
    )
    return {**ready, **reading.omission_counts(), "is_clean": is_clean}


def _rename_change(arguments: RenameNote, context: ActionContext) -> TextChange:
    ready = _rename(arguments, context)
    note = read_one_vault_note(context, ready["source"]).note
    after = _renamed_note(note, ready["source"], ready["path"]).text
    name = f"{ready['source']} → {ready['path']}"
    return TextChange(name=name, before=note.text, after=after)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=(
        "Rename the note {path} to {new_path}",
        "ノート「{path}」を「{new_path}」に改名する",
    ),
    ja="ノートの名前や場所を変えます。元の名前へのリンクはそのまま使えます。",
    prepare=_rename,
    targets=_rename_targets,
    change=_rename_change,
)
def rename_note(arguments: RenameNote, context: ActionContext) -> ActionResult:
    """Rename or move a note; links to its old name go on working."""
    ready, files = context.prepared, context.reach.files
    old, new = ready["source"], ready["path"]
    info = write_prepared_note(
        context, lambda: _renamed_note(read_one_vault_note(context, old).note, old, new).text
    )
    try:
        files.delete(context.agent.id, old, condition=ready["was"])
    except NotFound:
        pass  # An earlier attempt at this very call has done it.
    except Conflict as error:
        raise Conflict(
            f"note {old!r} was changed concurrently and still exists beside {new!r}",
            cure="read both, then decide which to keep",
        ) from error
    unread = {"unread": ready["unread"]} if "unread" in ready else {}
    result = vault_note_write_result(info, renamed_from=old, **unread)
    return result.replaced(side_effects=(*result.side_effects, FileDeleted(path=old)))


def _renamed_note(note: Note, old: str, new: str) -> Note:
    """Return a note for its new path; one without front matter keeps no old name."""
    return vault_note_with_path(note, old, new) if note.opening else note


def _require_no_lost_link(
    reading: Reading, before: NoteIndex, after: NoteIndex, old: str, new: str
) -> None:
    """Raise Conflict if a link to a note would lose it, which has no front matter for its name."""
    for stored in reading.stored:
        for link in wikilinks_in_vault_note(stored.note.body):
            if before.follow(link) == (old,) and after.follow(link) != (new,):
                raise Conflict(
                    f"{stored.info.path!r} links to {old!r} as [[{one_line(link.target)}]], and "
                    "this note has no front matter that could keep its old name",
                    cure="add aliases to it with update_note first, or change that link",
                )


def _updated_note_text(arguments: UpdateNote, stored: StoredNote, now: str) -> str:
    old, path = stored.note, stored.info.path
    if is_note_template(path):
        return (
            append_vault_note_lines(old.text, arguments.content)
            if arguments.append
            else arguments.content
        )
    if arguments.append:
        added = old.with_body(append_vault_note_lines(old.body, arguments.content))
        return stamp_vault_note_update_time(added, now).text
    new = parse_vault_note(arguments.content)
    note = new.completed_by(old) if new.opening else old.with_body(new.body)
    return stamp_vault_note_update_time(note, now).text if old.opening else note.text


def _linked_note_text(
    arguments: CreateLink, context: ActionContext, source: StoredNote, ready: dict[str, Any]
) -> str:
    """Return the source note's text with the link; raises Invalid if it would be inside code."""
    body, link = source.note.body, ready["link"]
    if not ready["added"]:
        return source.note.text
    if arguments.context is None:
        own = RELATED[context.agent.language]
        changed = add_vault_wikilink_under_heading(body, link, (own, *RELATED.values()))
    else:
        changed = add_vault_wikilink_in_context(body, link, arguments.context)
    if len(wikilinks_in_vault_note(changed)) == len(wikilinks_in_vault_note(body)):
        raise Invalid(
            "the link would be inside code, where links do not work", cure="use another context"
        )
    note = source.note.with_body(changed)
    if is_note_template(source.info.path):
        return note.text
    return stamp_vault_note_update_time(note, ready["now"]).text
