"""Likeness: whether two texts say the same, as far as their terms, numbers and negations tell."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from opencrab.domain.text.terms import telling, terms

ALIKE = 0.75
"""How much of their terms two texts have in common that say the same."""

_LEAST_TERMS = 4
_NEGATIONS = (
    "not no never none nothing nobody nowhere neither nor without cannot cant dont doesnt didnt "
    "wont avoid stop refuse forbid forbidden prohibited"
)
_TURNS = "before after until unless except more less fewer above below"
_COUNTS = (
    "two three four five six seven eight nine ten eleven twelve twenty thirty hundred thousand "
    "half twice"
)
_NEGATING = frozenset(_NEGATIONS.split())
_TURNING = frozenset(_TURNS.split())
_COUNTING = frozenset(_COUNTS.split())


@dataclass(frozen=True)
class Words:
    """The terms of a text, those of them that say what it is about, and its `turns`.

    Those are its numbers in their order, what it negates, and words such as before and after: texts
    that differ in one of them say different things, whatever else they have in common.
    """

    terms: frozenset[str]
    telling: frozenset[str]
    turns: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, text: str) -> "Words":
        """The words of a text."""
        return cls(terms(text), telling(text), _turns(text))

    def like(self, other: "Words") -> float:
        """How alike two texts are, 0 to 1; little words and endings alone make nothing so."""
        if self.turns != other.turns:
            return 0.0
        if min(len(self.terms), len(other.terms)) < _LEAST_TERMS:
            return 0.0
        return min(dice(self.terms, other.terms), dice(self.telling, other.telling))


def dice(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets have in common, 0 to 1 (Dice 1945); an empty one is like nothing."""
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def _turns(text: str) -> tuple[tuple[str, ...], ...]:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    words = _english().findall(folded)
    numbers = [each.replace(",", "") for each in _numbers().findall(folded)]
    negated = sorted((*_negated(words), *_denied(folded)))
    turning = sorted(word for word in (*words, *_japanese().findall(folded)) if _is_turning(word))
    counts = (word for word in words if word in _COUNTING)
    return (tuple(numbers), tuple(counts), tuple(negated), tuple(turning))


def _is_turning(word: str) -> bool:
    return word in _TURNING or not word.isascii()


def _negated(words: list[str]) -> Iterator[str]:
    """What each negation of an English text is about: the next word that tells anything."""
    for place, word in enumerate(words):
        if word in _NEGATING or word.endswith("n't"):
            following = (min(telling(each), default="") for each in words[place + 1 :])
            yield next(filter(None, following), "")


def _denied(text: str) -> Iterator[str]:
    """What each negation of a Japanese text is about: the last kanji or katakana before it."""
    for found in _denials().finditer(text):
        before = _content().findall(text[: found.start()].rpartition("\n")[2])
        yield before[-1] if before else ""


@cache
def _english() -> re.Pattern[str]:
    return re.compile(r"[a-z]+(?:'[a-z]+)?")


@cache
def _numbers() -> re.Pattern[str]:
    return re.compile(r"\d+(?:[.,:]\d+)*|[〇一二三四五六七八九十百千万億]+")


@cache
def _denials() -> re.Pattern[str]:
    return re.compile(
        r"な(?:い|く|かった|かろう|けれ|し(?![かゃゅょ]))|ません|ませぬ|(?<![まは必])ず(?![っつ])"
        r"|[うくぐすつぬぶむる]な(?=$|[。、!?\s])"
        r"|禁止|厳禁|禁じ|避け|やめ|止め|中止|拒否|断[るりっ]|[だダ][めメ]|[不非未無勿没]"
    )


@cache
def _japanese() -> re.Pattern[str]:
    return re.compile(r"以上|以下|以内|以外|以前|以後|以降|未満|より|まで|から|[前後]")


@cache
def _content() -> re.Pattern[str]:
    return re.compile(r"[々㐀-䶿一-鿿ァ-ヺ]")
