"""The change feed: what was committed, in order, for those who follow."""

from dataclasses import dataclass
from typing import Protocol

from opencrab.domain.document import FactId, FactKind
from opencrab.domain.erasure.request import FORGOTTEN
from opencrab.domain.memory.memory import EXPERIENCE, MEMORY
from opencrab.domain.memory.summary import SUMMARY
from opencrab.domain.value import Identifier, Value

TOLD = frozenset({MEMORY, EXPERIENCE, SUMMARY, FORGOTTEN})
"""The kinds of facts whose changes the feed tells of: those that indexes keep or obey."""


class FactTold(Value):
    """The body of an entry of kind `fact`: which fact changed; whoever minds reads it."""

    owner: Identifier
    kind: FactKind
    id: FactId
    removed: bool = False


@dataclass(frozen=True)
class FeedEntry:
    """One committed item; `position` orders the feed.

    A `line` has the line as its body, a `turn` its status, a `fact` a `FactTold` and no session.
    """

    position: int
    kind: str
    session_id: str
    turn_id: str | None
    body: str


class ChangeFeed(Protocol):
    """An ordered feed of lines, turn headers and facts that are TOLD; it is kept for a day."""

    def read(self, *, after: int, limit: int) -> tuple[FeedEntry, ...]:
        """Entries after a position, in order."""

    def wait(self, *, after: int, seconds: float) -> bool:
        """Block until there may be entries after a position; False after the wait."""

    def position(self) -> int:
        """The position of the newest entry, 0 when there is none."""
