"""The text of a TOML file: where each setting stands in it, and changes that keep all the rest.

Python reads TOML without saying where a value stands, and does not write it. A change here replaces
the characters of one value; it is made only if the changed text, read again, differs by that value
alone.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencrab.domain.errors import Invalid

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTES = ('"""', "'''", '"', "'")
_SPACE = " \t"

Path = tuple[str, ...]


@dataclass(frozen=True)
class TomlStatement:
    """A line `[table]` or `key = value`, with its offsets in the text; `value` excludes comments.

    `path` is the whole name, and `table` the name of the table in which it stands.
    """

    path: Path
    table: Path
    line: int
    start: int
    end: int
    value: tuple[int, int] | None = None


def toml_statements(text: str) -> tuple[TomlStatement, ...]:
    """Return the statements of a text that is valid TOML, in their order."""
    return tuple(_Scanner(text).statements())


class TomlLines:
    """The lines of the settings of a text, found in the same time however long it is."""

    def __init__(self, statements: Sequence[TomlStatement]) -> None:
        self._of: dict[Path, int] = {}
        self._below: dict[Path, int] = {}
        for each in statements:
            self._of.setdefault(each.path, each.line)
            for depth in range(1, len(each.path)):
                self._below.setdefault(each.path[:depth], each.line)

    def line(self, path: Path) -> int:
        """Return the number of the line of a setting or of its table; 1 if it is not there."""
        if path not in self._of and path in self._below:
            return self._below[path]
        tables = (path[:depth] for depth in range(len(path), 0, -1))
        return next((self._of[each] for each in tables if each in self._of), 1)


def toml_literal(value: Any) -> str:
    """Return a value as TOML: a text, a number, a boolean, a list or an inline table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key_text(key)} = {toml_literal(each)}" for key, each in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_literal, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def set_toml_value(text: str, path: Path, value: Any) -> str:
    """Return the text with one value set; raises Invalid if that changes something else."""
    expected = _with(_without(tomllib.loads(text), path), path, value)
    for changed in _texts_with_value(text, path, value):
        if _is_toml(changed, expected):
            return changed
    raise Invalid(
        f"{'.'.join(path)} cannot be set in a file of this form",
        field=".".join(path),
        cure="edit the file by hand: `opencrab config edit`",
    )


def unset_toml_value(text: str, path: Path) -> str:
    """Return the text without a value or a table; equal if it is not there."""
    document = tomllib.loads(text)
    changed = _without_statements(text, path)
    if changed == text and (parent := _inline_parent(text, path)) is not None:
        expected = _without(document, path)
        rest: Any = expected
        for part in parent.path:
            rest = rest[part]
        changed = _replace_value(text, parent, rest)
    if _prune_empty_tables(tomllib.loads(changed)) != _prune_empty_tables(_without(document, path)):
        raise Invalid(
            f"{'.'.join(path)} cannot be removed from a file of this form",
            field=".".join(path),
            cure="edit the file by hand: `opencrab config edit`",
        )
    return changed


def _texts_with_value(text: str, path: Path, value: Any) -> Iterator[str]:
    """Yield texts in which the value is set, the best first; some may not be TOML."""
    statements = toml_statements(text)
    for each in statements:
        if each.path == path and each.value is not None:
            yield _replace_value(text, each, value)
    if (parent := _inline_parent(text, path)) is not None:
        inner = tomllib.loads(f"v = {text[slice(*parent.value or ())]}")["v"]
        yield _replace_value(text, parent, _with(inner, path[len(parent.path) :], value))
    text = _without_statements(text, path)
    statements = toml_statements(text)
    beside = [each for each in statements if each.value and each.path[:-1] == path[:-1]]
    for each in reversed(beside):
        key = ".".join(map(_key_text, path[len(each.table) :]))
        yield _insert_line(text, each.end, f"{key} = {toml_literal(value)}")
    for each in statements:
        if each.value is None and each.path == path[:-1]:
            yield _insert_line(text, each.end, f"{_key_text(path[-1])} = {toml_literal(value)}")
    lead = text.rstrip()
    header = f"[{'.'.join(map(_key_text, path[:-1]))}]\n" if path[:-1] else ""
    line = f"{header}{_key_text(path[-1])} = {toml_literal(value)}\n"
    yield f"{lead}\n\n{line}" if lead else line


def _inline_parent(text: str, path: Path) -> TomlStatement | None:
    """Return the statement of an inline table that contains this path."""
    return next(
        (
            each
            for each in toml_statements(text)
            if each.value
            and len(each.path) < len(path)
            and each.path == path[: len(each.path)]
            and text[each.value[0]] == "{"
        ),
        None,
    )


def _replace_value(text: str, statement: TomlStatement, value: Any) -> str:
    start, end = statement.value or (statement.end, statement.end)
    return f"{text[:start]}{toml_literal(value)}{text[end:]}"


def _insert_line(text: str, at: int, line: str) -> str:
    gap = "" if text[:at].endswith("\n") else "\n"
    return f"{text[:at]}{gap}{line}\n{text[at:]}"


def _without_statements(text: str, path: Path) -> str:
    """Return the text without the statements of a path and below it; comments above them stay."""
    for each in reversed(toml_statements(text)):
        if each.path[: len(path)] == path:
            text = text[: each.start] + text[each.end :]
    return text


def _with(document: Any, path: Path, value: Any) -> dict[str, Any]:
    """Return a document with a value; what is no table in its way is replaced."""
    table = document if isinstance(document, dict) else {}
    name, rest = path[0], path[1:]
    return {**table, name: _with(table.get(name), rest, value) if rest else value}


def _without(document: dict[str, Any], path: Path) -> dict[str, Any]:
    if len(path) == 1:
        return {key: value for key, value in document.items() if key != path[0]}
    inner = document.get(path[0])
    if not isinstance(inner, dict):
        return document
    return {**document, path[0]: _without(inner, path[1:])}


def _prune_empty_tables(document: Any) -> Any:
    """Return a document without empty tables, which say nothing."""
    if not isinstance(document, dict):
        return document
    pruned = {key: _prune_empty_tables(value) for key, value in document.items()}
    return {key: value for key, value in pruned.items() if value != {}}


def _is_toml(text: str, expected: dict[str, Any]) -> bool:
    try:
        return bool(_prune_empty_tables(tomllib.loads(text)) == _prune_empty_tables(expected))
    except tomllib.TOMLDecodeError:
        return False


def _key_text(key: str) -> str:
    return key if _BARE.fullmatch(key) else toml_literal(key)


class _Scanner:
    """Reads the statements of valid TOML: what it need not tell apart, it skips."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def statements(self) -> Iterator[TomlStatement]:
        table: Path = ()
        line, counted = 1, 0
        while self._skip_to_statement():
            start = self._text.rfind("\n", 0, self._at) + 1
            line, counted = line + self._text.count("\n", counted, self._at), self._at
            if self._text[self._at] == "[":
                brackets = 2 if self._text.startswith("[[", self._at) else 1
                self._at += brackets
                table = self._key()
                self._at += brackets
                yield TomlStatement(table, table, line, start, self._to_next_line())
                continue
            path = table + self._key()
            self._at += 1  # the equals sign
            self._skip_spaces()
            value = (self._at, self._end_of_value())
            yield TomlStatement(path, table, line, start, self._to_next_line(), value)

    def _skip_to_statement(self) -> bool:
        while self._at < len(self._text):
            if self._text[self._at] == "#":
                self._to_next_line()
            elif self._text[self._at] in " \t\r\n":
                self._at += 1
            else:
                return True
        return False

    def _skip_spaces(self) -> None:
        while self._text[self._at : self._at + 1] in {" ", "\t"}:
            self._at += 1

    def _to_next_line(self) -> int:
        found = self._text.find("\n", self._at)
        self._at = len(self._text) if found < 0 else found + 1
        return self._at

    def _key(self) -> Path:
        """Read a key with its dots, up to the character that follows it."""
        parts = []
        while True:
            self._skip_spaces()
            start = self._at
            if self._text[start] in "\"'":
                self._skip_string()
                parts.append(tomllib.loads(f"v = {self._text[start : self._at]}")["v"])
            else:
                found = _BARE.match(self._text, start)
                self._at = start if found is None else found.end()
                parts.append(self._text[start : self._at])
            self._skip_spaces()
            if self._text[self._at] != ".":
                return tuple(parts)
            self._at += 1

    def _end_of_value(self) -> int:
        """Read a value, which may have several lines, and return the offset of its end."""
        depth = 0
        end = self._at
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in "\"'":
                self._skip_string()
                end = self._at
                continue
            if character in "\n#" and not depth:
                break
            if character == "#":
                self._to_next_line()
                continue
            depth += (character in "[{") - (character in "]}")
            self._at += 1
            if character not in " \t\r\n":
                end = self._at
        return end

    def _skip_string(self) -> None:
        quote = next(each for each in _QUOTES if self._text.startswith(each, self._at))
        self._at += len(quote)
        while not self._text.startswith(quote, self._at):
            escaped = quote[0] == '"' and self._text[self._at] == "\\"
            self._at += 2 if escaped else 1
        self._at += len(quote)
        # One or two more quotes at the end belong to a text of several lines.
        while len(quote) > 1 and self._text.startswith(quote[0], self._at):
            self._at += 1
