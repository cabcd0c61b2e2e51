"""Standard skills from a folder: Agent Skills folders, and single files of the older form.

`<name>/SKILL.md` holds the front matter of the Agent Skills specification and the text in English;
`SKILL.ja.md` beside it, if there is one, is the text in Japanese. `<name>.skill.md` is the older
form, in one language, with `version` and `actions` in its front matter. What a front matter may say
is the small part of YAML that skills use; whatever else is refused with its file and line.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NoReturn

from pydantic import ValidationError

from opencrab.domain.errors import Invalid
from opencrab.domain.skills.skill import StandardSkill
from opencrab.domain.value import Language

SKILL_FILE, JAPANESE_FILE, OLDER_FORM = "SKILL.md", "SKILL.ja.md", ".skill.md"
FILE_BYTES = 64 * 1024

_FENCE = "---"
_ENTRY = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z][A-Za-z0-9_-]*):(?: +(?P<value>.*))?")
_ITEM = re.compile(r" *- +(?P<value>.+)")
_QUOTED = re.compile(r""""(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^']|'')*)'""")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
_KANA = re.compile("[\u3040-\u30ff]")
_UNSUPPORTED = tuple("|>&*!%@`{}")

_SPECIFIED = {"name", "description", "license", "compatibility", "allowed-tools", "metadata"}
_OLDER = {"name", "description", "version", "actions", "situation_pattern"}


@dataclass
class FrontMatterValue:
    """The value of a front matter key, with its line number."""

    line: int
    value: "str | list[str] | dict[str, FrontMatterValue]"


class FileSkills:
    """`ports.skills.StandardSkills` on a folder, read on first use; empty if it does not exist.

    Raises Invalid, naming file and line, for a malformed skill.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> tuple[StandardSkill, ...]:
        return tuple(self._skills.values())

    def find(self, name: str) -> StandardSkill | None:
        return self._skills.get(name)

    @cached_property
    def _skills(self) -> Mapping[str, StandardSkill]:
        skills = dict[str, StandardSkill]()
        for path, read in sorted(self._files()):
            skill = read(path)
            if skill.name in skills:
                _wrong(path, 1, f"there are two skills {skill.name!r}", "remove one of them")
            skills[skill.name] = skill
        return dict(sorted(skills.items()))

    def _files(self) -> Iterator[tuple[Path, Callable[[Path], StandardSkill]]]:
        if not self._folder.is_dir():
            return
        for place in self._folder.iterdir():
            if place.is_dir() and (place / SKILL_FILE).is_file():
                yield place / SKILL_FILE, _skill_of_folder
            elif place.is_file() and place.name.endswith(OLDER_FORM):
                yield place, _skill_of_file


def _skill_of_folder(path: Path) -> StandardSkill:
    document = _Document(path, _SPECIFIED)
    metadata = document.map("metadata")
    told = {Language.EN: document.text("description")}
    if "description-ja" in metadata:
        told[Language.JA] = document.of(metadata, "description-ja")
    guidance = {Language.EN: document.body}
    japanese = path.with_name(JAPANESE_FILE)
    if japanese.is_file():
        guidance[Language.JA] = _content(japanese).strip()
    named = document.of(metadata, "actions") if "actions" in metadata else None
    actions = document.text("allowed-tools", "") if named is None else named
    return document.skill(
        path.parent.name,
        descriptions=told,
        guidance=guidance,
        situation_pattern=document.of(metadata, "situation_pattern", ""),
        actions=tuple(actions.replace(",", " ").split()),
        version=document.of(metadata, "version", "1"),
        by_default=document.truth(metadata, "default"),
        folder=document.of(metadata, "folder", ""),
    )


def _skill_of_file(path: Path) -> StandardSkill:
    document = _Document(path, _OLDER)
    description = document.text("description")
    language = Language.JA if _KANA.search(document.body + description) else Language.EN
    return document.skill(
        path.name.removesuffix(OLDER_FORM),
        descriptions={language: description},
        guidance={language: document.body},
        situation_pattern=document.text("situation_pattern", ""),
        actions=document.list("actions"),
        version=document.text("version", "1"),
    )


class _Document:
    """A skill file: front matter with known keys, and the Markdown body below it."""

    def __init__(self, path: Path, keys: set[str]) -> None:
        self._path = path
        lines = _content(path).split("\n")
        if lines[0].rstrip() != _FENCE:
            _wrong(path, 1, "there is no front matter", "begin with a line ---")
        ends = (n for n, line in enumerate(lines) if n and line.rstrip() == _FENCE)
        end = next(ends, None)
        if end is None:
            _wrong(path, len(lines), "the front matter does not end", "end it with a line ---")
        self.body = "\n".join(lines[end + 1 :]).strip()
        if not self.body:
            _wrong(path, end + 1, "there is no text below the front matter", "write what to do")
        self._said = _front_matter(path, lines[1:end])
        for key, found in self._said.items():
            if key not in keys:
                known = ", ".join(sorted(keys))
                _wrong(path, found.line, f"{key!r} is not a known key", f"use {known}")

    def text(self, key: str, default: str | None = None) -> str:
        """Return the string value of a key."""
        return self.of(self._said, key, default)

    def of(self, said: Mapping[str, FrontMatterValue], key: str, default: str | None = None) -> str:
        """Return the string value of a key of a map.

        Raise Invalid if it is missing without default.
        """
        if key not in said:
            if default is None:
                _wrong(self._path, 1, f"{key!r} is missing", f"write {key}: …")
            return default
        found = said[key]
        if not isinstance(found.value, str):
            _wrong(self._path, found.line, f"{key!r} is not a string", f"write {key}: …")
        return found.value

    def list(self, key: str) -> tuple[str, ...]:
        """Return the list value of a key; empty if it is missing."""
        found = self._said.get(key)
        if found is None:
            return ()
        if not isinstance(found.value, list):
            _wrong(
                self._path, found.line, f"{key!r} is not a list", "write lines such as - ws_read"
            )
        return tuple(found.value)

    def map(self, key: str) -> Mapping[str, FrontMatterValue]:
        """Return the map value of a key; empty if it is missing."""
        found = self._said.get(key)
        if found is None:
            return {}
        if not isinstance(found.value, dict):
            _wrong(self._path, found.line, f"{key!r} is not a map", "indent what is below it")
        return found.value

    def truth(self, said: Mapping[str, FrontMatterValue], key: str) -> bool:
        """Return the value "true" or "false" of a key of a map; False if it is missing."""
        text = self.of(said, key, "false")
        if text not in {"true", "false"}:
            problem = f"{key!r} is neither true nor false, but {text!r}"
            _wrong(self._path, said[key].line, problem, 'write "true" or "false"')
        return text == "true"

    def skill(self, place: str, **fields: object) -> StandardSkill:
        """Build the skill; raise Invalid if its name differs from `place` or a field is invalid."""
        name = self.text("name")
        line = self._said["name"].line
        if name != place:
            _wrong(self._path, line, f"name {name!r} differs from the folder name", f"use {place}")
        try:
            return StandardSkill.model_validate({"name": name, **fields})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise Invalid(
                f"{self._path}:{line}: {where}: {first['msg']}", cure="correct it there"
            ) from None


def _front_matter(path: Path, lines: list[str]) -> dict[str, FrontMatterValue]:
    said, open_key = dict[str, FrontMatterValue](), ""
    for number, line in enumerate(lines, start=2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if "\t" in line:
            _wrong(path, number, "the line contains a tab", "indent with spaces")
        item, entry = _ITEM.fullmatch(line), _ENTRY.fullmatch(line.rstrip())
        if item:
            _open_list(path, number, said.get(open_key)).append(
                _scalar(path, number, item["value"])
            )
        elif entry is None:
            _wrong(path, number, "this line is not `key: value`", "write one")
        elif entry["indent"]:
            _add_entry(path, _open_map(path, number, said.get(open_key)), number, entry)
        else:
            open_key = _add_entry(path, said, number, entry)
    return said


def _add_entry(
    path: Path, said: dict[str, FrontMatterValue], number: int, entry: re.Match[str]
) -> str:
    key, text = entry["key"], _COMMENT.sub("", entry["value"] or "").strip()
    if key in said:
        _wrong(path, number, f"{key!r} is given twice", "keep one of them")
    if entry["indent"] and not text:
        _wrong(path, number, f"{key!r} has no value", "write a text: maps are one level deep")
    value: str | list[str] | dict[str, FrontMatterValue]
    if text.startswith("[") and text.endswith("]"):
        parts = (part.strip() for part in text[1:-1].split(","))
        value = [_scalar(path, number, part) for part in parts if part]
    else:
        value = _scalar(path, number, entry["value"]) if text else {}
    said[key] = FrontMatterValue(number, value)
    return key


def _open_list(path: Path, number: int, found: FrontMatterValue | None) -> list[str]:
    """Return the list that an item belongs to: that of the key above it."""
    if found is not None and found.value == {}:
        found.value = []
    if found is None or not isinstance(found.value, list):
        _wrong(path, number, "this list item has no key", "put it below a key without a value")
    return found.value


def _open_map(
    path: Path, number: int, found: FrontMatterValue | None
) -> dict[str, FrontMatterValue]:
    if found is None or not isinstance(found.value, dict):
        _wrong(path, number, "this line is indented but has no parent key", "do not indent it")
    return found.value


def _scalar(path: Path, number: int, text: str) -> str:
    text = text.strip()
    quoted = _QUOTED.match(text)
    if quoted:
        rest = text[quoted.end() :].strip()
        if rest and not rest.startswith("#"):
            _wrong(path, number, "there is text after the closing quote", "remove it")
        if quoted["single"] is not None:
            return quoted["single"].replace("''", "'")
        return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[0]), quoted["double"])
    if text.startswith(('"', "'")):
        _wrong(path, number, "the quote does not end on its line", "close it there")
    if text.startswith(_UNSUPPORTED):
        _wrong(path, number, f"a value cannot begin with {text[0]!r}", "write it in quotes")
    plain = _COMMENT.sub("", text).strip()
    if ": " in plain:
        _wrong(path, number, "the unquoted value contains a colon", "write it in quotes")
    return plain


def _content(path: Path) -> str:
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: cannot be read: {error}", cure="save it as UTF-8") from error
    if len(content) > FILE_BYTES:
        _wrong(path, 1, f"has {len(content)} bytes; at most {FILE_BYTES} are read", "shorten it")
    return text.replace("\r\n", "\n")


def _wrong(path: Path, line: int, problem: str, cure: str) -> NoReturn:
    raise Invalid(f"{path}:{line}: {problem}", cure=cure)
