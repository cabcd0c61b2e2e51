"""Hidden characters of a name: those that nobody sees, or that turn the direction of a text.

Invisible characters that a script needs do not count: the joiners of an emoji sequence, of Indic
conjuncts and between Arabic letters, variation selectors of ideographs and pictographs, and the
tags of a flag (UTS #51, UAX #31 section 2.3).
"""

import re
import unicodedata
from collections.abc import Iterator

_JOINER, _NON_JOINER = "\u200d", "\u200c"
_VIRAMA = 9
_BLANK = "\u2800"
_BEFORE_DIGITS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
"""Format characters that are seen: Arabic and Syriac signs written before or around digits."""

_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt."""


_NEEDED = re.compile(
    "(?<=[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
    "[\ufe00-\ufe02\U000e0100-\U000e01ef]"
    "|(?<=[\u1820-\u18aa])[\u180b-\u180d\u180f]"
    "|(?<=[#*0-9])\ufe0f(?=\u20e3)"
    "|(?<=\U0001f3f4)[\U000e0020-\U000e007e]+\U000e007f"
)
"""Selectors after an ideograph or a Mongolian letter, keycaps, and the tags of a flag."""


def hidden_text_in_name(text: str) -> str:
    """Return the first character of a name that nobody sees and no script needs, else ""."""
    return next((text[place] for place in _hidden_places(text)), "")


def name_without_hidden_text(text: str) -> str:
    """Return a name that came from outside without the characters that nobody sees."""
    places = set(_hidden_places(text))
    return "".join(each for place, each in enumerate(text) if place not in places)


def is_ignorable_text_character(character: str) -> bool:
    """Check whether Unicode lists a character as one that nothing is drawn for."""
    return _IGNORABLE.match(character) is not None


def _hidden_places(text: str) -> Iterator[int]:
    if text.isascii():
        return
    needed = {place for found in _NEEDED.finditer(text) for place in range(*found.span())}
    for place, character in enumerate(text):
        if _hides(character) and place not in needed and not _is_joined(text, place):
            yield place


def _hides(character: str) -> bool:
    if character in _BEFORE_DIGITS:
        return False
    is_format = unicodedata.category(character) == "Cf"
    return is_format or is_ignorable_text_character(character) or character == _BLANK


def _is_joined(text: str, place: int) -> bool:
    """Check whether a joiner or an emoji's selector stands where its script needs it."""
    character = text[place]
    before = text[place - 1] if place else ""
    after = text[place + 1 : place + 2]
    if "\ufe00" <= character <= "\ufe0f":
        return _is_pictograph(before)
    if character not in {_JOINER, _NON_JOINER} or not before:
        return False
    if unicodedata.combining(before) == _VIRAMA:
        return True
    if character == _NON_JOINER:
        return _is_arabic(before) and _is_arabic(after)
    if before == "\ufe0f":
        before = text[place - 2 : place - 1]
    return _is_pictograph(before) and _is_pictograph(after)


def _is_pictograph(character: str) -> bool:
    """Check for a symbol, a skin tone, or an emoji that this Unicode version does not know yet."""
    if not character or character.isascii():
        return False
    kind = unicodedata.category(character)
    is_newer = kind == "Cn" and 0x1F000 <= ord(character) <= 0x1FAFF  # noqa: PLR2004
    return kind in {"So", "Sk", "Sm"} or is_newer or character in "‼⁉〰〽"


def _is_arabic(character: str) -> bool:
    return bool(character) and unicodedata.bidirectional(character) == "AL"
