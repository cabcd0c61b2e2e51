"""Search: what an agent can find again of what was said and what it chose to remember."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class Found:
    """One thing that was found; `taint` when its words came from outside."""

    kind: str
    text: str
    session_id: str
    speaker: str
    at: datetime
    score: float
    taint: bool = False


class Search(Protocol):
    """Finds lines and memories of one agent; nobody else's."""

    def search(
        self, agent_id: str, query: str, *, session_id: str, limit: int = 10
    ) -> tuple[Found, ...]:
        """What fits a query best, best first: lines of a session and the agent's memories."""
