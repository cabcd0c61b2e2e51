"""How far a copy of an index has come: no id of a stranger's making hides what comes after it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.search_rows import LATE, IndexProgress, SearchRowReader
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import new_fact
from opencrab.domain.identifier import new_ulid
from opencrab.domain.memory.memory import MEMORY, REWRITTEN, IndexRewrite, Memory
from opencrab.ports.home import Home
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.searching import past_of


@dataclass
class Place:
    """A home and what is told of its past."""

    home: Home
    clock: FakeClock
    past: SearchRowReader

    def keep(self, memory_id: str) -> None:
        """A memory under some id."""
        memory = Memory(
            id=memory_id, category="fact", content="蟹 crab", created_at=NOW, updated_at=NOW
        )
        self.home.facts.commit(new_fact("hana", MEMORY, memory_id, memory))

    def told(self, seen: IndexProgress) -> tuple[set[str], str]:
        """The ids of all memories that are told, and the last one known then."""
        batches = list(self.past.new_batches("hana", seen))
        last = [batch.last_id for batch in batches if batch.kind == MEMORY]
        return {row.ref for batch in batches for row in batch.rows}, max(last, default="")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        yield Place(home, clock, past_of(home, clock))


def future(by: timedelta) -> str:
    return new_ulid(int((NOW + by).timestamp() * 1_000), b"\xff")


@pytest.mark.parametrize("strange", ["z" * 26, "zzz", future(LATE + timedelta(minutes=1))])
def test_an_id_that_could_not_be_made_yet_moves_no_watermark(place: Place, strange: str) -> None:
    place.keep(known := place.clock.new_id())
    place.keep(strange)
    assert place.told(IndexProgress()) == ({known, strange}, known)
    place.clock.advance(1)
    place.keep(new := place.clock.new_id())
    found, last = place.told(IndexProgress(kept={MEMORY: strange}, at=NOW))
    assert new in found
    assert last in {new, strange if strange < "zz" else new}


def test_an_id_of_a_clock_that_is_a_little_ahead_moves_it(place: Place) -> None:
    place.keep(ahead := future(LATE))
    assert place.told(IndexProgress()) == ({ahead}, ahead)


def test_what_was_told_of_long_before_the_last_look_is_not_read_again(place: Place) -> None:
    place.keep("0" * 26)
    last = place.clock.new_id()
    told = IndexRewrite(refs=("0" * 26,))
    place.home.facts.commit(new_fact("hana", REWRITTEN, last, told))
    known = {MEMORY: future(-LATE), REWRITTEN: last}
    at = NOW + LATE + timedelta(minutes=1)
    assert place.told(IndexProgress(kept=known, at=at))[0] == set()
    assert place.told(IndexProgress(kept=known, at=NOW))[0] == {"0" * 26}
