"""Search as one machine has it, over any home: for all tests that look for something."""

from pathlib import Path

from opencrab.adapters.local_files import DirectorySnapshots
from opencrab.adapters.search_rows import SearchRowReader
from opencrab.adapters.sqlite_search.live import LiveSearch
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home


def past_of(home: Home, clock: Clock) -> SearchRowReader:
    """The past as a home's stores tell it."""
    return SearchRowReader(home.journal, home.sessions, home.facts, home.usage, clock)


def searching(home: Home, clock: Clock, folder: Path) -> LiveSearch:
    """A search whose index files lie in a folder of the test's own."""
    assert home.feed is not None
    earlier = DirectorySnapshots(folder / "snapshots", clock)
    return LiveSearch(past_of(home, clock), home.feed, folder / "copies", clock, earlier=earlier)


def searching_copies(home: Home, clock: Clock, folder: Path) -> SqliteSearch:
    """A search with copies and published snapshots, as on AWS; both lie in a folder."""
    snapshots = DirectorySnapshots(folder / "snapshots", clock)
    return SqliteSearch(past_of(home, clock), snapshots, folder / "copies", clock)
