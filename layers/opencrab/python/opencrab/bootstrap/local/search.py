"""Search on this machine: indexes below the data folder, and their updates."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from opencrab.adapters.local_files.snapshots import DirectorySnapshots
from opencrab.adapters.search_rows import SearchRowReader
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home
from opencrab.ports.memory.search import Indexing

if TYPE_CHECKING:
    from opencrab.adapters.sqlite_search.vectors import Vectors


def local_search(
    home: Home, data: Path, clock: Clock, vectors: "Vectors | None" = None
) -> SqliteSearch:
    """Create the search: snapshots in `search`, this process's index copies in `search-copies`."""
    past = SearchRowReader(home.journal, home.sessions, home.facts, home.usage, clock)
    snapshots = DirectorySnapshots(data / "search", clock)
    return SqliteSearch(past, snapshots, data / "search-copies", clock, vectors=vectors)


def local_search_indexing(runtime: Runtime) -> Indexing:
    """Return the indexing of a local runtime: its search also updates its indexes."""
    return cast("SqliteSearch", runtime.search)
