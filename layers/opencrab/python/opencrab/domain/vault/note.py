"""Markdown notes: front matter that survives every change, body, title and summary.

Only a small part of YAML is understood: scalars and lists of scalars. Whatever else stands between
the dashes is kept as it is; where a key that OpenCrab itself uses cannot be understood, or the
whole is no front matter at all, everything counts as body, so that nothing is ever lost.
"""

import json
import re
from dataclasses import dataclass, replace

SUMMARY_CHARACTERS = 120

TITLE, ALIASES, TAGS, CREATED, UPDATED = "title", "aliases", "tags", "created", "updated"

_UNDERSTOOD = frozenset({TITLE, ALIASES, TAGS, CREATED, UPDATED})
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_OPENING = re.compile("\ufeff?---[ \\t]*\\r?\\n")
_CLOSING = re.compile(r"---[ \t]*\r?\n?")
_KEY = re.compile(r"(\w[^:\n]*):(?=\s|$)(.*)", re.DOTALL)
_CONTINUED = re.compile(r"[ \t]+\S|-\s")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^']|'')*'")
_LISTED = re.compile(_QUOTED.pattern + r"|[^,\[\]{}\"'\s][^,\[\]{}]*")
_NO_PLAIN_START = frozenset("[]{}&*!|>%@,#?`\"'")
_PLAIN = re.compile(r"[^\W\d_][\w ./()（）・、。+-]*|\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\dZ)?")
_NO_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
_MARKS = re.compile(r"(?:(?:[-*+]|\d+[.)]|>)\s+(?:\[[ xX]\]\s+)?)*")
_NO_PROSE = re.compile(r"#{1,6}\s|\||[-*_=\s]+$|!\[")
_SHOWN_LINK = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*)\]\]")


@dataclass(frozen=True)
class FrontMatterField:
    """Lines of a front matter as they are written; lines without a key have the key ""."""

    key: str
    raw: str
    values: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Note:
    """A parsed note: `text` returns the input, except for what was changed."""

    body: str
    fields: tuple[FrontMatterField, ...] = ()
    opening: str = ""
    closing: str = ""

    @property
    def text(self) -> str:
        """The whole file."""
        return "".join([self.opening, *(field.raw for field in self.fields), self.closing]) + (
            self.body
        )

    def values(self, key: str) -> tuple[str, ...]:
        """Return the front matter's values of a key; a scalar is a list of one."""
        return next((field.values or () for field in self.fields if field.key == key), ())

    def value(self, key: str) -> str:
        """Return the first value of a key, or ""."""
        return next(iter(self.values(key)), "")

    def with_value(self, key: str, values: str | tuple[str, ...]) -> "Note":
        """Return the note with another value, or list of values, for a key."""
        changed = FrontMatterField(
            key, _render_field(key, values), (values,) if isinstance(values, str) else values
        )
        return self._with(changed)

    def with_body(self, body: str) -> "Note":
        """Return the note with another body."""
        ended = f"{self.closing}\n" if self.closing and self.closing[-1] != "\n" else self.closing
        return replace(self, body=body, closing=ended)

    def completed_by(self, other: "Note") -> "Note":
        """Return the note with those keys of another one's front matter that it lacks."""
        own, completed = {field.key for field in self.fields}, self
        for field in other.fields:
            if field.key and field.key not in own:
                completed = completed._with(field)
        return completed

    def _with(self, changed: FrontMatterField) -> "Note":
        fields = [changed if field.key == changed.key else field for field in self.fields]
        if changed not in fields:
            fields.append(changed)
        if self.opening:
            return replace(self.with_body(self.body), fields=tuple(fields))
        return Note(self.body, tuple(fields), opening="---\n", closing="---\n")


def parse_vault_note(text: str) -> Note:
    """Parse a file into front matter and body."""
    opening = _OPENING.match(text)
    if opening is None:
        return Note(text)
    inner = list[str]()
    position = opening.end()
    for found in _LINE.finditer(text, position):
        line = found.group()
        if _CLOSING.fullmatch(line):
            fields = _fields(inner)
            if fields is None:
                break
            return Note(text[found.end() :], fields, opening.group(), line)
        inner.append(line)
    return Note(text)


def stamp_vault_note_update_time(note: Note, now: str) -> Note:
    """Return a note with the time of its change; one without front matter gets none."""
    return note.with_value(UPDATED, now) if note.opening else note


def vault_note_title(note: Note, file_name: str) -> str:
    """Return the title: from the front matter, the first top heading, or the file name."""
    return note.value(TITLE) or _heading(note.body) or file_name


def vault_note_tags(note: Note) -> tuple[str, ...]:
    """Return the tags without their hash signs; a line of tags may be separated by commas."""
    parts = (part.strip().lstrip("#") for value in note.values(TAGS) for part in value.split(","))
    return tuple(part for part in parts if part)


def vault_note_summary(body: str) -> str:
    """Return the first line of prose without markup, at most SUMMARY_CHARACTERS."""
    for line in map(str.strip, vault_note_outside_code(body).split("\n")):
        plain = (
            "" if _NO_PROSE.match(line) else _SHOWN_LINK.sub(r"\1", _MARKS.sub("", line, count=1))
        )
        if plain:
            return truncate_vault_note_text(plain, SUMMARY_CHARACTERS)
    return ""


def truncate_vault_note_text(text: str, characters: int) -> str:
    """Shorten a text to at most `characters`, the last one an ellipsis."""
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def vault_note_outside_code(body: str) -> str:
    """Replace the lines of fenced code by empty ones; an unclosed fence goes to the end."""
    lines, fence = list[str](), ""
    for line in body.split("\n"):
        found = _FENCE.match(line)
        if fence:
            lines.append("")
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            lines.append("")
            fence = found[1]
        else:
            lines.append(line)
    return "\n".join(lines)


def _heading(body: str) -> str:
    for line in vault_note_outside_code(body).split("\n"):
        text = line[2:].strip() if line.startswith("# ") else ""
        unclosed = text.rstrip("#")
        if unclosed[-1:].isspace() or not unclosed:
            text = unclosed.rstrip()
        if text:
            return text
    return ""


def _fields(lines: list[str]) -> tuple[FrontMatterField, ...] | None:
    """Parse the fields of a front matter; None if it is none, or beyond the supported YAML."""
    groups, waiting = list[list[str]](), list[str]()
    for line in lines:
        if not line.strip() or line.startswith("#"):
            waiting.append(line)
        elif _CONTINUED.match(line):
            if not groups:
                return None
            groups[-1] += [*waiting, line]
            waiting = []
        else:
            groups += [[each] for each in waiting]
            groups.append([line])
            waiting = []
    groups += [[each] for each in waiting]
    fields = [_field(group) for group in groups]
    sound = [field for field in fields if field is not None]
    keys = [field.key for field in sound if field.key]
    return tuple(sound) if len(sound) == len(fields) and len(set(keys)) == len(keys) else None


def _field(lines: list[str]) -> FrontMatterField | None:
    raw = "".join(lines)
    if not lines[0].strip() or lines[0].startswith("#"):
        return FrontMatterField("", raw) if len(lines) == 1 else None
    found = _KEY.match(lines[0])
    if found is None:
        return None
    key, values = found[1].rstrip(), _values(found[2].strip(), lines[1:])
    return None if values is None and key in _UNDERSTOOD else FrontMatterField(key, raw, values)


def _values(rest: str, more: list[str]) -> tuple[str, ...] | None:
    lines = [line.strip() for line in more]
    lines = [line for line in lines if line and not line.startswith("#")]
    if rest and not rest.startswith("#"):
        if lines:
            return None
        return _inline_list(rest) if rest.startswith("[") else _all([_scalar(rest)])
    if not all(line == "-" or line[:2] in {"- ", "-\t"} for line in lines):
        return None
    return _all([_scalar(line[1:].strip()) for line in lines])


def _all(values: list[str | None]) -> tuple[str, ...] | None:
    known = [value for value in values if value is not None]
    return tuple(known) if len(known) == len(values) else None


def _inline_list(text: str) -> tuple[str, ...] | None:
    values, position = list[str | None](), 1
    while True:
        position = _skip_whitespace(text, position)
        item = _LISTED.match(text, position)
        if item is not None:
            values.append(_scalar(item.group().rstrip()))
            position = _skip_whitespace(text, item.end())
        if text[position : position + 1] == "]":
            rest = text[position + 1 :].strip()
            return _all(values) if not rest or rest.startswith("#") else None
        if item is None or text[position : position + 1] != ",":
            return None
        position += 1


def _skip_whitespace(text: str, position: int) -> int:
    while text[position : position + 1].isspace():
        position += 1
    return position


def _scalar(text: str) -> str | None:
    if text[:1] in {'"', "'"}:
        return _parse_quoted_scalar(text)
    plain = text.partition(" #")[0].rstrip()
    if plain[:1] in _NO_PLAIN_START and plain:
        return None
    if plain.startswith("- ") or ": " in plain or plain.endswith(":"):
        return None
    return plain


def _parse_quoted_scalar(text: str) -> str | None:
    found = _QUOTED.match(text)
    rest = text[found.end() :].strip() if found else text
    if found is None or (rest and not rest.startswith("#")):
        return None
    if text[0] == "'":
        return found.group()[1:-1].replace("''", "'")
    try:
        return str(json.loads(found.group()))
    except ValueError:
        return None


def _render_field(key: str, values: str | tuple[str, ...]) -> str:
    if isinstance(values, str):
        return f"{key}: {_safe(values)}\n"
    return "".join([f"{key}:\n", *(f"  - {_safe(value)}\n" for value in values)])


def _safe(value: str) -> str:
    """Return a value plain if every YAML reader takes it for text, else in quotes."""
    plain = _PLAIN.fullmatch(value) and value.casefold() not in _NO_TEXT and value == value.strip()
    return value if plain else json.dumps(value, ensure_ascii=False)
