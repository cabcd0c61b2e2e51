"""Visible text: what a person decides by, with everything that hides in it written out.

A hidden character becomes its code point in `⟨…⟩`, as in `⟨U+202E⟩` or `⟨U+200B⟩`, and a
look-alike is followed by its own. A `⟨` of the text itself is written so too: two texts
that differ are never shown alike by a mark.

The rules follow Unicode: hidden are the general categories C (but line feed), Zl, Zp, every Zs but
the space and the ideographic space, and what UAX #44 lists as Default_Ignorable_Code_Point.
Look-alikes are found as UTS #39 (sections 5.1 to 5.4) says: words of mixed scripts, of look-alikes
only, or of a script that UAX #31 does not recommend for identifiers; digits of two systems in one
number, or of a script that has no letter in the text; a nonspacing mark twice, or more than four in
a row; signs that look like one of ASCII. Python does not know a character's script, so that is the
first word of its name.
"""

import re
import unicodedata
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache

from opencrab.domain.text.hidden import is_ignorable_text_character

_MARKS_IN_A_ROW = 4
_SHOWN_SPACES = {" ", "\u3000"}
_NAMED_MARK = "⟨"
_BLANK = {"\u2800"}
"""The braille pattern without dots: a symbol to Unicode, nothing to an eye."""

_LOOK_ALIKES = frozenset(
    "аеорсухіјѕһԁԛԝӏѵгүАВЕКМНОРСТХІЈЅҮУԌԚԜӀЬανορσυιγϲϳϱΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹաբգզհյոռսցքօլՍՏՕԼסוןاه"
)
"""Letters that confusables.txt of UTS #39 maps to a letter of ASCII, by the scripts in use."""

_LATIN_LOOK_ALIKES = frozenset("ıɑɡɩǀǁǃɪɯɣʋʏſƅƍƖƽꙅᴄᴏᴑᴜᴠᴡᴢꜱːꬽꭎꭒꭇꭈ")
_SIGN_LOOK_ALIKES = frozenset("⁄∕⧸᜵╱⟋∖⧵⧹꞉∶˸։׃᠃᠉⁚܁܂܃܄۔․‐‑⁃˗∣❘∗⁎٭˂˃;`")  # noqa: RUF001
"""Signs that confusables.txt maps to one of ASCII, of those that no other rule finds."""

_MINUS, _FRACTION = "−", "⁄"  # noqa: RUF001
_ORDINALS = {"º", "ª"}
_UNITS = {"μ", "Ω"}
"""Greek letters that stand in units before and behind Latin ones, and look like none."""

_EAST_ASIAN = {
    "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "HENTAIGANA", "MASU",
}  # fmt: skip
"""Scripts that UTS #39 lets a word mix with Latin: no letter of theirs looks like one of it."""

_RECOMMENDED = _EAST_ASIAN | {
    "ARABIC", "ARMENIAN", "BENGALI", "CYRILLIC", "DEVANAGARI", "ETHIOPIC", "GEORGIAN", "GREEK",
    "GUJARATI", "GURMUKHI", "HEBREW", "KANNADA", "KHMER", "LAO", "LATIN", "MALAYALAM", "MYANMAR",
    "ORIYA", "SINHALA", "TAMIL", "TELUGU", "THAANA", "THAI", "TIBETAN",
}  # fmt: skip
"""Recommended scripts of UAX #31: those in everyday use. The letters of others are marked."""

_PLAIN = re.compile("[ -~\n\u3000-\u3029\u3030-\u3098\u309b-\u30ff\u4e00-\u9fff\uff01-\uff9f]*")
"""Texts without anything to mark, as nearly all are: in ASCII, kana, and the usual ideographs."""

_COMMON = {
    "MICRO", "FEMININE", "MASCULINE", "MODIFIER", "CARON", "KATAKANA-HIRAGANA", "VERTICAL",
    "SUPERSCRIPT", "ROMAN", "SMALL", "HANGZHOU",
}  # fmt: skip
_LETTERS = {"Lu", "Ll", "Lt", "Lo"}
_OTHER_LETTERS = {"Lm", "Nl"}
"""Letters that several scripts use, such as ー, and numerals; only those of rare scripts count."""

_MARKS = {"Mn", "Mc", "Me"}
_SIGNS = "PS"
_WIDE = ("FULLWIDTH", "HALFWIDTH")
_TOKEN = re.compile(r"(?P<word>[^\W\d_]+)|(?P<number>\d+(?:[.,]\d+)*)|(?P<sign>[^\x00-\x7f])")
_LATIN = "LATIN"
_LATIN_PAIR = re.compile("[A-Za-z]{2}")
_LONE_NUMERALS = frozenset("ⅬⅭⅮⅯⅼⅽⅾⅿ")
"""Roman numerals above twelve: no list counts by them."""


@dataclass(frozen=True)
class _Scripts:
    """The scripts of a whole text, and those of them of which some letter is no look-alike."""

    all: AbstractSet[str]
    evident: AbstractSet[str]


def text_showing_hidden(text: str) -> str:
    """Return a text with hidden characters and look-alikes marked; line feeds stay."""
    if _PLAIN.fullmatch(text):
        return text
    letters = set(text)
    special = "".join(map(re.escape, sorted(filter(_is_hidden, letters))))
    above = "".join(map(re.escape, sorted(filter(_is_nonspacing, letters))))
    found = [rf"(?:([{special}])\1*)"] if special else []
    found += [rf"[{above}]"] if above else []
    scripts = _Scripts(
        all=frozenset(map(_script, letters)),
        evident=frozenset(map(_script, letters - _LOOK_ALIKES)),
    )
    if not found:
        return _mark_look_alikes(text, scripts)
    return _join(text, re.compile("|".join(found)), scripts)


def text_line_showing_hidden(text: str) -> str:
    """Return a text as one line: as `text_showing_hidden`, with line feeds marked too."""
    return text_showing_hidden(text).replace("\n", _mark("\n", 1))


def _join(text: str, hidden: re.Pattern[str], scripts: _Scripts) -> str:
    shown, end = list[str](), 0
    for found in hidden.finditer(text):
        if _is_nonspacing(found.group()[0]) and not _is_extra_mark(text, found.start()):
            continue
        shown.append(_mark_look_alikes(text[end : found.start()], scripts))
        shown.append(_mark(found.group()[0], len(found.group())))
        end = found.end()
    shown.append(_mark_look_alikes(text[end:], scripts))
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
    is_ignorable = is_ignorable_text_character(character)
    return kind[0] == "C" or kind in {"Zl", "Zp"} or is_space or is_named or is_ignorable


def _is_nonspacing(character: str) -> bool:
    return unicodedata.category(character) in {"Mn", "Me"} and not _is_hidden(character)


def _is_extra_mark(text: str, place: int) -> bool:
    """Check whether its letter has the nonspacing mark at a place already, or four others."""
    start = place
    while start and place - start < _MARKS_IN_A_ROW and _is_nonspacing(text[start - 1]):
        start -= 1
    if place - start == _MARKS_IN_A_ROW:
        return True
    before = unicodedata.normalize("NFD", text[max(start - 1, 0) : place])
    return text[place] in before


def _mark_look_alikes(text: str, scripts: _Scripts) -> str:
    if text.isascii():
        return text

    def visible(found: re.Match[str]) -> str:
        token = found.group()
        if token.isascii():
            return token
        if found["word"]:
            return _visible_word(token, scripts)
        if found["number"]:
            return _visible_number(token, scripts)
        near = text[max(found.start() - 1, 0) : found.start()], text[found.end() : found.end() + 1]
        return _name_letters([token]) if _is_odd_sign(token, near, scripts) else token

    return _TOKEN.sub(visible, text)


def _visible_word(word: str, scripts: _Scripts) -> str:
    shown, part = list[str](), ""
    for character in word:
        if _script(character) in _EAST_ASIAN:
            shown += [_visible_part(part, scripts), character]
            part = ""
        else:
            part += character
    return "".join([*shown, _visible_part(part, scripts)])


def _visible_part(part: str, scripts: _Scripts) -> str:
    """Mark the letters of a word without East Asian ones that are not what they look like."""
    if part.isascii():
        return part
    found = [script for script in map(_script, part) if script]
    main = _LATIN if _LATIN in found else next(iter(found), "")
    is_disguised = _is_disguised(part, main, scripts)
    reads_as_latin = _LATIN_PAIR.search(part) is not None
    shown, odd = list[str](), list[str]()
    for letter in part:
        foreign = _script(letter) not in {"", main}
        if foreign or is_disguised or _is_odd_letter(letter, in_latin=reads_as_latin):
            odd.append(letter)
        else:
            shown += [_name_letters(odd), letter]
            odd = []
    return "".join([*shown, _name_letters(odd)])


def _is_disguised(part: str, script: str, scripts: _Scripts) -> bool:
    """Check whether a word is all look-alikes, and nothing else says that it is of its script."""
    if not all(letter in _LOOK_ALIKES for letter in part):
        return False
    return _LATIN in scripts.all or (len(part) > 1 and script not in scripts.evident)


def _is_odd_letter(letter: str, *, in_latin: bool) -> bool:
    """Check whether a letter is marked in any word, or in one that reads as Latin."""
    if letter in _LATIN_LOOK_ALIKES or letter in _LONE_NUMERALS:
        return True
    script = _script(letter)
    if script and script not in _RECOMMENDED:
        return True
    if unicodedata.category(letter) == "Nl":
        return in_latin and len(unicodedata.normalize("NFKC", letter)) == 1
    return _is_compatible(letter)


def _visible_number(number: str, scripts: _Scripts) -> str:
    """Mark digits that are not those of ASCII, where they are mixed or of no script of the text."""
    digits = [each for each in number if each.isdecimal() and not _is_wide(each)]
    is_mixed = len({ord(each) - unicodedata.decimal(each) for each in digits}) > 1
    shown, odd = list[str](), list[str]()
    for each in number:
        own = each.isascii() or _is_wide(each)
        if not own and (is_mixed or _script_in_name(each) not in scripts.all):
            odd.append(each)
        else:
            shown += [_name_letters(odd), each]
            odd = []
    return "".join([*shown, _name_letters(odd)])


def _is_odd_sign(sign: str, near: tuple[str, str], scripts: _Scripts) -> bool:
    """Check whether a mark is of no script of the text, or a sign looks like one of ASCII.

    `near` are the characters before and after it, since a minus before a number and a fraction are
    ordinary.
    """
    before, after = near
    kind = unicodedata.category(sign)
    if kind in _MARKS:
        return _script_in_name(sign) not in {*scripts.all, "COMBINING", "KATAKANA-HIRAGANA"}
    if sign == _MINUS:
        return after.isascii() and after.isalpha() and not before.isalnum()
    if sign == _FRACTION and before.isdecimal() and after.isdecimal():
        return False
    if kind[0] not in _SIGNS or _is_wide(sign):
        return False
    same = unicodedata.normalize("NFKC", sign)
    return sign in _SIGN_LOOK_ALIKES or (len(same) == 1 and same.isascii())


def _name_letters(letters: list[str]) -> str:
    if not letters:
        return ""
    return f"{''.join(letters)}⟨{' '.join(f'U+{ord(letter):04X}' for letter in letters)}⟩"


def _is_wide(character: str) -> bool:
    return "\uff00" <= character <= "\uffef"


@lru_cache(maxsize=4_096)
def _script(character: str) -> str:
    """The script of a letter; "" for what all scripts use, and for what is no letter."""
    kind = unicodedata.category(character)
    if kind not in _LETTERS | _OTHER_LETTERS or character in _UNITS:
        return ""
    script = _script_in_name(character)
    if script in _COMMON or (kind in _OTHER_LETTERS and script in _RECOMMENDED):
        return ""
    if script not in _RECOMMENDED:
        # Another form of a letter, such as the sign of the kelvin, is of its script.
        same = unicodedata.normalize("NFKC", character)
        return _script_in_name(same) if same != character and len(same) == 1 else script
    return script


def _script_in_name(character: str) -> str:
    """The first word of a character's name that says its script."""
    words = unicodedata.name(character, "UNNAMED").split(" ")
    first = words[1] if words[0] in {*_WIDE, "EXTENDED"} and len(words) > 1 else words[0]
    return first.removesuffix("-INDIC")


@lru_cache(maxsize=4_096)
def _is_compatible(letter: str) -> bool:
    """Check whether a letter is another form of one of ASCII, such as a mathematical one."""
    if letter.isascii() or letter in _ORDINALS or _is_wide(letter) or not letter.isalpha():
        return False
    return unicodedata.normalize("NFKC", letter).isascii()
