"""Terms of a text: the words that it can be found by."""

import re
import unicodedata
from functools import cache
from itertools import pairwise

_KANJI = "々-〇㐀-䶿一-鿿\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = "々-〇ぁ-ゖゝ-ゟァ-ヺー-ヿ㐀-䶿一-鿿\uf900-\ufaff가-힣\U00020000-\U0003ffff"


_LITTLE_WORDS = (
    "about all and any are but can could did does for from has have how its just let may more not "
    "now one our out should some than that the their them then there these they this use used was "
    "what when where which who why will with would you your"
)
_STOP_WORDS = frozenset(_LITTLE_WORDS.split())
_SHORTEST_WORD = 3


def text_terms(text: str) -> frozenset[str]:
    """Return the terms of a text: words, and pairs of characters in scripts without spaces.

    Width, case and other spellings of the same characters make no difference. A single character
    between other scripts or spaces is a term too.
    """
    return frozenset(_extract_terms(text, alone_only=True))


def content_terms_of_text(text: str) -> frozenset[str]:
    """Return the terms that carry the topic: no particles, endings, numbers or stop words."""
    found = set[str]()
    for term in text_terms(text):
        if term.isascii():
            word = term[:-1] if len(term) > _SHORTEST_WORD and term.endswith("s") else term
            if len(word) >= _SHORTEST_WORD and not word.isdigit() and term not in _STOP_WORDS:
                found.add(word)
        elif len(term) > 1 and not any("ぁ" <= character <= "ゟ" for character in term):
            found.add(term)
    return frozenset(found)


def share_of_terms_in_text(sought: frozenset[str], text: str) -> float:
    """Compute the share of the terms sought that a text has, from 0 to 1."""
    if not sought:
        return 0.0
    return len(sought.intersection(_extract_terms(text, alone_only=False))) / len(sought)


def index_terms_of_text(text: str) -> tuple[str, ...]:
    """Return the terms that an index stores of a text and looks up, in order, with repeats.

    Words as they are, and the parts of names like `useState`; in scripts without spaces every two
    neighbouring characters and, since a single one may be a word, every kanji.
    """
    found = _parts_of_names(text)
    for match in _runs().finditer(_normalize_text(text)):
        run = match.group()
        if match["unspaced"] is None or len(run) == 1:
            found.append(run)
            continue
        found.extend(map("".join, pairwise(run)))
        found.extend(_kanji().findall(run))
    return tuple(found)


def _parts_of_names(text: str) -> list[str]:
    """Return the words that names of programs are put together from, as in `useState`."""
    inner = _inner_capital()
    if not inner.search(text):
        return []
    named = (word for word in _letters().findall(text) if inner.search(word))
    parts = (part.lower() for name in named for part in _name_part().findall(name))
    return [part for part in parts if len(part) >= _SHORTEST_WORD]


def _extract_terms(text: str, *, alone_only: bool) -> set[str]:
    """Extract terms of a text, with or without single characters of longer runs."""
    found = set[str]()
    for match in _runs().finditer(_normalize_text(text)):
        run = match.group()
        if match["unspaced"] is None:
            found.add(run)
            continue
        found.update(map("".join, pairwise(run)))
        if len(run) == 1 or not alone_only:
            found.update(run)
    return found


@cache
def _runs() -> re.Pattern[str]:
    """Compile the pattern on the first search: it takes 10 ms, which most starts can save."""
    return re.compile(f"(?P<unspaced>[{_UNSPACED}]+)|[^\\W_{_UNSPACED}]+")


@cache
def _inner_capital() -> re.Pattern[str]:
    return re.compile("[a-z][A-Z]")


@cache
def _letters() -> re.Pattern[str]:
    return re.compile("[A-Za-z]+")


@cache
def _name_part() -> re.Pattern[str]:
    return re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@cache
def _kanji() -> re.Pattern[str]:
    return re.compile(f"[{_KANJI}]")


def _normalize_text(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", folded)
