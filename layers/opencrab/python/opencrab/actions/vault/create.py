"""Creating notes: empty, with content, or from a template of the vault or a shipped one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from opencrab.actions.vault.lookup import (
    StoredNote,
    append_note_lines,
    find_note_path,
    note_files,
    note_front_matter_now,
    note_write_result,
    prepare_note_write,
    read_one_note,
    write_prepared_note,
)
from opencrab.actions.vault.search import group
from opencrab.actions.workspace.provenance import is_foreign_file
from opencrab.actions.workspace.write import WRITE_BYTES, file_change
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.call_text import TextChange
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Name, Text, Value, join_surrogates
from opencrab.domain.workspace.note import CREATED, TITLE, UPDATED, Note, note_title, parse_note
from opencrab.domain.workspace.note_template import has_template_placeholder, render_template
from opencrab.domain.workspace.wikilink import (
    TEMPLATES,
    is_note_template,
    note_file_name,
    note_name_key,
    note_path,
    path_for_note_title,
    require_linkable_path,
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
    """A template: its name, its text, and whether the text is free of untrusted content."""

    name: str
    text: str
    is_clean: bool = True


def _template(name: str, context: ActionContext) -> Template:
    """Return the vault's template of this name, else the shipped one; raises NotFound."""
    key = note_name_key(name).removeprefix("templates/")
    own = {
        note_name_key(info.path.removeprefix(f"{TEMPLATES}/")): info.path
        for info in note_files(context)
        if info.path.startswith(f"{TEMPLATES}/")
    }
    if key in own:
        stored = read_one_note(context, own[key])
        return Template(key, stored.note.text, not is_foreign_file(stored.info))
    if key in SHIPPED:
        file = _FOLDER / f"{key}.{context.agent.language.value}.md"
        return Template(key, file.read_text(encoding="utf-8"))
    known = ", ".join(map(repr, sorted({*own, *SHIPPED})))
    raise NotFound(f"there is no template {name!r}", field="template", cure=f"use one of {known}")


def _create(arguments: CreateNote, context: ActionContext) -> dict[str, Any]:
    path = path_for_note_title(arguments.title, arguments.folder or "")
    if context.reach.files.info(context.agent.id, path) is not None:
        raise Conflict(f"there is a note {path!r} already", cure="change it with update_note")
    if is_note_template(path) and arguments.template:
        raise Invalid(
            "a template cannot be made from another template",
            field="template",
            cure="omit it and give content",
        )
    now = note_front_matter_now(context)
    ready = prepare_note_write(
        context, path, _new_note_text(arguments, context, path, now), over=None, now=now
    )
    is_clean = not arguments.template or _template(arguments.template, context).is_clean
    return {**ready, "is_clean": is_clean}


def _create_change(arguments: CreateNote, context: ActionContext) -> TextChange:
    path = path_for_note_title(arguments.title, arguments.folder or "")
    text = _new_note_text(arguments, context, path, note_front_matter_now(context))
    return file_change(context, path, text)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Create the note {title}", "ノート「{title}」を作る"),
    ja="新しいノートを作ります。[[題名]] で他のノートへリンクできます。",
    prepare=_create,
    touches=lambda arguments: repr(arguments.title),
    change=_create_change,
    argument_bytes=_ARGUMENT_BYTES,
)
def create_note(arguments: CreateNote, context: ActionContext) -> ActionResult:
    """Create a note in your vault; `[[Title]]` in it links to another note."""
    path, now = context.prepared["path"], context.prepared["now"]
    return note_write_result(
        write_prepared_note(context, lambda: _new_note_text(arguments, context, path, now))
    )


def _apply(arguments: ApplyTemplate, context: ActionContext) -> dict[str, Any]:
    now, template = note_front_matter_now(context), _template(arguments.template_name, context)
    path, stored = _target(arguments, context, template, now)
    if is_note_template(path):
        raise Invalid(
            "a template cannot be the target of a template", cure="use the path of a note"
        )
    text = _templated_note_text(arguments, template.text, path, stored, now)
    ready = prepare_note_write(context, path, text, over=stored, now=now)
    return {**ready, "is_clean": ready["is_clean"] and template.is_clean}


def _fill_change(arguments: ApplyTemplate, context: ActionContext) -> TextChange:
    now, template = note_front_matter_now(context), _template(arguments.template_name, context)
    path, stored = _target(arguments, context, template, now)
    text = _templated_note_text(arguments, template.text, path, stored, now)
    return file_change(context, path, text)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Fill in the template {template_name}", "テンプレート「{template_name}」を使う"),
    ja="テンプレート(meeting, daily-review, mindmap, study-map 等)からノートを作ります。",
    prepare=_apply,
    touches=lambda arguments: repr(arguments.target_note or arguments.template_name),
    change=_fill_change,
)
def apply_template(arguments: ApplyTemplate, context: ActionContext) -> ActionResult:
    """Make a note from a template (meeting, daily-review, mindmap, study-map, your own)."""
    ready = context.prepared
    is_new = ready["condition"] == ABSENT

    def text() -> str:
        stored = None if is_new else read_one_note(context, ready["path"])
        template = _template(arguments.template_name, context)
        return _templated_note_text(arguments, template.text, ready["path"], stored, ready["now"])

    return note_write_result(write_prepared_note(context, text), created=is_new)


def _new_note_text(arguments: CreateNote, context: ActionContext, path: str, now: str) -> str:
    given = parse_note(arguments.content)
    if is_note_template(path):
        return arguments.content
    if not arguments.template:
        return _add_front_matter(given, arguments.title, now)
    template = _template(arguments.template, context).text
    variables: dict[str, JsonValue] = {"content": given.body}
    filled = _fill_template(template, variables, arguments.title, now)
    if not has_template_placeholder(template, "content") and given.body:
        filled = filled.with_body(append_note_lines(filled.body, given.body))
    return _add_front_matter(
        given.with_body(filled.body).completed_by(filled), arguments.title, now
    )


def _target(
    arguments: ApplyTemplate, context: ActionContext, template: Template, now: str
) -> tuple[str, StoredNote | None]:
    """Return the note to fill a template into, or the path of a new one; raises Conflict."""
    if arguments.target_note is None:
        title = arguments.variables.get("title") or f"{template.name} {now[:10]}"
        path = path_for_note_title(str(title))
    else:
        try:
            stored = read_one_note(context, find_note_path(context, arguments.target_note))
        except NotFound:
            path = require_linkable_path(note_path(arguments.target_note))
        else:
            return stored.info.path, stored
    if context.reach.files.info(context.agent.id, path) is not None:
        raise Conflict(f"there is a note {path!r} already", cure="use it as target_note")
    return path, None


def _templated_note_text(
    arguments: ApplyTemplate, template: str, path: str, stored: StoredNote | None, now: str
) -> str:
    name, variables = note_file_name(path), dict(arguments.variables)
    if stored is None:
        title = str(variables.get("title") or name)
        return _add_front_matter(_fill_template(template, variables, title, now), title, now)
    filled = _fill_template(template, variables, note_title(stored.note, name), now)
    note = stored.note.with_body(append_note_lines(stored.note.body, filled.body)).completed_by(
        filled
    )
    return note.with_value(UPDATED, now).text


def _fill_template(template: str, variables: dict[str, JsonValue], title: str, now: str) -> Note:
    """Fill a template with title, date and time, and with the given variables."""
    known: dict[str, JsonValue] = {"title": title, "date": now[:10], "time": now[11:16]}
    return parse_note(
        join_surrogates(render_template(template, known | variables)).replace("\x00", "")
    )


def _add_front_matter(note: Note, title: str, now: str) -> str:
    """Return a new note's text with title and times at the top of its front matter."""
    body = note.body if not note.body or note.body.endswith("\n") else f"{note.body}\n"
    head = Note(body).with_value(TITLE, title).with_value(CREATED, now).with_value(UPDATED, now)
    return head.completed_by(note).text
