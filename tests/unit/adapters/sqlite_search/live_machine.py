"""A home that is lived in, its index files, and what is read from its stores."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.sqlite_search.live import LiveSearch
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import new_fact
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.ports.conversation.feed import ChangeFeed, FeedEntry
from opencrab.ports.home import Home
from opencrab.ports.memory.search import SearchQuery
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.lived import Life
from tests.searching import past_of


class Counting:
    """A store that counts the rows that it answers."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.rows = Counter[str]()

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            found = getattr(self._store, name)(*arguments, **named)
            self.rows[name] += len(found) if isinstance(found, tuple) else found is not None
            return found

        return call


class Shortened:
    """A feed whose older entries were deleted."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self.deleted = 0

    def read(self, *, after: int, limit: int) -> tuple[FeedEntry, ...]:
        return self._feed.read(after=max(after, self.deleted), limit=limit)

    def wait(self, *, after: int, seconds: float) -> bool:
        return self._feed.wait(after=after, seconds=seconds)

    def position(self) -> int:
        found = self._feed.position()
        return found if found > self.deleted else 0


class Place:
    """A home that is lived in, and the index files that processes have of it."""

    def __init__(self, home: Home, clock: FakeClock, folder: Path) -> None:
        assert home.feed is not None
        self.home, self.clock, self.folder = home, clock, folder
        self.life = Life(home, clock)
        self.facts, self.journal = Counting(home.facts), Counting(home.journal)
        self.feed = Shortened(home.feed)
        self.earlier = DirectorySnapshots(folder / "snapshots", clock)
        self.searches: list[LiveSearch] = []
        self.search = self.started()

    def started(
        self, home: Home | None = None, feed: ChangeFeed | None = None, **options: Any
    ) -> LiveSearch:
        """Another process on this machine, or this one again."""
        watched = replace(
            self.home,
            facts=self.facts,
            journal=self.journal,
        )
        made = LiveSearch(
            past_of(home or watched, self.clock),
            feed or self.feed,
            self.folder / "copies",
            self.clock,
            earlier=self.earlier,
            most_open=3,
            **options,
        )
        self.searches.append(made)
        return made

    def restarted(self) -> LiveSearch:
        self.search.close()
        self.search = self.started()
        return self.search

    def find(
        self, text: str = "crab", agent_id: str = "hana", search: LiveSearch | None = None
    ) -> list[str]:
        found = (search or self.search).search(agent_id, SearchQuery(text, limit=50))
        return sorted(each.row.text for each in found)

    def reads(self) -> int:
        """Rows read from the stores since this was asked last."""
        rows = sum(self.facts.rows.values()) + sum(self.journal.rows.values())
        self.facts.rows.clear()
        self.journal.rows.clear()
        return rows

    def file(self, suffix: str = "", agent_id: str = "hana") -> Path:
        return self.folder / "copies" / "live" / f"{agent_id}.db{suffix}"

    def holding(self, words: str) -> list[str]:
        """The files that hold some words."""
        places = (self.folder / "copies", self.folder / "snapshots")
        files = (each for place in places for each in place.rglob("*") if each.is_file())
        return [each.name for each in files if words.encode() in each.read_bytes()]


@contextmanager
def place_in(folder: Path) -> Iterator[Place]:
    clock = FakeClock(NOW)
    with sqlite(folder / "home", clock) as home:
        made = Place(home, clock, folder)
        made.life.meet("s1", "hana")
        made.life.say("hana's crab 蟹")
        yield made
        for each in made.searches:
            each.close()


def burst(at: Place, count: int) -> None:
    """Memories that were all saved at the same time."""
    now = at.clock.now()
    for number in range(count):
        memory = Memory(
            id=at.clock.new_id(),
            category="fact",
            content=f"note {number} メモ",
            created_at=now,
            updated_at=now,
        )
        at.home.facts.commit(new_fact("hana", MEMORY, memory.id, memory))
