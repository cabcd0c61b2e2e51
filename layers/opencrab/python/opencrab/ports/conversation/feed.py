"""The change feed: what was committed, in order, for those who follow."""

from dataclasses import dataclass
from typing import Protocol

from opencrab.domain.document import FactId, FactKind
from opencrab.domain.erasure.request import FORGOTTEN
from opencrab.domain.memory.memory import EXPERIENCE, MEMORY
from opencrab.domain.memory.summary import SUMMARY
from opencrab.domain.value import Identifier, Value

INDEXED_KINDS = frozenset({MEMORY, EXPERIENCE, SUMMARY, FORGOTTEN})
"""The kinds of documents that indexes store or apply; the feed reports changes of these."""


class DocumentChange(Value):
    """The body of an entry of kind `fact`: the document that changed; readers load it."""

    owner: Identifier
    kind: FactKind
    id: FactId
    removed: bool = False


@dataclass(frozen=True)
class FeedEntry:
    """One committed item; `position` orders the feed.

    `body` is the line for kind `line`, the status for `turn`, and a `DocumentChange` for `fact`,
    which has no session.
    """

    position: int
    kind: str
    session_id: str
    turn_id: str | None
    body: str


class ChangeFeed(Protocol):
    """An ordered feed, kept for a day: lines, turn headers and changed documents.

    Only documents of INDEXED_KINDS are reported.
    """

    def read(self, *, after: int, limit: int) -> tuple[FeedEntry, ...]:
        """Return entries after a position, in order."""

    def wait(self, *, after: int, seconds: float) -> bool:
        """Block until there may be entries after a position; returns False after the timeout."""

    def position(self) -> int:
        """Return the position of the newest entry, 0 if there is none."""
