"""A house whose agents remember: the index on this machine behind the same routes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opencrab.adapters.sqlite_search.live import LiveSearch
from tests.integration.rest.house import House
from tests.searching import searching


@contextmanager
def remembering(folder: Path) -> Iterator[House]:
    """An installation with nobody in it, whose search is the real one."""
    house = House(folder)
    search = searching(house.runtime.home, house.runtime.clock, folder)
    house.furnish(search=search)
    try:
        yield house
    finally:
        search.close()
        house.close()


def found(house: House, agent: str, query: str, **more: Any) -> list[dict[str, Any]]:
    """What a search finds; `key` is whose search it is."""
    key = more.pop("key", None)
    body = {"query": query, **more}
    items: list[dict[str, Any]] = house.made(f"/agents/{agent}/memory/search", body, key=key)[
        "items"
    ]
    return items


def texts(house: House, agent: str, query: str, **more: Any) -> list[str]:
    """The words of what a search finds."""
    return [each["text"] for each in found(house, agent, query, **more)]


def follow(house: House) -> None:
    """Let the index follow all changes so far, as the indexer does in the background."""
    feed, search = house.runtime.home.feed, house.runtime.search
    assert feed is not None
    assert isinstance(search, LiveSearch)
    search.index_entries(feed.read(after=0, limit=1_000))
