"""Texts that a model of embeddings refuses, and models that hang: what they cost the others."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.search import TOGETHER_SECONDS
from opencrab.adapters.sqlite_search.vectors import BATCH, CALL_SECONDS, MOST_CALLS, Vectors
from opencrab.adapters.system_clock import FakeClock
from tests.meaning import Fake
from tests.unit.adapters.sqlite_search.machine import Machine, machine
from tests.unit.adapters.sqlite_search.shelf import NOW, index_of, line
from tests.unit.adapters.sqlite_search.test_vectors import sought


@pytest.fixture
def lived(tmp_path: Path) -> Iterator[Machine]:
    with machine(tmp_path) as made:
        yield made


@pytest.mark.parametrize("refused", [("5番目",), ("1番目", "2番目", "64番目"), ("30番目🦀",)])
def test_a_refused_text_costs_the_others_of_its_batch_nothing(refused: tuple[str, ...]) -> None:
    meaning = Fake(refused=frozenset(refused))
    texts = [f"{n}番目" for n in range(1, BATCH + 1 - len(refused))]
    texts = [each for each in texts if each not in refused] + list(refused)
    with closing(Index("a1", None)) as index:
        index.take([Batch(rows=tuple(line(n, text) for n, text in enumerate(texts, 1)))], NOW)
        teach = Vectors(meaning).vector_writer("a1", FakeClock(NOW))
        while teach(index):
            pass
        assert Vectors(meaning).coverage(index) == (len(texts), "fake:one")
        asked = len(meaning.asked)
        assert asked <= MOST_CALLS * 2
        assert Vectors(meaning).vector_writer("a1", FakeClock(NOW))(index) == 0
        assert len(meaning.asked) == asked
        assert refused[0] not in {each.row.text for each in sought(index, "犬", meaning)}


def test_a_model_that_refuses_every_text_is_no_reason_to_give_any_up() -> None:
    meaning = Fake(refused=frozenset(f"{n}番目" for n in range(1, 9)))
    with closing(index_of(*(line(n, f"{n}番目") for n in range(1, 9)))) as index:
        assert Vectors(meaning).vector_writer("a1", FakeClock(NOW))(index) == 0
        assert len(meaning.asked) <= MOST_CALLS
        meaning.refused = frozenset({"3番目"})
        assert Vectors(meaning).vector_writer("a1", FakeClock(NOW))(index) == 8


def test_halves_have_the_time_of_one_call_together() -> None:
    clock = FakeClock(NOW)
    meaning = Fake(clock=clock, refused=frozenset({"5番目"}))
    with closing(index_of(*(line(n, f"{n}番目") for n in range(1, 9)))) as index:
        assert Vectors(meaning).vector_writer("a1", clock)(index) == 0
    assert len(meaning.asked) == 1
    assert (clock.now() - NOW).total_seconds() == CALL_SECONDS


def test_agents_that_are_indexed_together_share_the_time_for_vectors() -> None:
    clock, meaning = FakeClock(NOW), Fake()
    meaning.clock = clock
    until_ms = clock.monotonic_ms() + CALL_SECONDS * 1_500
    made = list[int]()
    for agent in range(8):
        with closing(index_of(line(1, f"{agent}番目"))) as index:
            made.append(Vectors(meaning).vector_writer("a1", clock, until_ms)(index))
    assert made == [1, 1, *[0] * 6]


def test_a_model_that_hangs_leaves_an_indexer_its_time_and_everybody_is_found_by_words(
    lived: Machine,
) -> None:
    agents = [f"a{n}" for n in range(8)]
    for agent in agents:
        lived.life.meet(f"s-{agent}", agent)
        lived.life.say(f"{agent} の犬", f"s-{agent}")
    meaning = Fake(silent=True, clock=lived.clock)
    search = lived.started(vectors=Vectors(meaning))
    began = lived.clock.now()
    feed = lived.home.feed
    assert feed is not None
    search.index_entries(feed.read(after=0, limit=10_000))
    took = (lived.clock.now() - began).total_seconds()
    assert TOGETHER_SECONDS <= took <= TOGETHER_SECONDS + CALL_SECONDS
    assert len(meaning.asked) < len(agents)
    for agent in agents:
        assert lived.find("犬", agent, search), agent
