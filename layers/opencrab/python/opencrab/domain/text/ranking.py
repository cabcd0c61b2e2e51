"""Ranking: from what an index found to the order in which it is shown, the same for every index.

A turn of a conversation often answers the one before it, so each hit lends a part of its score to
its neighbours. What a question names, a time or by itself a speaker, is shown although it shares no
word with it. How the numbers were found is told in `docs/benchmarks.md`.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from opencrab.domain.text.query import ParsedQuery

MOST_HITS = 200
"""The number of best hits by BM25 that are ranked."""

LENT = ((1, 0.5), (-1, 0.25), (2, 0.1))
"""The neighbours of a hit that get a share of its score: distance in rows, and the share."""

_NAMED = 3.0
_TIMED = 1.7
_DATED = 4.0
_NEAR_DATE = 2.0
_SHOWN_AS_NAMED = 0.7
_RECENT = 0.1
_HALF_LIFE_DAYS = 30.0
_LEAST, _SPREAD = 0.8, 0.4


BY_WORDS = ("words",)


class RankingCandidate(NamedTuple):
    """The fields of a row that ranking needs.

    `key` is the index's own; `place` numbers the rows of one session without gaps. `score` is the
    BM25 score, 0 for a neighbour of a hit, and `why` the reason why it is a hit. It is a tuple
    because a search makes hundreds of them. A row that `is_named` is of a time or speaker that the
    question names, so it may be shown without a score.
    """

    key: int | str
    session_id: str
    place: int
    speaker: str
    at: datetime
    score: float = 0.0
    importance: float = 0.5
    spoken: bool = True
    timed: bool = False
    why: tuple[str, ...] = BY_WORDS
    is_named: bool = False


class RankedRow(NamedTuple):
    """A candidate with its final score and the reasons for it."""

    candidate: RankingCandidate
    score: float
    why: tuple[str, ...]


def rank_text_search_candidates(
    candidates: Iterable[RankingCandidate], asked: ParsedQuery, *, now: datetime, limit: int
) -> tuple[RankedRow, ...]:
    """Return the best of the hits, of their neighbours and of rows that are named, best first.

    Equal scores are ordered by session and place: the same rows give the same answer in any order
    of indexing.
    """
    listed = list(candidates)
    spoken = {(each.session_id, each.place): each for each in listed if each.spoken}
    lent = _neighbour_scores(listed, spoken)
    found = [_rank_candidate(each, lent.get(each.key, 0.0), asked, now=now) for each in listed]
    best = sorted((each for each in found if each.score > 0), key=_order)[:limit]
    if not asked.names_rows:
        return tuple(best)
    shown = {each.candidate.key for each in best}
    others = [each for each in listed if each.is_named and each.key not in shown]
    return tuple(_with_named_rows(best, others, asked, limit))


def least_neighbour_text_score(scores: Iterable[float], asked: ParsedQuery, *, limit: int) -> float:
    """Return the score that a neighbour of a hit needs at least to be among the best.

    An index can skip others: `limit` hits rank higher in any case.
    """
    best = heapq.nlargest(limit, scores)
    if len(best) < limit:
        return 0.0
    most = (_NAMED if asked.named else 1) * (_TIMED if asked.asks_when else 1)
    most *= (_LEAST + _SPREAD) * (1 + _RECENT) * (_DATED if asked.times else 1)
    return best[-1] * _LEAST / most


def _neighbour_scores(
    listed: list[RankingCandidate], spoken: Mapping[tuple[str, int], RankingCandidate]
) -> dict[int | str, float]:
    """Compute the score that each row gets from its neighbours."""
    lent = dict[int | str, float]()
    for hit in listed:
        if hit.score <= 0 or not hit.spoken:
            continue
        for places, share in LENT:
            neighbour = spoken.get((hit.session_id, hit.place + places))
            if neighbour is not None:
                lent[neighbour.key] = lent.get(neighbour.key, 0.0) + share * hit.score
    return lent


def _with_named_rows(
    best: list[RankedRow], others: list[RankingCandidate], asked: ParsedQuery, limit: int
) -> list[RankedRow]:
    """Return rows with words, and among the first others that are only named.

    Of a question that says nothing but a time all rows are of it, as far as there are; of others
    at least _SHOWN_AS_NAMED.
    """
    named, rest = list[RankedRow](), list[RankedRow]()
    for each in best:
        is_named = is_text_search_row_named(each.candidate.speaker, each.candidate.at, asked)
        (named if is_named else rest).append(each)
    least = 1.0 if asked.times and not asked.tells else _SHOWN_AS_NAMED
    room = max(math.ceil(limit * least) - len(named), 0)
    why = "date" if asked.times else "speaker"
    more = [RankedRow(each, 0.0, (why,)) for each in sorted(others, key=_named_order(asked))]
    return [*named, *more[:room], *rest, *more[room:]][:limit]


def is_text_search_row_named(speaker: str, at: datetime, asked: ParsedQuery) -> bool:
    """Check whether a query names a row: by its time or, without any, by its speaker."""
    if asked.times:
        return any(time.is_near(at) for time in asked.times)
    return speaker in asked.named


def _named_order(asked: ParsedQuery) -> Callable[[RankingCandidate], tuple[object, ...]]:
    """Return the order of rows without words: of the time itself, by a speaker named, newest."""

    def order(each: RankingCandidate) -> tuple[object, ...]:
        within = any(time.holds(each.at) for time in asked.times)
        place = (each.session_id, each.place, str(each.key))
        return (
            not within,
            each.speaker not in asked.named,
            not each.timed,
            -each.at.timestamp(),
            place,
        )

    return order


def _rank_candidate(
    each: RankingCandidate, lent: float, asked: ParsedQuery, *, now: datetime
) -> RankedRow:
    why: list[str] = []
    if each.score > 0:
        why.extend(each.why)
    if lent > 0:
        why.append("neighbour")
    score = each.score + lent
    if each.speaker in asked.named:
        score *= _NAMED
        why.append("speaker")
    if asked.asks_when and each.timed:
        score *= _TIMED
        why.append("time")
    if any(time.is_near(each.at) for time in asked.times):
        score *= _DATED if any(time.holds(each.at) for time in asked.times) else _NEAR_DATE
        why.append("date")
    score *= _LEAST + _SPREAD * each.importance
    days = max((now - each.at).total_seconds(), 0.0) / 86_400
    score *= 1 + _RECENT * 0.5 ** (days / _HALF_LIFE_DAYS)
    return RankedRow(each, score, tuple(why))


def _order(each: RankedRow) -> tuple[float, str, int, str]:
    candidate = each.candidate
    return -each.score, candidate.session_id, candidate.place, str(candidate.key)
