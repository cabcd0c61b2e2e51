"""Plain text: what of a text is visible, and the same text on one line."""

import re
import unicodedata

_KEPT = {"\n", "\t"}


_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible characters that Unicode counts among letters and marks."""


def clean_text(text: str) -> str:
    """Remove characters that are invisible or reorder text; line breaks stay."""
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    shown = (c for c in lines if c in _KEPT or unicodedata.category(c) not in _HIDDEN)
    return _BLANK.sub("", "".join(shown)).strip()


def text_on_one_line(text: str) -> str:
    """Return the visible text on one line, each gap a single space."""
    return " ".join(clean_text(text).split())
