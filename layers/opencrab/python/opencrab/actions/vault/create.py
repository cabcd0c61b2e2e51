"""Creating notes: empty, with content, or from a template of the vault or a shipped one."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from opencrab.actions.vault.lookup import (
    StoredNote,
    append_vault_note_lines,
    find_vault_note_path,
    prepare_note_write,
    read_one_vault_note,
    vault_action_targets,
    vault_front_matter_time,
    vault_note_files,
    vault_note_write_result,
    write_prepared_note,
)
from opencrab.actions.vault.new_note import require_links_keep_their_notes
from opencrab.actions.vault.search import group
from opencrab.actions.workspace.provenance import is_foreign_workspace_file
from opencrab.actions.workspace.write import WRITE_BYTES, file_change
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.heartbeat import agent_time_in_zone
from opencrab.domain.approvals.call_text import TextChange
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Name, Text, Value, value_with_surrogates_joined
from opencrab.domain.vault.note import (
    CREATED,
    TITLE,
    UPDATED,
    Note,
    parse_vault_note,
    stamp_vault_note_update_time,
    vault_note_title,
)
from opencrab.domain.vault.note_template import (
    has_vault_template_placeholder,
    render_vault_note_template,
)
from opencrab.domain.vault.wikilink import (
    TEMPLATES,
    is_note_template,
    require_vault_linkable_path,
    vault_note_file_name,
    vault_note_name_key,
    vault_note_path,
    vault_path_for_note_title,
)
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.workspace.files import ABSENT

__all__ = ["group"]

SHIPPED = ("daily-review", "meeting", "mindmap", "study-map")
"""Names of the shipped templates; a template of the vault with the same name overrides one."""

_FOLDER = Path(__file__).with_name("templates")
_ARGUMENT_BYTES = 3 * WRITE_BYTES


class CreateNote(Value):
    title: Name
    content: Text = ""
    folder: str | None = None
    template: str | None = None


class ApplyTemplate(Value):
    template_name: str
    variables: dict[str, JsonValue] = Field(default_factory=dict)
    target_note: str | None = None


@dataclass(frozen=True)
class Template:
    """A template: its text, and whether the text is free of untrusted content."""

    text: str
    is_clean: bool = True


@dataclass(frozen=True)
class NoteTime:
    """When a note is made: in UTC as front matter has it, and where its agent lives."""

    utc: str
    here: str


def _note_time(context: ActionContext, now: str) -> NoteTime:
    """Return the times of a note from the prepared one, so that a retry makes the same text."""
    return NoteTime(now, agent_time_in_zone(datetime.fromisoformat(now), context.time_zone))


def _template_key(name: str) -> str:
    return vault_note_name_key(name).removeprefix("templates/")


def _template_path(name: str, context: ActionContext) -> tuple[str, ...]:
    """Return the path of the vault's template of this name, () for a shipped one.

    Raises NotFound.
    """
    key = _template_key(name)
    own = {
        vault_note_name_key(info.path.removeprefix(f"{TEMPLATES}/")): info.path
        for info in vault_note_files(context)
        if info.path.startswith(f"{TEMPLATES}/")
    }
    if key in own:
        return (own[key],)
    if key in SHIPPED:
        return ()
    known = ", ".join(map(repr, sorted({*own, *SHIPPED})))
    raise NotFound(f"there is no template {name!r}", field="template", cure=f"use one of {known}")


def _template(name: str, path: Sequence[str], context: ActionContext) -> Template:
    """Read a template of the vault by its path, a shipped one by its name; raises NotFound."""
    for own in path:
        stored = read_one_vault_note(context, own)
        return Template(stored.note.text, not is_foreign_workspace_file(stored.info))
    file = _FOLDER / f"{_template_key(name)}.{context.agent.language.value}.md"
    return Template(file.read_text(encoding="utf-8"))


def _create_targets(arguments: CreateNote, context: ActionContext) -> tuple[str, ...]:
    """Return the new note's path, and that of a template of the vault."""
    path = vault_path_for_note_title(arguments.title, arguments.folder or "")
    template = _template_path(arguments.template, context) if arguments.template else ()
    return (path, *template)


def _create(arguments: CreateNote, context: ActionContext) -> dict[str, Any]:
    path, *own = vault_action_targets(_create_targets, arguments, context)
    if context.reach.files.info(context.agent.id, path) is not None:
        raise Conflict(f"there is a note {path!r} already", cure="change it with update_note")
    if is_note_template(path) and arguments.template:
        raise Invalid(
            "a template cannot be made from another template",
            field="template",
            cure="omit it and give content",
        )
    now = vault_front_matter_time(context)
    text = _new_note_text(arguments, context, path, own, now)
    require_links_keep_their_notes(context, path, text)
    ready = prepare_note_write(context, path, text, over=None, now=now, template=own)
    is_clean = not arguments.template or _template(arguments.template, own, context).is_clean
    return {**ready, "is_clean": is_clean}


def _create_change(arguments: CreateNote, context: ActionContext) -> TextChange:
    path, *own = vault_action_targets(_create_targets, arguments, context)
    text = _new_note_text(arguments, context, path, own, vault_front_matter_time(context))
    return file_change(context, path, text)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Create the note {title}", "ノート「{title}」を作る"),
    ja="新しいノートを作ります。[[題名]] で他のノートへリンクできます。",
    prepare=_create,
    targets=_create_targets,
    change=_create_change,
    argument_bytes=_ARGUMENT_BYTES,
)
def create_note(arguments: CreateNote, context: ActionContext) -> ActionResult:
    """Create a note in your vault; `[[Title]]` in it links to another note."""
    path, now = context.prepared["path"], context.prepared["now"]

    def text() -> str:
        own = _prepared_template(arguments.template, context) if arguments.template else ()
        return _new_note_text(arguments, context, path, own, now)

    return vault_note_write_result(write_prepared_note(context, text))


def _fill_targets(arguments: ApplyTemplate, context: ActionContext) -> tuple[str, ...]:
    """Return the path of the note to fill or create, and that of a template of the vault."""
    template = _template_path(arguments.template_name, context)
    if arguments.target_note is None:
        today = _note_time(context, vault_front_matter_time(context)).here[:10]
        usual = f"{_template_key(arguments.template_name)} {today}"
        return (
            vault_path_for_note_title(str(arguments.variables.get("title") or usual)),
            *template,
        )
    try:
        return (find_vault_note_path(context, arguments.target_note), *template)
    except NotFound:
        return (require_vault_linkable_path(vault_note_path(arguments.target_note)), *template)


def _apply(arguments: ApplyTemplate, context: ActionContext) -> dict[str, Any]:
    path, *own = vault_action_targets(_fill_targets, arguments, context)
    now, template = (
        vault_front_matter_time(context),
        _template(arguments.template_name, own, context),
    )
    stored = _note_to_fill(arguments, context, path)
    if is_note_template(path):
        raise Invalid(
            "a template cannot be the target of a template", cure="use the path of a note"
        )
    time = _note_time(context, now)
    text = _templated_note_text(arguments, template.text, path, stored, time)
    if stored is None:
        require_links_keep_their_notes(context, path, text)
    ready = prepare_note_write(context, path, text, over=stored, now=now, template=own)
    return {**ready, "is_clean": ready["is_clean"] and template.is_clean}


def _fill_change(arguments: ApplyTemplate, context: ActionContext) -> TextChange:
    path, *own = vault_action_targets(_fill_targets, arguments, context)
    now, template = (
        vault_front_matter_time(context),
        _template(arguments.template_name, own, context),
    )
    stored, time = _note_to_fill(arguments, context, path), _note_time(context, now)
    text = _templated_note_text(arguments, template.text, path, stored, time)
    return file_change(context, path, text)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Fill in the template {template_name}", "テンプレート「{template_name}」を使う"),
    ja="テンプレート(meeting, daily-review, mindmap, study-map 等)からノートを作ります。",
    prepare=_apply,
    targets=_fill_targets,
    change=_fill_change,
)
def apply_template(arguments: ApplyTemplate, context: ActionContext) -> ActionResult:
    """Make a note from a template (meeting, daily-review, mindmap, study-map, your own)."""
    ready = context.prepared
    is_new = ready["condition"] == ABSENT

    def text() -> str:
        stored = None if is_new else read_one_vault_note(context, ready["path"])
        own = _prepared_template(arguments.template_name, context)
        template = _template(arguments.template_name, own, context)
        time = _note_time(context, ready["now"])
        return _templated_note_text(arguments, template.text, ready["path"], stored, time)

    return vault_note_write_result(write_prepared_note(context, text), created=is_new)


def _prepared_template(name: str, context: ActionContext) -> Sequence[str]:
    """Return the prepared path of a template; intents of the release before have none."""
    stored: list[str] | None = context.prepared.get("template")
    return _template_path(name, context) if stored is None else stored


def _new_note_text(
    arguments: CreateNote, context: ActionContext, path: str, own: Sequence[str], now: str
) -> str:
    given = parse_vault_note(arguments.content)
    if is_note_template(path):
        return arguments.content
    if not arguments.template:
        return _add_front_matter(given, arguments.title, now)
    template = _template(arguments.template, own, context).text
    variables: dict[str, JsonValue] = {"content": given.body}
    time = _note_time(context, now)
    filled = _fill_template(template, variables, arguments.title, time)
    if not has_vault_template_placeholder(template, "content") and given.body:
        filled = filled.with_body(append_vault_note_lines(filled.body, given.body))
    return _add_front_matter(
        given.with_body(filled.body).completed_by(filled), arguments.title, now
    )


def _note_to_fill(arguments: ApplyTemplate, context: ActionContext, path: str) -> StoredNote | None:
    """Return the note to fill a template into, None for a new one; raises Conflict."""
    if arguments.target_note is not None:
        with suppress(NotFound):
            return read_one_vault_note(context, path)
    if context.reach.files.info(context.agent.id, path) is not None:
        raise Conflict(f"there is a note {path!r} already", cure="use it as target_note")
    return None


def _templated_note_text(
    arguments: ApplyTemplate, template: str, path: str, stored: StoredNote | None, time: NoteTime
) -> str:
    name, variables = vault_note_file_name(path), dict(arguments.variables)
    if stored is None:
        title = str(variables.get("title") or name)
        filled = _fill_template(template, variables, title, time)
        return _add_front_matter(filled, title, time.utc)
    filled = _fill_template(template, variables, vault_note_title(stored.note, name), time)
    note = stored.note.with_body(append_vault_note_lines(stored.note.body, filled.body))
    if not note.opening:
        return note.text
    return stamp_vault_note_update_time(note.completed_by(filled), time.utc).text


def _fill_template(
    template: str, variables: dict[str, JsonValue], title: str, time: NoteTime
) -> Note:
    """Fill a template with title, date and time, and with the given variables."""
    day, hour = time.here[:10], time.here[11:16]
    known: dict[str, JsonValue] = {"title": title, "date": day, "time": hour}
    return parse_vault_note(
        value_with_surrogates_joined(
            render_vault_note_template(template, known | variables)
        ).replace("\x00", "")
    )


def _add_front_matter(note: Note, title: str, now: str) -> str:
    """Return a new note's text with title and times at the top of its front matter."""
    body = note.body if not note.body or note.body.endswith("\n") else f"{note.body}\n"
    head = Note(body).with_value(TITLE, title).with_value(CREATED, now).with_value(UPDATED, now)
    return head.completed_by(note).text
