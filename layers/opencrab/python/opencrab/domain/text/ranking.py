"""Ranking: from what an index found to the order in which it is shown, the same for every index.

A turn of a conversation often answers the one before it, so each hit lends a part of its score to
its neighbours. How the numbers were found is told in `docs/benchmarks.md`.
"""

import heapq
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

MOST_HITS = 200
"""How many of the best by BM25 are ranked."""

LENT = ((1, 0.5), (-1, 0.25), (2, 0.1))
"""What a hit lends: places from it, and the share of its score."""

_NAMED = 2.0
_TIMED = 1.4
_RECENT = 0.1
_HALF_LIFE_DAYS = 30.0
_LEAST, _SPREAD = 0.8, 0.4


class RankingCandidate(NamedTuple):
    """A row as far as ranking needs to know it.

    `key` is the index's own; `place` numbers the rows of one session without gaps of its making.
    `score` is what BM25 gave, 0 for a neighbour of a hit, and `why` is why it is a hit. A search
    makes hundreds of them, hence a tuple.
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
    why: tuple[str, ...] = ("words",)


class RankedRow(NamedTuple):
    """A candidate with its final score, and why it has that."""

    candidate: RankingCandidate
    score: float
    why: tuple[str, ...]


def rank_search_candidates(
    candidates: Iterable[RankingCandidate],
    *,
    named: frozenset[str],
    asks_when: bool,
    now: datetime,
    limit: int,
) -> tuple[RankedRow, ...]:
    """The best of the hits and of their neighbours, best first.

    Equal ones come in the order of session and place: the same rows give the same answer in
    whatever order they were indexed.
    """
    listed = list(candidates)
    spoken = {(each.session_id, each.place): each for each in listed if each.spoken}
    lent = _neighbour_scores(listed, spoken)
    found = [
        _rank_candidate(each, lent.get(each.key, 0.0), named=named, asks_when=asks_when, now=now)
        for each in listed
    ]
    found = [each for each in found if each.score > 0]
    found.sort(key=_order)
    return tuple(found[:limit])


def least_neighbour_search_score(
    scores: Iterable[float], named: frozenset[str], *, asks_when: bool, limit: int
) -> float:
    """What a row that is no hit itself must be lent to be among the best at all.

    An index need not look at others: so many hits are better whatever else is said of both.
    """
    best = heapq.nlargest(limit, scores)
    if len(best) < limit:
        return 0.0
    most = (_NAMED if named else 1) * (_TIMED if asks_when else 1)
    most *= (_LEAST + _SPREAD) * (1 + _RECENT)
    return best[-1] * _LEAST / most


def _neighbour_scores(
    listed: list[RankingCandidate], spoken: Mapping[tuple[str, int], RankingCandidate]
) -> dict[int | str, float]:
    """What each row gets from its neighbours."""
    lent = dict[int | str, float]()
    for hit in listed:
        if hit.score <= 0 or not hit.spoken:
            continue
        for places, share in LENT:
            neighbour = spoken.get((hit.session_id, hit.place + places))
            if neighbour is not None:
                lent[neighbour.key] = lent.get(neighbour.key, 0.0) + share * hit.score
    return lent


def _rank_candidate(
    each: RankingCandidate, lent: float, *, named: frozenset[str], asks_when: bool, now: datetime
) -> RankedRow:
    why: list[str] = []
    if each.score > 0:
        why.extend(each.why)
    if lent > 0:
        why.append("neighbour")
    score = each.score + lent
    if each.speaker in named:
        score *= _NAMED
        why.append("speaker")
    if asks_when and each.timed:
        score *= _TIMED
        why.append("time")
    score *= _LEAST + _SPREAD * each.importance
    days = max((now - each.at).total_seconds(), 0.0) / 86_400
    score *= 1 + _RECENT * 0.5 ** (days / _HALF_LIFE_DAYS)
    return RankedRow(each, score, tuple(why))


def _order(each: RankedRow) -> tuple[float, str, int, str]:
    candidate = each.candidate
    return -each.score, candidate.session_id, candidate.place, str(candidate.key)
