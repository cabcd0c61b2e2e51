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
"""What stands between a place or a reason's consequence and an error's text itself."""


def error_text_in(language: str, text: str) -> str:
    """Return the text of an error in a language; as it is if nobody translated it."""
    return translate_error_text(language, text) or text


def translate_error_text(language: str, text: str) -> str | None:
    """Return the text of an error in another language than English, None if there is none.

    What stands behind a place, as in `name: is missing`, or at the end of another text, as in
    `no answer: it is frozen`, is translated as a text of its own.
    """
    return None if language == _ENGLISH else _translate(language, text, _DEEPEST)


def _translate(language: str, text: str, depth: int) -> str | None:
    exact, templates = _load_templates(language)
    if text in exact:
        return exact[text]
    place, colon, told = text.partition(_EXPLAINING)
    if depth and colon and " " not in place:  # a field, a file, a line of it
        translated = _translate(language, told, depth - 1)
        if translated is not None:
            return f"{place}{_EXPLAINING}{translated}"
    for template in templates:
        if (values := template.match(text)) is not None:
            if depth and template.pieces[-1] == "" and template.pieces[-2].endswith(_EXPLAINING):
                values[-1] = _translate(language, values[-1], depth - 1) or values[-1]
            return template.translated.format(*values)
    return None


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
            at = text.find(piece, at + 1, end)
            if at < 0:
                return None
            cuts.append((at, at + len(piece)))
            at += len(piece)
        cuts.append((end, len(text)))
        values = [text[one[1] : other[0]] for one, other in pairwise(cuts)]
        return values if all(values) else None


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
