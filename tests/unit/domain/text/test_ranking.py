"""The order in which what was found is shown."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.dates import TimeSpan, times_named_in_text
from opencrab.domain.text.query import ParsedQuery
from opencrab.domain.text.ranking import (
    LENT,
    RankedRow,
    RankingCandidate,
    least_neighbour_text_score,
    rank_text_search_candidates,
)

NOW = datetime(2025, 6, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3_650)
DAY = times_named_in_text("2025-06-01", NOW).spans


def _row(place: int, score: float = 0.0, **changes: Any) -> RankingCandidate:
    given: dict[str, Any] = {"session_id": "s1", "speaker": "花子", "at": LONG_AGO}
    return RankingCandidate(key=f"r{place}", place=place, score=score, **{**given, **changes})


def _ranked(*rows: RankingCandidate, limit: int = 10, **asked: Any) -> tuple[RankedRow, ...]:
    query = ParsedQuery(terms=("crab",), **asked)
    return rank_text_search_candidates(rows, query, now=NOW, limit=limit)


def _scores(*rows: RankingCandidate, **more: Any) -> dict[int | str, float]:
    return {each.candidate.key: round(each.score, 6) for each in _ranked(*rows, **more)}


def test_a_hit_lends_to_the_rows_beside_it() -> None:
    rows = [_row(place, 10.0 if place == 5 else 0.0) for place in range(1, 10)]
    assert _scores(*rows) == {"r5": 10.0, "r6": 5.0, "r4": 2.5, "r7": 1.0}
    assert _ranked(*rows)[1].why == ("neighbour",)


def test_only_speech_lends_and_borrows_and_only_in_its_session() -> None:
    assert _scores(_row(1, 10.0, spoken=False), _row(2)) == {"r1": 10.0}
    assert _scores(_row(1, 10.0), _row(2, spoken=False)) == {"r1": 10.0}
    assert _scores(_row(1, 10.0), _row(2, session_id="s2")) == {"r1": 10.0}


def test_a_named_speaker_and_a_time_that_was_asked_for_count_for_more() -> None:
    named = frozenset({"花子"})
    assert _scores(_row(1, 10.0), _row(5, 11.0, speaker="Ken"), named=named) == {
        "r1": 30.0,
        "r5": 11.0,
    }
    assert _scores(_row(1, 10.0, timed=True), _row(5, 11.0), asks_when=True)["r1"] == 17.0
    assert _scores(_row(1, 10.0, timed=True))["r1"] == 10.0


def test_a_row_of_the_time_that_was_named_counts_four_times_and_a_near_one_twice() -> None:
    then, soon = NOW - timedelta(days=400), NOW - timedelta(days=397)
    times = times_named_in_text("27 April 2024", NOW).spans
    assert times[0].holds(then)
    rows = [_row(1, 10.0, at=then), _row(5, 10.0, at=soon), _row(9, 10.0)]
    assert _scores(*rows, times=times) == pytest.approx(
        {"r1": 40.0, "r5": 20.0, "r9": 10.0}, rel=0.01
    )
    assert _ranked(*rows, times=times)[0].why == ("words", "date")


def test_rows_of_the_time_that_was_named_are_shown_without_a_word_of_the_question() -> None:
    hits = [_row(place, 10.0, session_id="s2") for place in range(1, 99, 9)]
    dated = [_row(place, at=NOW, is_named=True) for place in range(100, 200, 9)]
    found = _ranked(*hits, *dated, times=DAY)
    assert [each.why for each in found] == [("date",)] * 7 + [("words",)] * 3
    only_time = _ranked(*hits, *dated, times=DAY, tells=False)
    assert [each.why for each in only_time] == [("date",)] * 10
    assert {each.score for each in only_time} == {0.0}


def test_a_name_alone_shows_what_that_speaker_said_last() -> None:
    own = [_row(place, at=NOW - timedelta(days=place), is_named=True) for place in range(1, 99, 9)]
    told = [_row(place, 10.0, session_id="s2", speaker="Ken") for place in range(101, 199, 9)]
    asked: dict[str, Any] = {"named": frozenset({"花子"}), "tells": False}
    found = _ranked(*told, *own, **asked)
    assert [each.candidate.speaker for each in found] == ["花子"] * 7 + ["Ken"] * 3
    assert [each.candidate.key for each in found[:3]] == ["r1", "r10", "r19"]
    # With something to look for beside the name, words decide.
    assert [each.candidate.speaker for each in _ranked(*told, *own, named=asked["named"])] == [
        "Ken"
    ] * 10


def test_importance_and_recency_move_a_row_a_little() -> None:
    assert _scores(_row(1, 10.0, importance=1.0), _row(5, 10.0, importance=0.0)) == {
        "r1": 12.0,
        "r5": 8.0,
    }
    assert _scores(_row(1, 10.0, at=NOW), _row(5, 10.0, at=NOW + timedelta(days=9))) == {
        "r1": 11.0,
        "r5": 11.0,
    }
    assert _scores(_row(1, 10.0, at=NOW - timedelta(days=30))) == {"r1": 10.5}


def test_nothing_of_worth_is_nothing_found() -> None:
    assert _scores(_row(1), _row(2)) == {}


_ROWS = st.lists(
    st.builds(
        _row,
        st.integers(1, 60),
        st.sampled_from([0.0, 0.0, 1.0, 3.0, 9.0]),
        session_id=st.sampled_from(["s1", "s2"]),
        speaker=st.sampled_from(["花子", "Ken"]),
        importance=st.sampled_from([0.0, 0.5, 1.0]),
        timed=st.booleans(),
        at=st.sampled_from([NOW, LONG_AGO]),
    ),
    max_size=24,
    unique_by=lambda row: row.place,
)


@given(_ROWS, st.randoms(use_true_random=False))
def test_the_order_in_which_rows_come_makes_no_difference(
    rows: list[RankingCandidate], chance: random.Random
) -> None:
    shuffled = chance.sample(rows, len(rows))
    assert [each.candidate for each in _ranked(*rows)] == [
        each.candidate for each in _ranked(*shuffled)
    ]


@given(
    rows=_ROWS,
    named=st.sampled_from([frozenset[str](), frozenset({"Ken"})]),
    asks_when=st.booleans(),
    times=st.sampled_from([(), DAY]),
)
def test_rows_that_get_too_little_to_be_shown_can_be_left_out(
    rows: list[RankingCandidate],
    named: frozenset[str],
    times: tuple[TimeSpan, ...],
    *,
    asks_when: bool,
) -> None:
    hits = [row for row in rows if row.score > 0]
    asked = ParsedQuery(("crab",), named, asks_when, times)
    least = least_neighbour_text_score([hit.score for hit in hits], asked, limit=3)
    lent = dict.fromkeys((row.place for row in rows), 0.0)
    for hit in hits:
        for places, share in LENT:
            other = next((row for row in rows if row.place == hit.place + places), None)
            if other is not None and other.session_id == hit.session_id:
                lent[other.place] += share * hit.score
    kept = [row for row in rows if row.score > 0 or lent[row.place] >= least]
    whole, part = (
        rank_text_search_candidates(some, asked, now=NOW, limit=3) for some in (rows, kept)
    )
    assert whole == part
