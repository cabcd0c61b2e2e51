"""Titles of conversations: the beginning of their first message, cut where a word ends."""

import re
import unicodedata

COLUMNS = 48
"""The most columns of a title in a terminal; wide characters, as in Japanese, take two."""

_MARKS = re.compile(r"^(?:[#>*+\-•・ 　]|```\w*|\d+[.)] )+")
ATTACHED = re.compile(r"\[(?:image|file) workspace:(?:[^\]\n]*/)?([^/\]\n]+)\]")
"""How an attachment is written into the text of a message; the group is its name."""

_SENTENCE_END = re.compile(r"(?<=[。！？!?])|(?<=\.)(?=\s)")
_SHORTEST = 14
"""The fewest columns of a sentence that is a title alone; what is shorter is a greeting."""


def conversation_title(text: str, columns: int = COLUMNS) -> str:
    """Return the title that a conversation has by its first message; "" if it says nothing.

    It is the first sentence of the first line with words, cut at a word, in Japanese at a
    character, with an ellipsis. Attachments have their names.
    """
    lines = (ATTACHED.sub(r"\1", line) for line in text.splitlines())
    words = (_MARKS.sub("", _one_line(line)) for line in lines)
    said = next((line for line in words if line), "")
    return _cut(_first_sentence(said), columns)


def conversation_title_column_width(text: str) -> int:
    """Return how many columns a text takes in a terminal."""
    return sum(map(_width, text))


def _one_line(line: str) -> str:
    visible = "".join(" " if each.isspace() else each for each in line if _shows(each))
    return " ".join(visible.split())


def _shows(character: str) -> bool:
    return character.isspace() or character == "\u200d" or unicodedata.category(character)[0] != "C"


def _first_sentence(line: str) -> str:
    end = 0
    for part in _SENTENCE_END.split(line):
        end += len(part)
        if conversation_title_column_width(line[:end]) >= _SHORTEST:
            break
    return line[:end].strip().rstrip("。")


def _cut(line: str, columns: int) -> str:
    if conversation_title_column_width(line) <= columns:
        return line
    kept, used = "", 1
    for character in line:
        used += _width(character)
        if used > columns:
            break
        kept += character
    rest = line[len(kept) :]
    # A word is cut only if it is the only one, or has no spaces around it, as in Japanese.
    if rest[:1].isascii() and rest[:1].isalnum() and kept[-1:].isascii():
        kept = kept[: kept.rfind(" ")] if " " in kept else kept
    while kept and (not _width(rest[0]) or kept[-1] == "\u200d"):
        rest, kept = kept[-1] + rest, kept[:-1]
    return f"{kept.rstrip(' 、,;:')}…"


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Cf", "Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
