"""Ranking: from what an index found to the order in which it is shown, the same for every index.

A turn of a conversation often answers the one before it, so each hit lends a part of its score to
its neighbours. How the numbers were found is told in `docs/benchmarks.md`.
"""

import heapq
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

MOST_HITS = 200
"""The number of best hits by BM25 that are ranked."""

LENT = ((1, 0.5), (-1, 0.25), (2, 0.1))
"""The neighbours of a hit that get a share of its score: distance in rows, and the share."""

_NAMED = 2.0
_TIMED = 1.4
_RECENT = 0.1
_HALF_LIFE_DAYS = 30.0
_LEAST, _SPREAD = 0.8, 0.4


class RankingCandidate(NamedTuple):
    """The fields of a row that ranking needs.

    `key` is the index's own; `place` numbers the rows of one session without gaps. `score` is the
    BM25 score, 0 for a neighbour of a hit, and `why` the reason why it is a hit. It is a tuple
    because a search makes hundreds of them.
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
    """A candidate with its final score and the reasons for it."""

    candidate: RankingCandidate
    score: float
    why: tuple[str, ...]


def rank_text_search_candidates(
    candidates: Iterable[RankingCandidate],
    *,
    named: frozenset[str],
    asks_when: bool,
    now: datetime,
    limit: int,
) -> tuple[RankedRow, ...]:
    """Return the best of the hits and of their neighbours, best first.

    Equal scores are ordered by session and place: the same rows give the same answer in any order
    of indexing.
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


def least_neighbour_text_score(
    scores: Iterable[float], named: frozenset[str], *, asks_when: bool, limit: int
) -> float:
    """Return the score that a neighbour of a hit needs at least to be among the best.

    An index can skip others: `limit` hits rank higher in any case.
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
