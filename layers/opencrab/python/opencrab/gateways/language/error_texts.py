"""Error texts: errors are raised in English, and people read them in their own language.

Programs, logs and models read the English one. `error_texts.json` has the Japanese of each message
and each cure by its English template, `{}` standing for a value (`tests/error_texts.py` finds them
in the source); it is read when the first error is shown in Japanese.
"""

from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from opencrab.ports.texts import Texts

_ENGLISH = "en"
_HOLE = "{}"
_DEEPEST = 3
"""Texts within texts that are translated: values may have any number of colons."""
_EXPLAINING = ": "
"""What stands between a place and an error's text itself."""

_QUOTES = ("'", '"')


def error_text_in(language: str, text: str) -> str:
    """Return the text of an error in a language; as it is if nobody translated it."""
    return translate_error_text(language, text) or text


def translate_error_text(language: str, text: str) -> str | None:
    """Return the text of an error in another language than English, None if there is none.

    What stands behind a place, as in `name: is missing`, or within another text, as in `no answer:
    it is frozen`, is translated as a text of its own.
    """
    return None if language == _ENGLISH else _translate(language, text, _DEEPEST)


def error_words_in(language: str, message: str, cure: str | None) -> str:
    """Return what is wrong, and behind a colon what to do about it, in a language."""
    return _EXPLAINING.join(error_text_in(language, each) for each in (message, cure) if each)


def _translate(language: str, text: str, depth: int) -> str | None:
    exact, templates = _load_templates(language)
    if text in exact:
        return exact[text]
    place, colon, told = text.partition(_EXPLAINING)
    if depth and colon and " " not in place:  # a field, a file, a line of it
        translated = _translate(language, told, depth - 1)
        if translated is not None:
            return f"{place}{_EXPLAINING}{translated}"
    loose: tuple[_Template, list[str]] | None = None
    for template in templates:
        if (values := template.match(text)) is not None:
            if template.takes_whole(values):
                break
            loose = loose or (template, values)
    else:
        if loose is None:
            return None
        template, values = loose
    inner = [_translate_value(language, value, depth) for value in values]
    return template.translated.format(*inner)


def _translate_value(language: str, value: str, depth: int) -> str:
    """Translate a value that is words of ours: what is quoted is somebody else's."""
    if not depth or " " not in value or value.startswith(_QUOTES):
        return value
    return _translate(language, value, depth - 1) or value


class _Template(NamedTuple):
    """An English text with values in it: what stands around them, and the translation."""

    pieces: tuple[str, ...]
    translated: str
    letters: int

    def match(self, text: str) -> list[str] | None:
        """Return the values of a text of this template, in time that grows with its length only."""
        first, last = self.pieces[0], self.pieces[-1]
        end = len(text) - len(last)
        if not (text.startswith(first) and text.endswith(last) and len(first) <= end):
            return None
        cuts, at = [(0, len(first))], len(first)
        for piece in self.pieces[1:-1]:
            at = text.find(piece, _after_quoted(text, at), end)
            if at < 0:
                return None
            cuts.append((at, at + len(piece)))
            at += len(piece)
        cuts.append((end, len(text)))
        values = [text[one[1] : other[0]] for one, other in pairwise(cuts)]
        return values if all(values) else None

    def takes_whole(self, values: list[str]) -> bool:
        """Whether values end with their quotes and explain nothing: else they swallow words."""
        inner = values[:-1] if self.pieces[-1] == "" else values
        return all(map(_is_whole, values)) and not any(_EXPLAINING in each for each in inner)


def _is_whole(value: str) -> bool:
    return not value.startswith(_QUOTES) or _after_quoted(value, 0) == len(value)


def _after_quoted(text: str, at: int) -> int:
    """Where a value that begins at a place may end: behind its quotes, if it has some."""
    closed = text.find(text[at], at + 1) if text.startswith(_QUOTES, at) else -1
    return max(at, closed) + 1


@cache
def _load_templates(language: str) -> tuple[dict[str, str], tuple[_Template, ...]]:
    """Load the texts without values, and those with some, the longest first."""
    exact, templates = dict[str, str](), list[_Template]()
    for english, translations in Texts(__file__).items():
        translated, pieces = translations[language], tuple(english.split(_HOLE))
        if len(pieces) == 1:
            exact[english] = translated.format()
        else:
            templates.append(_Template(pieces, translated, sum(map(len, pieces))))
    return exact, tuple(sorted(templates, key=attrgetter("letters"), reverse=True))
