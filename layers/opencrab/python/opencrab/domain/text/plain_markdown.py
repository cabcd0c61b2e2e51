"""Markdown as plain text, for chat services that show marks as they are."""

import re
from collections.abc import Iterator

from opencrab.domain.text.markdown import (
    HEADING,
    STRONG,
    STRONG_IN_JAPANESE,
    MarkdownLineKind,
    classify_markdown_lines,
    replace_outside_markdown_code,
)

_BULLET = re.compile(r"^([ \t]*)[*+-][ \t]+")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\((https?://[^()\s]{1,1000})\)")


def plain_text_of_markdown(text: str) -> str:
    """Return Markdown as services show it that know none: without marks that would be seen as such.

    Code stays as it is, without the fences around it.
    """
    return "\n".join(_plain_lines(text))


def _plain_lines(text: str) -> Iterator[str]:
    for kind, line in classify_markdown_lines(text):
        if kind is not MarkdownLineKind.FENCE:
            yield line if kind is MarkdownLineKind.CODE else _plain_line(line)


def _plain_line(line: str) -> str:
    heading = HEADING.match(line)
    words = f"■ {heading[1]}" if heading else _BULLET.sub(r"\1・", line)
    return replace_outside_markdown_code(words, _plain_words)


def _plain_words(words: str) -> str:
    """Return words without marks of emphasis and links."""
    words = STRONG.sub(r"\1", _LINK.sub(_spelled_link, words))
    return STRONG_IN_JAPANESE.sub(r"\1", words)


def _spelled_link(found: re.Match[str]) -> str:
    words, address = found[1], found[2]
    return address if words == address else f"{words} ({address})"
