"""Search on this machine: indexes below the data folder, and their updates."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from opencrab.adapters.local_files.snapshots import DirectorySnapshots
from opencrab.adapters.search_rows import SearchRowReader
from opencrab.adapters.sqlite_search.live import LiveSearch
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home
from opencrab.ports.memory.search import Indexing

if TYPE_CHECKING:
    from opencrab.adapters.sqlite_search.vectors import Vectors


def local_search(
    home: Home, data: Path, clock: Clock, vectors: "Vectors | None" = None
) -> LiveSearch:
    """Create the search: index files in `search-copies/live`; `search` has what was before them."""
    if home.feed is None:
        raise TypeError("the local search follows the change feed, which this home does not have")
    past = SearchRowReader(home.journal, home.sessions, home.facts, home.usage, clock)
    earlier = DirectorySnapshots(data / "search", clock)
    folder = data / "search-copies"
    return LiveSearch(past, home.feed, folder, clock, earlier=earlier, vectors=vectors)


def local_search_indexing(runtime: Runtime) -> Indexing:
    """Return the indexing of a local runtime: its search also updates its indexes."""
    return cast("LiveSearch", runtime.search)
