"""What a reader found of an agent elsewhere, in our words: the same for every source.

Texts are cleaned as they are added: of characters that no store takes, and of what looks like a
key or a password, which is not taken over.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from opencrab.domain.errors import Invalid
from opencrab.domain.memory.memory import MEMORY_CHARACTERS
from opencrab.domain.value import Language, value_with_surrogates_joined
from opencrab.domain.workspace.path import (
    is_workspace_path,
    workspace_path,
    workspace_path_collision_key,
)
from opencrab.engine.bundle.limits import BUNDLE_FILE_BYTES, BUNDLE_FILES

FOUND_MEMORIES = 4_000
"""The most memories that a source becomes: an agent has room for 5,000."""

REDACTED = "[removed]"

_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}"
    r"|glpat-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{20,}|\d{8,10}:[A-Za-z0-9_-]{35})"
    r"|(?i:(?<![A-Za-z0-9])(?:api[_ -]?key|secret|token|password|passwd|パスワード|密码)[\"'`*]*\s*"
    r"[:=：][\s\"'`*]*[^\s\"'`*]{12,})"
)
_SECRET_FILES = re.compile(
    r"(^|/)(\.env(\..*)?|credentials.*|auth-profiles\.json|auth\.json|.*\.(pem|key|p12|pfx)"
    r"|id_(rsa|ed25519|ecdsa)|secrets?\..*|\.netrc)$",
    re.IGNORECASE,
)


class SourceFiles(Protocol):
    """The files of a source, as far as they may be read: a folder, a zip, or one file."""

    @property
    def name(self) -> str:
        """The name of the folder or file."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """The folders of code and its history, whose files are not listed."""

    def names(self) -> tuple[str, ...]:
        """Return the paths of all files, relative, with slashes, in order."""

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""

    def read(self, name: str) -> bytes:
        """Return a file's content; raises Invalid and TooLarge."""

    def table(self, name: str, table: str) -> list[Mapping[str, Any]]:
        """Return the rows of a table of an SQLite file; none without it. Raises Invalid."""


@dataclass(frozen=True)
class FoundSkill:
    """A skill of elsewhere, in the form of the Agent Skills specification."""

    name: str
    description: str
    guidance: str


@dataclass(frozen=True)
class FoundSchedule:
    """A schedule of elsewhere; `when` is a rule of ours."""

    name: str
    when: str
    instructions: str
    zone: str = "UTC"


@dataclass
class FoundAgent:
    """An agent of elsewhere; `lost` counts what is not taken over, by its name and why."""

    source: str
    name: str = ""
    language: Language = Language.EN
    purpose: str = ""
    traits: dict[str, str] = field(default_factory=dict)
    soul: dict[str, Any] = field(default_factory=dict)
    identity: dict[str, Any] = field(default_factory=dict)
    memories: list[tuple[str, datetime | None]] = field(default_factory=list)
    skills: list[FoundSkill] = field(default_factory=list)
    schedules: list[FoundSchedule] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    _numbers: dict[str, int] = field(default_factory=dict, repr=False)
    """The last number that each path's key was given."""

    def lose(self, what: str, why: str, count: int = 1) -> None:
        """Note that something is not taken over."""
        named = _SECRET.sub(REDACTED, clean_source_text(what))[:200]
        self.lost[named or "?", why] += count

    def clean(self, text: str, where: str) -> str:
        """Return a text without what no store takes and what looks like a secret."""
        kept, count = _SECRET.subn(REDACTED, clean_source_text(text))
        if count:
            self.lose(where, "secret", count)
        return kept

    def add_memory(self, text: str, where: str, at: datetime | None = None) -> None:
        """Add a memory, a long text as several."""
        for part in _parts(self.clean(text, where).strip()):
            if len(self.memories) >= FOUND_MEMORIES:
                self.lose(where, "too_many")
                return
            self.memories.append((part, at))

    def add_memories_of_markdown(self, text: str, where: str, at: datetime | None = None) -> None:
        """Add one memory for each paragraph or entry of a list, under its heading."""
        for part in markdown_paragraphs(text):
            self.add_memory(part, where, at)

    def add_trait(self, label: str, text: str, where: str) -> None:
        """Add a text about the persona; more than a trait may have is cut and said."""
        text = self.clean(text, where).strip()
        if not text:
            return
        if len(text) > _TRAIT:
            self.keep_whole(where, text)
        self.traits[label] = text[:_TRAIT]

    def keep_whole(self, what: str, text: str) -> None:
        """Keep a text in a file, of which the persona has only the beginning."""
        name = _NO_FILE_NAME.sub("-", what.removesuffix(".md")) or "persona"
        self.add_file(f"imported/{self.source}/whole-{name}.md", text.encode(errors="replace"))
        self.lose(what, "cut_to_file")

    def add_file(self, path: str, content: bytes) -> None:
        """Add a workspace file; text is cleaned, and what has no valid path is noted as lost."""
        if _SECRET_FILES.search(path):
            self.lose(path, "secret")
            return
        named = self._free_path(path)
        if not named:
            self.lose(path, "path")
            return
        if len(content) > BUNDLE_FILE_BYTES:
            self.lose(path, "too_large")
            return
        if len(self.files) >= BUNDLE_FILES:
            self.lose("files", "too_many")
            return
        with suppress(UnicodeDecodeError):
            content = self.clean(content.decode("utf-8"), path).encode()
        if named != unicodedata.normalize("NFC", path):
            self.lose(path, "renamed")
        self.files[named] = content

    def _free_path(self, path: str) -> str:
        """Return a path for a file that no other has, also where letters' case is one; or ""."""
        try:
            path = workspace_path(path)
        except Invalid:
            with suppress(Invalid):
                return self._free_path(workspace_path(_repaired_path(path)))
            return ""
        stem, dot, suffix = path.rpartition(".")
        if not dot or "/" in suffix:
            stem, dot, suffix = path, "", ""
        key = workspace_path_collision_key(path)
        number, free = self._numbers.get(key, 1), path
        while workspace_path_collision_key(free) in self._numbers:
            number += 1
            free = f"{stem}-{number}{dot}{suffix}"
        self._numbers |= {key: number, workspace_path_collision_key(free): 1}
        # A number may be what a long name has no room for.
        return free if is_workspace_path(free) else ""

    def add_session(self, session_id: str, title: str) -> None:
        """Begin a conversation; lines that are added after it are its lines."""
        name = self.clean(title, "title")[:200]
        value = {"id": clean_source_text(session_id)[:_SESSION_ID], "name": name}
        self.sessions.append({"kind": "session", "value": value})

    def drop_empty_session(self, what: str) -> bool:
        """Take back the conversation that was begun last if it has no line; return if so."""
        if not self.sessions or self.sessions[-1]["kind"] != "session":
            return False
        self.sessions.pop()
        self.lose(what, "empty")
        return True

    def add_line(self, speaker: str, text: str, at: datetime | None, where: str) -> None:
        """Add what was said in the conversation that was begun last."""
        said, when = self.clean(text, where).strip(), at.isoformat() if at else ""
        speaker = self.clean(speaker, where)[:200]
        for start in range(0, len(said), _LINE):
            line = {"speaker_name": speaker, "text": said[start : start + _LINE], "at": when}
            self.sessions.append({"kind": "line", "value": line})


_TRAIT = 4_000
_SESSION_ID = 200
_NO_FILE_NAME = re.compile(r"[^\w.-]+")
_NO_PATH = re.compile(r'[<>:"|?*\\\x00-\x1f]')
_LINE = 40_000
"""The characters of one row of a conversation, of six bytes at most: what is longer is several."""

_FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*\n", re.DOTALL)
_RULE = re.compile(r"\s*([-*_])(\s*\1){2,}\s*")
_FENCE = re.compile(r"\s*(```|~~~)(?!.*\1)")
_ENTRY = re.compile(r"\s*([-*+]|\d+[.)])\s+")


def _repaired_path(path: str) -> str:
    """Return a path without what no path of ours has, such as the ? of a note's title.

    One that leads elsewhere, as the names in an archive may, stays as it is.
    """
    parts = path.split("/")
    if {"", ".", ".."} & set(parts):
        return path
    *folders, name = (_NO_PATH.sub("-", part).rstrip(" .") or "-" for part in parts)
    repaired = "/".join((*folders, name))
    try:
        return workspace_path(repaired)
    except Invalid:
        # The name of a device, as con.md, is none with a sign more.
        stem, dot, suffix = name.partition(".")
        return "/".join((*folders, f"{stem}-{dot}{suffix}"))


def clean_source_text(text: str) -> str:
    """Return a text without NUL, and with surrogates joined or replaced."""
    return str(value_with_surrogates_joined(text)).replace("\x00", "").replace("\r\n", "\n")


def source_text(files: SourceFiles, name: str) -> str:
    """Return a file as text; what is not UTF-8 is replaced."""
    return files.read(name).decode("utf-8-sig", "replace")


def front_matter_of_source(text: str) -> tuple[Mapping[str, str], str]:
    """Return the plain entries of a Markdown file's front matter, and the text below it."""
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    entries = dict[str, str]()
    last = ""
    for line in found[1].split("\n"):
        key, colon, value = line.partition(":")
        if colon and not line[:1].isspace() and key.strip():
            last = key.strip().casefold()
            entries[last] = value.strip().strip("\"'").removeprefix(">").removeprefix("|").strip()
        elif last and line.strip():
            entries[last] = f"{entries[last]} {line.strip()}".strip()
    return entries, text[found.end() :]


def markdown_paragraphs(text: str) -> list[str]:
    """Return the paragraphs and entries of lists of a Markdown text, each with its heading."""
    _, body = front_matter_of_source(clean_source_text(text))
    parts, heading, lines = list[str](), "", list[str]()

    def end() -> None:
        told = "\n".join(lines).strip()
        if told:
            parts.append(f"{heading}: {told}" if heading else told)
        lines.clear()

    fenced = False
    for line in body.split("\n"):
        fenced ^= _FENCE.match(line) is not None
        if fenced:
            # A comment in code is no heading, and code with an empty line is one piece.
            lines.append(line)
        elif line.startswith("#"):
            end()
            heading = line.lstrip("#").strip()
        elif not line.strip() or _RULE.fullmatch(line):
            end()
        elif _ENTRY.match(line) and not line[:1].isspace():
            end()
            lines.append(_ENTRY.sub("", line, count=1))
        else:
            lines.append(line)
    end()
    return parts


def _parts(text: str) -> list[str]:
    most = MEMORY_CHARACTERS
    return [text[start : start + most] for start in range(0, len(text), most)]
