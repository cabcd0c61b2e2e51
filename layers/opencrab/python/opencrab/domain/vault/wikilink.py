"""Links between notes: how they are written, what they mean, and how they survive a new name.

A note goes by its path in the vault, by its file's name, by its title and by its aliases, in this
order: what comes first decides, and what two notes go by at the same place means neither.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from opencrab.domain.errors import Invalid
from opencrab.domain.vault.note import ALIASES, TITLE, Note, vault_note_outside_code
from opencrab.domain.workspace.path import (
    SEGMENT_BYTES,
    workspace_folder_path,
    workspace_path,
    workspace_path_collision_key,
)

VAULT = "vault"
TEMPLATES = f"{VAULT}/templates"

_SUFFIX = ".md"
_LINK = re.compile(r"\[\[([^\[\]|\n]*)(\|[^\[\]\n]*)?\]\]")
_TICKS = re.compile(r"`+")
_BLANK = re.compile(r"\n[ \t\r]*\n")
_NO_NAME = re.compile(r'[<>:"|?*\\/#^\[\]`]+')
_NO_LINK = frozenset("#[]|`")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NAME_BYTES = SEGMENT_BYTES - 8


@dataclass(frozen=True)
class WikiLink:
    """A link `[[target#heading|text]]`.

    `whole` is target and heading as written: a title may contain a hash sign itself.
    """

    target: str
    text: str = ""
    whole: str = ""


@dataclass(frozen=True)
class NoteCard:
    """The names of a note beside its path."""

    path: str
    names: tuple[str, ...] = ()


class NoteIndex:
    """An index of notes by name."""

    def __init__(self, cards: Iterable[NoteCard]) -> None:
        self._tiers: tuple[dict[str, list[str]], ...] = ({}, {}, {})
        for card in cards:
            path = vault_note_name_key(card.path)
            for tier, names in zip(
                self._tiers,
                (
                    {path},
                    {path.rpartition("/")[2]},
                    {vault_note_name_key(name) for name in card.names},
                ),
                strict=True,
            ):
                for name in names - {""}:
                    tier.setdefault(name, []).append(card.path)

    def names(self) -> set[str]:
        """Return all names in the form in which they are compared."""
        return set().union(*self._tiers)

    def find(self, name: str) -> tuple[str, ...]:
        """Return the paths of notes with this name: one if it is unambiguous, none if unknown."""
        key = vault_note_name_key(name)
        return tuple(next((tier[key] for tier in self._tiers if key in tier), ()))

    def follow(self, link: WikiLink) -> tuple[str, ...]:
        """Return the paths that a link may lead to."""
        return (self.find(link.whole) if link.whole else ()) or self.find(link.target)


def vault_note_card(path: str, note: Note | None) -> NoteCard:
    """Return the names of a note; only the path if the note was not read (None)."""
    return NoteCard(path, (*note.values(TITLE)[:1], *note.values(ALIASES)) if note else ())


def vault_note_name_key(text: str) -> str:
    """Return a key that is equal for all spellings of the same name."""
    key = workspace_path_collision_key(text).strip()
    return key.removeprefix(f"{VAULT}/").removesuffix(_SUFFIX).strip()


def wikilinks_in_vault_note(body: str) -> tuple[WikiLink, ...]:
    """Return the links of a note in order, except those in code."""
    links = list[WikiLink]()
    for target, text in _LINK.findall(_without_code(body)):
        whole = target.rstrip("\\").strip()
        name = whole.partition("#")[0].strip()
        if name:
            links.append(WikiLink(name, text[1:].strip(), whole if name != whole else ""))
    return tuple(links)


def vault_note_path(text: str) -> str:
    """Return the file of a note named with or without `vault/` and `.md`; raises Invalid."""
    name = _inner(text)
    name = name[: -len(_SUFFIX)] if name.casefold().endswith(_SUFFIX) else name
    if not name.strip() or name.endswith("/"):
        raise Invalid(f"path {text!r} is not a note", field="path", cure="use one like 'ideas/x'")
    return workspace_path(f"{VAULT}/{name}{_SUFFIX}")


def vault_folder_path_of_notes(text: str) -> str:
    """Return a folder of the vault, named with or without `vault/`; raises Invalid."""
    name = _inner(text).strip("/")
    return VAULT if name in {"", VAULT} else workspace_folder_path(f"{VAULT}/{name}")


def vault_path_for_note_title(title: str, folder: str = "") -> str:
    """Return the path of a new note with this title; raises Invalid if no name is left."""
    visible = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", title)
        if character.isspace() or unicodedata.category(character) not in _HIDDEN
    )
    name = _NO_NAME.sub("-", " ".join(visible.split()))
    name = name.encode()[:_NAME_BYTES].decode(errors="ignore").strip(" .")
    if not name.strip("-"):
        raise Invalid(f"title {title!r} cannot name a file", field="title", cure="use some letters")
    suffix = "" if name.casefold().endswith(_SUFFIX) else _SUFFIX
    return require_vault_linkable_path(
        workspace_path(f"{vault_folder_path_of_notes(folder)}/{name}{suffix}")
    )


def require_vault_linkable_path(path: str) -> str:
    """Return the path; raises Invalid if a link to it cannot be written."""
    bad = sorted(_NO_LINK.intersection(path))
    if bad:
        raise Invalid(
            f"path {path!r} contains {bad[0]!r}, which a link cannot contain",
            field="path",
            cure="remove it",
        )
    return path


def vault_note_file_name(path: str) -> str:
    """Return a note's file name without its ending."""
    return _bare(path).rpartition("/")[2]


def is_note_template(path: str) -> bool:
    """Check whether a file is a template, which links and searches ignore."""
    return workspace_path_collision_key(path).startswith(f"{TEMPLATES}/")


def shortest_vault_wikilink(path: str, index: NoteIndex, text: str = "") -> str:
    """Return the shortest link that leads to one note only; raises Invalid if there is none."""
    if _NO_LINK.intersection(text) - {"#"} or "\n" in text:
        raise Invalid(
            "link_text contains link or table characters", field="link_text", cure="remove [ ] | `"
        )
    for name in (vault_note_file_name(path), _bare(path).partition("/")[2], _bare(path), path):
        if not _NO_LINK.intersection(name) and index.follow(WikiLink(name)) == (path,):
            return f"[[{name}|{text}]]" if text else f"[[{name}]]"
    raise Invalid(f"no unambiguous link to {path!r} is possible", cure="rename that note first")


def add_vault_wikilink_in_context(body: str, link: str, context: str) -> str:
    """Add a link at the end of the line in which the context ends; raises Invalid."""
    wanted = context.strip()
    place = body.find(wanted) if wanted else -1
    if place < 0:
        raise Invalid(
            "context does not occur in the source note",
            field="context",
            cure="copy some words of it exactly, or omit context",
        )
    line = _line_at(body, place + len(wanted))
    at = line.start + len(body[line].rstrip())
    return f"{body[:at]} {link}{body[at:]}"


def vault_wikilink_context_line(body: str, context: str) -> str:
    """Return the line in which the context ends, or ""."""
    place = body.find(context.strip())
    return "" if place < 0 else body[_line_at(body, place + len(context.strip()))]


def add_vault_wikilink_under_heading(body: str, link: str, headings: tuple[str, ...]) -> str:
    """Add a link to the list under the first of these headings that the body has.

    If it has none, the first heading is added at the end.
    """
    lines, plain = body.split("\n"), vault_note_outside_code(body).split("\n")
    start = next((n for n, line in enumerate(plain) if line.strip() in headings), None)
    if start is None:
        above = body.rstrip()
        return f"{above}{above and chr(10) * 2}{headings[0]}\n\n- {link}\n"
    ends = (n for n in range(start + 1, len(lines)) if plain[n].startswith(("# ", "## ")))
    section = range(start, next(ends, len(lines)))
    last = max(n for n in section if lines[n].strip())
    gap = [] if lines[last].lstrip().startswith(("- ", "* ", "+ ")) else [""]
    lines[last + 1 : last + 1] = [*gap, f"- {link}"]
    text = "\n".join(lines)
    return text if text.endswith("\n") else f"{text}\n"


def vault_note_with_path(note: Note, old: str, new: str) -> Note:
    """Return a note for its new path, with its old names as aliases."""
    held = [*note.values(TITLE)[:1], *note.values(ALIASES)]
    if note.value(TITLE) and _vault_file_name_for_title(note.value(TITLE)) == vault_note_file_name(
        old
    ):
        note = note.with_value(TITLE, vault_note_file_name(new))
    known = {
        vault_note_name_key(new),
        vault_note_name_key(vault_note_file_name(new) + _SUFFIX),
        vault_note_name_key(note.value(TITLE)),
    }
    aliases = list[str]()
    for name in (*held, _escape_link_name(vault_note_file_name(old)), _path_spelled(old)):
        if vault_note_name_key(name) not in {*known, *map(vault_note_name_key, aliases)}:
            aliases.append(name)
    return note.with_value(ALIASES, tuple(aliases)) if aliases else note


def _vault_file_name_for_title(title: str) -> str:
    """Return the file name that a note of this title would have, or ""."""
    try:
        return vault_note_file_name(vault_path_for_note_title(title))
    except Invalid:
        return ""


def shadowed_vault_note_name(before: NoteIndex, after: NoteIndex, old: str, new: str) -> str | None:
    """Return a name that would change its meaning if `old` became `new`, or None."""
    for name in sorted(before.names()):
        meant = _exactly(before, name)
        if len(meant) == 1 and _exactly(after, name) != ((new,) if meant == (old,) else meant):
            return name
    return None


def _exactly(index: NoteIndex, key: str) -> tuple[str, ...]:
    """Look up a name that is already in compared form: its prefix is part of it."""
    return index.find(f"{VAULT}/{key}{_SUFFIX}")


def _line_at(body: str, place: int) -> slice:
    """Return the line that contains a place, or ends there."""
    end = body.find("\n", place)
    return slice(body.rfind("\n", 0, place) + 1, len(body) if end < 0 else end)


def _inner(text: str) -> str:
    return text.strip().removeprefix("./").removeprefix(f"{VAULT}/")


def _bare(path: str) -> str:
    return path[: -len(_SUFFIX)] if path.casefold().endswith(_SUFFIX) else path


def _escape_link_name(name: str) -> str:
    """Return a name so that parsing it as a link keeps all of it."""
    return (
        f"{name}{_SUFFIX}"
        if vault_note_name_key(name) != vault_note_name_key(f"{VAULT}/{name}{_SUFFIX}")
        else name
    )


def _path_spelled(path: str) -> str:
    short = _bare(path).partition("/")[2]
    return short if vault_note_name_key(short) == vault_note_name_key(path) else path


def _without_code(body: str) -> str:
    parts = (_without_spans(part) for part in _BLANK.split(vault_note_outside_code(body)))
    return "\n\n".join(parts)


def _without_spans(paragraph: str) -> str:
    """Remove code spans from a paragraph: from some backticks to the next equally many."""
    return "".join(_between_spans(paragraph, list(_TICKS.finditer(paragraph))))


def _between_spans(paragraph: str, runs: list[re.Match[str]]) -> Iterator[str]:
    ends = dict[int, deque[int]]()
    for place, run in enumerate(runs):
        ends.setdefault(len(run.group()), deque()).append(place)
    shown, place = 0, 0
    while place < len(runs):
        same = ends[len(runs[place].group())]
        while same and same[0] <= place:
            same.popleft()
        if same:
            yield f"{paragraph[shown : runs[place].start()]}`"
            place = same[0]
            shown = runs[place].end()
        place += 1
    yield paragraph[shown:]
