"""BM25 over all that could be found: what the server found, and what it cannot know yet.

The server chooses the best 200 by its own BM25. It scores each shard by that shard's counts, and
its versions differ by a factor, so that its numbers are no scale for rows that it does not have.
All are therefore weighed again here, with the counts of the whole index.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from opencrab.adapters.opensearch.porter import stem
from opencrab.domain.text.terms import index_terms

K1 = 1.2
B = 0.75

_LONGEST_TERM = 100
"""The server cuts a word at 255 characters, and would find its parts; here the rest is left out."""


@dataclass(frozen=True)
class Counts:
    """How many rows there are, their words altogether, and in how many rows each stem is."""

    rows: int = 0
    length: float = 0.0
    having: Mapping[str, int] = field(default_factory=dict)


def index_text(text: str) -> str:
    """The terms of a text as they are sent: the server has only to take them apart and stem them.

    Letters of the Latin alphabet lose their accents, as they do in SQLite's index.
    """
    return " ".join(terms_of(text))


def terms_of(text: str) -> list[str]:
    """The terms of a text in order, with repeats, before they are stemmed."""
    terms = list(index_terms(text))
    if _accents().search(text) or max(map(len, terms), default=0) > _LONGEST_TERM:
        return list(map(plain, terms))
    return terms


def plain(term: str) -> str:
    """A term as it is sent."""
    if not term.isascii():
        term = "".join(map(_letter, unicodedata.normalize("NFC", term))).lower()
    return term[:_LONGEST_TERM]


def _letter(character: str) -> str:
    """A Latin letter without its accent; every other character as it is."""
    first = unicodedata.normalize("NFD", character)[0]
    return first if first.isascii() else character


@cache
def _accents() -> re.Pattern[str]:
    """Whether there can be Latin letters with accents, in whatever way they are written."""
    return re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff\u2100-\u214f]")


def stems_of(text: str) -> list[str]:
    """The stems of a text in order, with repeats."""
    return [stem(term) if term.isascii() else term for term in terms_of(text)]


def counted(texts: Sequence[Sequence[str]], stems: frozenset[str]) -> Counts:
    """The counts of texts, each as its stems; only of the stems that matter."""
    having = Counter[str]()
    for words in texts:
        having.update(stems.intersection(words))
    return Counts(len(texts), float(sum(map(len, texts))), having)


def together(first: Counts, second: Counts) -> Counts:
    """The counts of two collections."""
    having = Counter(first.having)
    having.update(second.having)
    return Counts(first.rows + second.rows, first.length + second.length, having)


def score(words: Sequence[str], sought: Sequence[str], counts: Counts) -> float:
    """How well a text, as its stems, fits the stems sought; 0 when it has none of them.

    A stem that is sought twice counts twice, as it does in both servers.
    """
    frequency = Counter(words)
    usual = counts.length / counts.rows if counts.rows else 0.0
    norm = K1 * (1 - B + B * len(words) / usual) if usual else K1
    total = 0.0
    for each in sought:
        if often := frequency[each]:
            total += rarity(each, counts) * often * (K1 + 1) / (often + norm)
    return total


def rarity(each: str, counts: Counts) -> float:
    """What one occurrence of a stem is worth: Lucene's formula, which is never negative."""
    having = min(counts.having.get(each, 0), counts.rows)
    return math.log(1 + (counts.rows - having + 0.5) / (having + 0.5))
