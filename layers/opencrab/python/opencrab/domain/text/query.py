"""Questions: what of a query is looked for, in Japanese and in English.

The method was measured on real conversations (`docs/benchmarks.md` has the table): whole questions
are welcome, since what they have in common with all other questions is left out here.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from opencrab.domain.text.terms import index_terms_of_text

if TYPE_CHECKING:
    from opencrab.domain.text.dates import NamedTimes, TimeSpan

MOST_TERMS = 24
"""The limit of terms to search for, the rarest ones."""

LONGEST_QUESTION = 4_000
"""The number of characters of a question that are read."""

MOST_COUNTED = 200
"""The limit of distinct terms whose frequency is looked up, half of them from either end."""

_ENOUGH = 3
_NAMES_KEPT = 20_000

_STOP_WORDS = """
    a about an and are as at be but by can could did do does for from had has have he her
    him his how i if in into is it its me my no not of on or our she so than that the their
    them then there these they this to was we were what when where which who whom why will
    with would you your
"""

_COMMON_PAIRS = """
    です ます した して ませ まし ない ある いる する こと ょう よう うな たい でし
    すか ので から くだ ださ さい なり れる られ って った てい いて いま すが のは
    には とは では でも など とき もの んで すね
"""
"""Pairs of hiragana in most Japanese sentences: endings, particles, politeness."""


@dataclass(frozen=True)
class ParsedQuery:
    """A parsed query: distinct terms, the speakers and times named, whether it asks for a time.

    `tells` if it says more than names and times.
    """

    terms: tuple[str, ...]
    named: frozenset[str] = frozenset()
    asks_when: bool = False
    times: "tuple[TimeSpan, ...]" = ()
    tells: bool = True

    @property
    def names_rows(self) -> bool:
        """True if rows are asked for by their time or, with nothing else, by who spoke."""
        return bool(self.times) or (bool(self.named) and not self.tells)


def parse_query_text(
    text: str, speakers: Iterable[str] = (), now: datetime | None = None, zone: str = "UTC"
) -> ParsedQuery:
    """Parse a query; `speakers` are the names of those whom the searcher may hear.

    Times are read as seen from `now` on the clock of a time zone; without `now` none are.

    A speaker is named when all terms of the name are in the query; then the name is not searched as
    a word, but what that speaker said ranks higher. If the query has no other informative term, the
    name is searched too, so that a name cannot hide a word.
    """
    text = text[:LONGEST_QUESTION]
    distinct = tuple(dict.fromkeys(index_terms_of_text(text)))
    names = speakers_named_in_text(text, speakers)
    called = frozenset[str]().union(*map(_terms_of_name, names))
    times, rest = _times(text, now, zone, names) if now is not None else ((), text)
    left = distinct if not times else tuple(dict.fromkeys(index_terms_of_text(rest)))
    tells = any(_tells_beside(called, term) for term in left)
    if not any(_tells_beside(called, term) for term in distinct):
        called = frozenset()
    terms = _but(distinct, called)
    terms = _but(terms, _stop_words())
    telling = _but(terms, _common_pairs())
    if len(telling) >= _ENOUGH:
        terms = telling
    return ParsedQuery(
        terms=_ends(terms),
        named=names,
        asks_when=bool(_when().search(text)),
        times=times,
        tells=tells,
    )


def _times(text: str, now: datetime, zone: str, names: Iterable[str]) -> "NamedTimes":
    from opencrab.domain.text.dates import times_named_in_text  # noqa: PLC0415 - the first question

    return times_named_in_text(text, now, zone, names=names)


def speakers_named_in_text(text: str, speakers: Iterable[str]) -> frozenset[str]:
    """Return the speakers whom a query names."""
    asked = frozenset(index_terms_of_text(text[:LONGEST_QUESTION]))
    terms = ((name, _terms_of_name(name)) for name in speakers)
    return frozenset(name for name, parts in terms if parts and parts <= asked)


def has_text_time_word(text: str) -> bool:
    """Check whether a text has a word of time, as answers to a question for a time do."""
    return bool(_time().search(text))


def has_text_only_common_words(text: str) -> bool:
    """Check whether a text has only stop words and common pairs of characters."""
    left = _commonest().sub("", unicodedata.normalize("NFKC", text).casefold())
    return not any(map(str.isalnum, left))


def _but(terms: tuple[str, ...], left_out: frozenset[str]) -> tuple[str, ...]:
    """Return the terms without those left out; all of them if none would remain."""
    return tuple(term for term in terms if term not in left_out) or terms


def _ends(terms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first and last terms of a long question, which tell most about its topic."""
    if len(terms) <= MOST_COUNTED:
        return terms
    half = MOST_COUNTED // 2
    return (*terms[:half], *terms[-half:])


def _tells_beside(called: frozenset[str], term: str) -> bool:
    """Check whether a term is informative: no part of a name, stop word or overlap with a name."""
    if term in called or term in _stop_words() or term in _common_pairs():
        return False
    return term.isascii() or not any(set(term) & set(name) for name in called)


@lru_cache(_NAMES_KEPT)
def _terms_of_name(name: str) -> frozenset[str]:
    return frozenset(index_terms_of_text(name))


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(_STOP_WORDS.split())


@cache
def _common_pairs() -> frozenset[str]:
    return frozenset(_COMMON_PAIRS.split())


@cache
def _commonest() -> re.Pattern[str]:
    words = "|".join(sorted(_stop_words()))
    return re.compile(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])|{'|'.join(sorted(_common_pairs()))}")


@cache
def _when() -> re.Pattern[str]:
    return re.compile(
        r"\bwhen\b|\bwhat (?:time|day|date|month|year)\b|いつ|何時|何日|何月|何年|何曜",
        re.IGNORECASE,
    )


@cache
def _time() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|week|weekend|month|year|january|"
        r"february|march|april|may|june|july|august|september|october|november|december|monday|"
        r"tuesday|wednesday|thursday|friday|saturday|sunday|recently|morning|summer|winter|spring|"
        r"fall)\b|\d{4}|昨日|今日|明日|先週|来週|先月|来月|去年|来年|今年|曜|\d月|\d日|\d時|週間|"
        r"年前|日前",
        re.IGNORECASE,
    )
