"""Visible text: what a person decides by, with everything that hides in it written out.

A hidden character becomes its code point in `⟨…⟩`, as in `⟨U+202E⟩` or `⟨U+200B⟩`, and a
look-alike is followed by its own. A `⟨` of the text itself is written so too: two texts
that differ are never shown alike by a mark.

The rules follow Unicode: hidden are the general categories C (but line feed), Zl, Zp, every Zs but
the space and the ideographic space, and what UAX #44 lists as Default_Ignorable_Code_Point; more
than four nonspacing marks in a row, and words of mixed scripts or of look-alikes only, are found as
UTS #39 (sections 5.1 to 5.4) says. Python does not know a character's script, so that is the first
word of its name.
"""

import re
import unicodedata
from functools import lru_cache

_MARKS_IN_A_ROW = 4
_SHOWN_SPACES = {" ", "\u3000"}
_NAMED_MARK = "⟨"
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt."""

_BLANK = {"\u2800"}
"""The braille pattern without dots: a symbol to Unicode, nothing to an eye."""

_LOOK_ALIKES = frozenset("аеорсухіјѕһԁԛԝӏѵгүАВЕКМНОРСТХІЈЅҮУԌԚԜӀЬανορσυιγϲϳϱΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ")
"""Letters that confusables.txt of UTS #39 maps to a letter of ASCII, by the scripts in use."""

_LATIN_LOOK_ALIKES = frozenset("ıɑɡɩǀᴄᴏᴜᴠᴡᴢꜱ")  # noqa: RUF001
_EAST_ASIAN = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"}
"""Scripts that UTS #39 lets a word mix with Latin: no letter of theirs looks like one of it."""

_PLAIN = re.compile("[ -~\n\u3000-\u3029\u3030-\u3098\u309b-\u30ff\u4e00-\u9fff\uff01-\uff9f]*")
"""Texts without anything to mark, as nearly all are: in ASCII, kana, and the usual ideographs."""

_COMMON = {"MICRO", "FEMININE", "MASCULINE"}
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = "LATIN"


def visible_text(text: str) -> str:
    """Return a text with hidden characters and look-alikes marked; line feeds stay."""
    if _PLAIN.fullmatch(text):
        return text
    letters = set(text)
    hidden = "".join(map(re.escape, sorted(filter(_is_hidden, letters))))
    above = "".join(map(re.escape, sorted(filter(_is_nonspacing, letters))))
    found = [rf"(?:([{hidden}])\1*)"] if hidden else []
    found += [rf"(?<=[{above}]{{{_MARKS_IN_A_ROW}}})([{above}])"] if above else []
    if not found:
        return _mark_look_alikes(text, has_latin=_has_latin(letters))
    return _join(text, re.compile("|".join(found)), has_latin=_has_latin(letters))


def is_default_ignorable(character: str) -> bool:
    """Check whether Unicode lists a character as one that nothing is drawn for."""
    return _IGNORABLE.match(character) is not None


def visible_line(text: str) -> str:
    """Return a text as one line: as `visible_text`, with line feeds marked too."""
    return visible_text(text).replace("\n", _mark("\n", 1))


def _join(text: str, hidden: re.Pattern[str], *, has_latin: bool) -> str:
    shown, end = list[str](), 0
    for found in hidden.finditer(text):
        shown.append(_mark_look_alikes(text[end : found.start()], has_latin=has_latin))
        shown.append(_mark(found.group()[0], len(found.group())))
        end = found.end()
    shown.append(_mark_look_alikes(text[end:], has_latin=has_latin))
    return "".join(shown)


def _mark(character: str, times: int) -> str:
    repeated = f"×{times}" if times > 1 else ""
    return f"⟨U+{ord(character):04X}{repeated}⟩"


def _is_hidden(character: str) -> bool:
    if character == "\n":
        return False
    kind = unicodedata.category(character)
    is_space = kind == "Zs" and character not in _SHOWN_SPACES
    is_named = character == _NAMED_MARK or character in _BLANK
    is_ignorable = is_default_ignorable(character)
    return kind[0] == "C" or kind in {"Zl", "Zp"} or is_space or is_named or is_ignorable


def _is_nonspacing(character: str) -> bool:
    return unicodedata.category(character) in {"Mn", "Me"} and not _is_hidden(character)


def _mark_look_alikes(text: str, *, has_latin: bool) -> str:
    if text.isascii():
        return text
    return _WORD.sub(lambda found: _visible_word(found.group(), has_latin=has_latin), text)


def _visible_word(word: str, *, has_latin: bool) -> str:
    if word.isascii():
        return word
    shown, part = list[str](), ""
    for character in word:
        if _script(character) in _EAST_ASIAN:
            shown += [_visible_part(part, has_latin=has_latin), character]
            part = ""
        else:
            part += character
    return "".join([*shown, _visible_part(part, has_latin=has_latin)])


def _visible_part(part: str, *, has_latin: bool) -> str:
    """Mark the letters of a word without East Asian ones that are not what they look like."""
    if part.isascii():
        return part
    scripts = [script for script in map(_script, part) if script]
    main = _LATIN if _LATIN in scripts else next(iter(scripts), "")
    is_disguised = has_latin and all(letter in _LOOK_ALIKES for letter in part)
    shown, odd = list[str](), list[str]()
    for letter in part:
        foreign = _script(letter) not in {"", main}
        if foreign or is_disguised or _is_compatible(letter) or letter in _LATIN_LOOK_ALIKES:
            odd.append(letter)
        else:
            shown += [_name_letters(odd), letter]
            odd = []
    return "".join([*shown, _name_letters(odd)])


def _name_letters(letters: list[str]) -> str:
    if not letters:
        return ""
    return f"{''.join(letters)}⟨{' '.join(f'U+{ord(letter):04X}' for letter in letters)}⟩"


def _has_latin(letters: set[str]) -> bool:
    return any(_script(letter) == _LATIN for letter in letters)


@lru_cache(maxsize=4_096)
def _script(character: str) -> str:
    """The first word of a letter's name that says its script; "" for what all scripts use."""
    if unicodedata.category(character) not in {"Lu", "Ll", "Lt", "Lo"}:
        return ""
    first, _, rest = unicodedata.name(character, "").partition(" ")
    if first in {"FULLWIDTH", "HALFWIDTH"}:
        first = rest.partition(" ")[0]
    return "" if first in _COMMON else first


@lru_cache(maxsize=4_096)
def _is_compatible(letter: str) -> bool:
    """Check whether a letter is another form of one of ASCII, such as a mathematical one."""
    if letter.isascii() or "\uff00" <= letter <= "\uffef" or not letter.isalpha():
        return False
    return unicodedata.normalize("NFKC", letter).isascii()
