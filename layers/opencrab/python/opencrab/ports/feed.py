"""The change feed: what was committed, in order, for those who follow."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class FeedEntry:
    """One committed item; `position` orders the feed."""

    position: int
    kind: str
    session_id: str
    turn_id: str | None
    body: str


class ChangeFeed(Protocol):
    """An ordered feed of lines and turn headers; entries are kept for a day."""

    def read(self, *, after: int, limit: int) -> tuple[FeedEntry, ...]:
        """Entries after a position, in order."""

    def wait(self, *, after: int, seconds: float) -> bool:
        """Block until there may be entries after a position; False after the wait."""

    def position(self) -> int:
        """The position of the newest entry, 0 when there is none."""
