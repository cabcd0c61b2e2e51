"""Text that can do nothing to a terminal but be read.

Whatever comes from outside is cleaned of control characters before it reaches the screen, so
that nobody's words can move the cursor, hide text or speak to the terminal itself.
"""

import json
import re
import unicodedata
from typing import Any

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # what moves and colours
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # what names windows and links
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
_UNSAFE_IN_JSON = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""Characters that show as nothing although Unicode counts them among letters, marks and symbols."""


def clean_terminal_text(text: object) -> str:
    """Remove control characters from a text, and replace lone surrogates."""
    whole = str(text).encode("utf-8", "replace").decode()
    return _CONTROL.sub("", whole.replace("\t", "    "))


def truncate_terminal_line(text: object, length: int) -> str:
    """Join a text into one line and cut it to a length, with an ellipsis if cut."""
    line = " ".join(clean_terminal_text(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def visible_terminal_text(text: object) -> str:
    """Escape every invisible character of a text, so that it shows what it contains."""
    return "".join(_escape_hidden_character(character) for character in str(text))


def _escape_hidden_character(character: str) -> str:
    if character == "\n":
        return character
    kind = unicodedata.category(character)
    hidden = kind[0] == "C" or kind in {"Zl", "Zp"} or _BLANK.match(character)
    return _written_out(character) if hidden else character


def _written_out(character: str) -> str:
    """Escape a character as JSON does: as two surrogates beyond U+FFFF."""
    halves = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{halves[n : n + 4]}" for n in range(0, len(halves), 4))


def terminal_json_line(value: Any) -> str:
    """Return a value as JSON on one line of UTF-8, with invisible characters escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE_IN_JSON.sub(lambda found: _written_out(found.group()), text)
