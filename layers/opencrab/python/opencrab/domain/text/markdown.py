"""Markdown as models write it: what renderers for services without it have in common."""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum

HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$")
STRONG = re.compile(r"(?<![\w*])\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*(?![\w*])")
STRONG_IN_JAPANESE = re.compile(r"\*\*(?=\S)([^*\n]*[^\x00-\x7f][^*\n]*?)(?<=\S)\*\*")
"""Without spaces around it, as Japanese has none; its words need a character beyond ASCII."""

_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_CODE = re.compile(r"(`+[^`\n]+`+)")


class MarkdownLineKind(StrEnum):
    """What a line is: a fence around code, code within one, or text."""

    FENCE = "fence"
    CODE = "code"
    TEXT = "text"


def classify_markdown_lines(text: str) -> Iterator[tuple[MarkdownLineKind, str]]:
    """Yield the lines of a text with their kinds."""
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
            yield MarkdownLineKind.FENCE, line
        elif found and found[1] == fence and line.strip() == fence:
            fence = ""
            yield MarkdownLineKind.FENCE, line
        else:
            yield MarkdownLineKind.CODE if fence else MarkdownLineKind.TEXT, line


def replace_outside_markdown_code(line: str, replace: Callable[[str], str]) -> str:
    """Return a line with its parts outside of inline code replaced."""
    parts = _CODE.split(line)
    parts[::2] = map(replace, parts[::2])
    return "".join(parts)
