"""Matching weighs each row once at most, and passes over none that is among the best."""

import random
from collections.abc import Callable
from datetime import timedelta
from functools import cache

import pytest

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.conditions import Conditions
from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.matching import best_sqlite_search_hits
from opencrab.domain.memory.search_row import SearchRow
from opencrab.domain.text.ranking import MOST_HITS
from opencrab.ports.memory.search import SearchQuery
from tests.unit.adapters.sqlite_search.shelf import NOW, line

WORDS = ("hotel", "train", "garden", "window", "letter", "summer", "river", "paper")
MANY = 12_000
STEPS = 100
STEPS_OF_A_SEARCH = 440_000
"""SQLite 3.40 takes 399,400; when each row was weighed twice, it took 684,600."""


def _index_of_many(rows: list[SearchRow]) -> Index:
    index = Index("agent", None)
    index.take([Batch(rows=tuple(rows), session_id="s1", last=len(rows))], NOW)
    return index


@cache
def _common_words() -> Index:
    """Lines of eight words, none of them rare, within a quarter of an hour; many weigh the same."""
    chance = random.Random(4)  # noqa: S311 - no secret
    rows = [
        line(number, " ".join(chance.choices(WORDS, k=5)), at=NOW - timedelta(seconds=number % 900))
        for number in range(1, MANY + 1)
    ]
    return _index_of_many(rows)


def _weighings(index: Index, work: Callable[[], object]) -> int:
    said = list[str]()
    index.ask(lambda connection: connection.set_trace_callback(said.append))
    work()
    index.ask(lambda connection: connection.set_trace_callback(None))
    return sum("bm25(" in each for each in said)


def test_rows_of_equal_weight_are_weighed_once() -> None:
    index = _common_words()
    query = SearchQuery("the hotel garden and the river", limit=10)
    found = list[object]()
    assert _weighings(index, lambda: found.extend(index.find(query, NOW))) == 1
    assert len(found) == query.limit


def test_a_time_that_all_hits_are_of_is_not_searched_again() -> None:
    index = _common_words()
    words = "the hotel garden and the river"
    assert _weighings(index, lambda: index.find(SearchQuery(f"today {words}"), NOW)) == 1
    # Nothing was said then: the rarer words are weighed, and, as they are in no row, all.
    assert _weighings(index, lambda: index.find(SearchQuery(f"in 2019 {words}"), NOW)) == 3


def test_a_search_among_common_words_takes_few_steps_of_sqlite() -> None:
    index = _common_words()
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += STEPS

    index.ask(lambda connection: connection.set_progress_handler(step, STEPS))
    index.find(SearchQuery("hotel, garden, river and paper"), NOW)
    index.ask(lambda connection: connection.set_progress_handler(None, 0))
    assert 0 < taken <= STEPS_OF_A_SEARCH


@pytest.mark.parametrize("alone", [0, 150, 3_500])
def test_no_row_with_the_rarest_word_alone_is_passed_over(alone: int) -> None:
    """`alone` short lines, in which one word weighs more than two do in the long ones."""
    long = "hotel garden " + " ".join(f"w{number % 7}x{number}" for number in range(60))
    rows = [line(number, "hotel") for number in range(1, alone + 1)]
    rows += [line(number, long) for number in range(alone + 1, alone + 3_600)]
    rows += [line(number, "garden and more of it") for number in range(alone + 3_600, MANY)]
    index = _index_of_many(rows)
    everything = Conditions("(1)", "(1)")
    found = index.ask(lambda each: best_sqlite_search_hits(each, ("hotel", "garden"), everything))
    weighed = index.ask(
        lambda each: each.execute(
            'SELECT rowid, -bm25(words) AS score FROM words WHERE words MATCH \'"hotel" OR'
            ' "garden"\' ORDER BY score DESC LIMIT ?',
            (MOST_HITS,),
        ).fetchall()
    )
    assert sorted(found.values()) == sorted(score for _, score in weighed)
    index.close()
