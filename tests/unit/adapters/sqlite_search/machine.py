"""A home that is lived in, and what one machine has of its indexes."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.search_rows import IndexProgress
from opencrab.adapters.sqlite_search.index import TOKENIZER, Index
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Unavailable
from opencrab.ports.home import Home
from opencrab.ports.memory.search import SearchQuery
from opencrab.ports.memory.snapshots import Snapshot
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.lived import Life
from tests.searching import past_of


class Watched:
    """A snapshot store that counts its calls, and fails when it is told to."""

    def __init__(self, store: DirectorySnapshots) -> None:
        self.store = store
        self.calls: list[str] = []
        self.down = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls.append(name)
            if self.down:
                raise Unavailable("the store of snapshots does not answer")
            return getattr(self.store, name)(*arguments, **named)

        return call


class Machine:
    """A home that is lived in, and what one machine has of its indexes."""

    def __init__(self, home: Home, clock: FakeClock, folder: Path) -> None:
        self.home, self.clock, self.folder = home, clock, folder
        self.life = Life(home, clock)
        self.past = past_of(home, clock)
        self.store = Watched(DirectorySnapshots(folder / "snapshots", clock))
        self.searches: list[SqliteSearch] = []
        self.search = self.started()

    def started(self, past: Any = None, **limits: Any) -> SqliteSearch:
        """Another process on this machine."""
        made = SqliteSearch(
            past or self.past,
            self.store,
            self.folder / "copies",
            self.clock,
            **limits,
        )
        self.searches.append(made)
        return made

    def find(
        self, text: str, agent_id: str = "hana", search: SqliteSearch | None = None
    ) -> list[str]:
        found = (search or self.search).search(
            agent_id, SearchQuery(text, session_id=None, limit=50)
        )
        return sorted(each.row.text for each in found)

    def index(self) -> None:
        assert self.home.feed is not None
        self.search.index_entries(self.home.feed.read(after=0, limit=10_000))

    def newest(self, agent_id: str = "hana") -> Snapshot:
        newest = self.store.store.newest(agent_id)
        assert newest is not None
        return newest

    def publish(self, file: Path, agent_id: str = "hana", tokenizer: int = TOKENIZER) -> None:
        """What some other publisher left there, over whatever there was."""
        over = self.store.store.newest(agent_id)
        made = self.store.store.publish(agent_id, file, rows=1, tokenizer=tokenizer, over=over)
        assert made is not None

    def files(self) -> list[Path]:
        return [each for each in (self.folder / "copies").rglob("*.db*") if each.is_file()]


@contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """Hana has said one thing so far."""
    clock = FakeClock(NOW)
    with sqlite(folder / "home", clock) as home:
        made = Machine(home, clock, folder)
        made.life.meet("s1", "hana")
        made.life.say("hana's crab 蟹")
        yield made
        for each in made.searches:
            with suppress(OSError):
                each.close()


def saved(at: Machine, agent_id: str = "hana") -> Path:
    """A sound copy of what an agent lived through, as a file."""
    file = at.folder / "made.db"
    file.unlink(missing_ok=True)
    with closing(Index(agent_id, None)) as index:
        index.take(list(at.past.new_batches(agent_id, IndexProgress())), at.clock.now())
        index.save(file)
    return file
