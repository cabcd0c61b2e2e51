"""A search over a home that is lived in, as one process has it or several."""

from collections.abc import Callable
from typing import Any

from opencrab.domain.memory.search_row import SearchClearance
from opencrab.ports.home import Home
from opencrab.ports.memory.search import SearchHit, SearchQuery
from tests.contract.backends import Backend
from tests.lived import Life


class Place:
    """A home that is lived in, and a search over it, as one process has it or several."""

    def __init__(self, home: Home, life: Life, again: Callable[[], Backend]) -> None:
        self.home, self.life, self.again = home, life, again
        self.search = again()

    def find(self, text: str, agent_id: str = "hana", **filters: Any) -> list[str]:
        """The texts that are found, best first."""
        return [each.row.text for each in self.found(text, agent_id, **filters)]

    def found(self, text: str, agent_id: str = "hana", **filters: Any) -> tuple[SearchHit, ...]:
        filters.setdefault("clearance", SearchClearance(whole=True, session_id="s1"))
        return self.search.search(agent_id, SearchQuery(text, **filters))

    def index(self) -> None:
        """Let the indexer take in all that the feed has told."""
        assert self.home.feed is not None
        self.search.index_entries(self.home.feed.read(after=0, limit=10_000))
