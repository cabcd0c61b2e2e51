"""The fenced blocks of all pages, and the `opencrab` commands that they show."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from tests.conftest import ROOT

SHELLS = ("", "console", "sh")
_FENCE = re.compile(r"^( *)```(\w*)")
_NAME = "opencrab"
_INNER = re.compile(r"\$\((opencrab [^()|]*)")
_ENDS = {"<", "|", "||", "&&", ";", "&"}
_CONTINUED = re.compile(r"\s*\\\n\s*")
_GAP = re.compile(r"\s{2,}")
_SET = re.compile(r"[A-Z_]+=.*")


@dataclass(frozen=True)
class Fence:
    """One fenced block: where it stands, of which kind it is, and its lines."""

    page: Path
    number: int
    kind: str
    lines: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        return f"{self.page.relative_to(ROOT)}:{self.number}"

    @property
    def text(self) -> str:
        """Its lines, as one text."""
        return "\n".join(self.lines)


@cache
def fences() -> tuple[Fence, ...]:
    """Every fenced block of the documentation."""
    found = [*ROOT.glob("README*.md"), ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    return tuple(fence for page in sorted(found) for fence in read_fences(page))


def commands(fence: Fence) -> Iterator[list[str]]:
    """The words of each `opencrab` command that a block of a shell shows, without its name."""
    for line in _typed(fence):
        yield from (words(inner)[1:] for inner in _INNER.findall(line))
        command: list[str] = []
        for word in [*words(line), ";"]:
            if word not in _ENDS:
                # What is set before a command is no part of it.
                command += [] if not command and _SET.fullmatch(word) else [word]
                continue
            if command[:1] == [_NAME]:
                yield command[1:]
            command = []


def words(line: str) -> list[str]:
    """The words of a line as a shell reads it, operators among them."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    return list(reader)


def read_fences(page: Path) -> Iterator[Fence]:
    """The fenced blocks of one page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    marks = [(number, found) for number, line in enumerate(lines) if (found := _FENCE.match(line))]
    for (start, mark), (end, _) in list(pairwise(marks))[::2]:
        indent, kind = mark.groups()
        content = tuple(line.removeprefix(indent) for line in lines[start + 1 : end])
        yield Fence(page, start + 1, kind, content)


def _typed(fence: Fence) -> Iterator[str]:
    """The lines that a person types, each whole."""
    if fence.kind not in SHELLS:
        return
    lines = _CONTINUED.sub(" ", fence.text).split("\n")
    if fence.kind == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    else:
        # What stands behind a gap explains the command.
        lines = [_GAP.split(line.strip())[0] for line in lines]
    yield from (line for line in lines if _NAME in line)
