"""Replicas: whatever happens in whatever order, they become what the journal says."""

import random
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.search_rows import IndexProgress
from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import OpenCrabError
from opencrab.domain.memory.memory import MEMORY
from opencrab.ports.conversation.feed import FeedEntry
from opencrab.ports.memory.search import SearchQuery
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.lived import Life
from tests.searching import past_of
from tests.soak import examples
from tests.unit.adapters.local_files.disks import Faults

TEXTS = st.sampled_from(
    [
        "蟹が好き",
        "the crab walks",
        "太郎の誕生日は三月",
        "walking home",
        "🦀",
        "市場で蟹を買う",
        "NEAR(a b)",
    ]
)
SESSIONS = ("s1", "s2", "s3")
PROCESSES = 2


class Installation(RuleBasedStateMachine):
    """A home, and processes that each search and index over one directory of snapshots."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.open = ExitStack()
        self.folder = folder
        self.clock = FakeClock(NOW)
        self.home = self.open.enter_context(sqlite(folder, self.clock))
        self.life = Life(self.home, self.clock)
        self.faults = [Faults() for _ in range(PROCESSES)]
        self.processes: list[SqliteSearch] = []
        self.memories: list[str] = []
        self.numbers = count(1)
        self.read = 0
        self.untold: list[FeedEntry] = []
        self.told: list[FeedEntry] = []

    @initialize()
    def begin(self) -> None:
        for name in SESSIONS:
            self.life.meet(name, "hana", "ken")
        self.processes = [self.process(number) for number in range(PROCESSES)]

    def process(self, number: int) -> SqliteSearch:
        """What one process has; copies of the dead stay where they are."""
        disk = self.faults[number].disk()
        store = DirectorySnapshots(self.folder / "snapshots", self.clock, disk=disk)
        past = past_of(self.home, self.clock)
        search = SqliteSearch(past, store, self.folder / f"copies{number}", self.clock)
        self.open.callback(search.close)
        return search

    @rule(session=st.sampled_from(SESSIONS), text=TEXTS, agent=st.sampled_from(["taro", "ken"]))
    def say(self, session: str, text: str, agent: str) -> None:
        self.life.say(text, session, speaker_id=agent, speaker_name=agent)

    @rule(text=TEXTS)
    def remember(self, text: str) -> None:
        self.memories.append(self.life.remember(text))

    @rule(text=TEXTS)
    def summarise(self, text: str) -> None:
        self.life.summarise(next(self.numbers), text)

    @rule(text=TEXTS, pick=st.randoms())
    def reword(self, text: str, pick: random.Random) -> None:
        if self.memories:
            self.life.reword(pick.choice(self.memories), text)

    @rule(pick=st.randoms())
    def remove(self, pick: random.Random) -> None:
        if self.memories:
            chosen = pick.choice(self.memories)
            self.memories.remove(chosen)
            self.life.remove(MEMORY, chosen)

    @rule(
        session=st.sampled_from(SESSIONS), first=st.integers(1, 5), more=st.integers(0, 3),
        pick=st.randoms(),
    )  # fmt: skip
    def mark(self, session: str, first: int, more: int, pick: random.Random) -> None:
        refs = (f"memory:{pick.choice(self.memories)}",) if self.memories else ()
        self.life.mark((session, first, first + more), refs=refs)

    @rule()
    def mark_everything(self) -> None:
        self.life.mark(everything=True)

    @rule(process=st.integers(0, PROCESSES - 1), pick=st.randoms(), agent=st.just("hana"))
    def tell(self, process: int, pick: random.Random, agent: str) -> None:
        """Some of what was not taken in yet, some of it again, in any order."""
        entries = self.home.feed.read(after=self.read, limit=1_000) if self.home.feed else ()
        self.untold += entries
        self.read = entries[-1].position if entries else self.read
        chosen = [each for each in self.untold if pick.random() < 0.5]
        again = pick.sample(self.told, min(2, len(self.told)))
        pick.shuffle(hints := chosen + again)
        try:
            self.processes[process].index_entries(hints)
        except OpenCrabError:
            return
        self.told += chosen
        self.untold = [each for each in self.untold if each not in chosen]

    @rule(process=st.integers(0, PROCESSES - 1), text=TEXTS)
    def search(self, process: int, text: str) -> None:
        with suppress(OpenCrabError):
            self.processes[process].search("hana", SearchQuery(text, session_id=None))

    @rule(process=st.integers(0, PROCESSES - 1))
    def forget(self, process: int) -> None:
        with suppress(OpenCrabError):
            self.processes[process].apply_erasures("hana")

    @rule(process=st.integers(0, PROCESSES - 1))
    def die(self, process: int) -> None:
        self.processes[process] = self.process(process)

    @rule(process=st.integers(0, PROCESSES - 1), at=st.integers(0, 25))
    def fail_soon(self, process: int, at: int) -> None:
        """One of its next calls to the disk of the snapshots will fail."""
        self.faults[process].arm(at)

    @rule(keep=st.sampled_from([0, 100, 512, 3_000]))
    def damage(self, keep: int) -> None:
        """The newest snapshot loses its end, or all of it."""
        files = [*(self.folder / "snapshots").glob("hana/*.snapshot")]
        if files:
            newest = max(files)
            newest.write_bytes(newest.read_bytes()[:keep])

    @rule(seconds=st.sampled_from([61, 400, 61 * 86_400]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    def teardown(self) -> None:
        try:
            if self.processes:
                self.settle()
        finally:
            self.open.close()

    def settle(self) -> None:
        """Tell what is left; then every process has what an index made from the journal has."""
        for faults in self.faults:
            faults.arm(-1)
        entries = self.home.feed.read(after=self.read, limit=1_000) if self.home.feed else ()
        self.processes[0].index_entries([*reversed(entries), *self.untold])
        self.clock.advance(61)
        rebuilt = made_anew(self)
        for process in (*self.processes, self.process(0)):
            assert content(process) == rebuilt


def made_anew(at: Installation) -> Any:
    index = Index("hana", None)
    index.take(
        list(past_of(at.home, at.clock).new_batches("hana", IndexProgress())), at.clock.now()
    )
    return index.content()


def content(process: SqliteSearch) -> Any:
    """All that a process finds things in, after it has looked at what is new."""
    process.search("hana", SearchQuery("蟹"))
    with process._copies.acquire("hana") as copy:
        return copy.index.content()


@pytest.mark.timeout(120)
def test_a_replica_becomes_what_an_index_made_from_the_journal_is(tmp_path: Path) -> None:
    folders = (tmp_path / str(number) for number in count())

    class Machine(Installation):
        def __init__(self) -> None:
            super().__init__(next(folders))

    chosen = settings(max_examples=examples(25), stateful_step_count=25)
    run_state_machine_as_test(Machine, settings=chosen)
