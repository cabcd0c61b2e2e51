"""Foreign text as a model gets it: whole, visible characters, and not too many of them."""

import re
import unicodedata

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn"}
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks that show nothing."""

_SELECTORS = re.compile(
    "([\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
)
"""One of them chooses the form of a character; many in a row are a message that nobody sees."""

_LINES = re.compile(r"\r\n?|[\u2028\u2029\x85\x0b\x0c]")
_EMPTY_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


def strip_invisible_page_text(text: str) -> str:
    """Remove invisible characters, bidirectional controls included."""
    lines = _LINES.sub("\n", text)
    kept = "".join(filter(_is_visible, lines))
    return _EMPTY_LINES.sub("\n\n", _SELECTORS.sub(r"\1", kept)).strip()


def visible_web_page_line(text: str, characters: int) -> str:
    """Return the visible text on one line, cut to a number of characters."""
    line = " ".join(strip_invisible_page_text(text[: 4 * characters]).split())
    return line if len(line) <= characters else f"{line[: characters - 1]}…"


def clip_web_page_text(text: str, size: int) -> tuple[str, bool]:
    """Cut a text to a number of bytes, at a character; True if it was cut."""
    whole = text.encode()
    return (text, False) if len(whole) <= size else (whole[:size].decode(errors="ignore"), True)


def _is_visible(character: str) -> bool:
    if character.isascii():
        return (character >= " " and character != "\x7f") or character in "\n\t"
    return character not in _BLANKS and unicodedata.category(character) not in _INVISIBLE
