"""Search: what an agent can find again of what was said and what it chose to remember."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import EVERYTHING, RowKind, SearchClearance, SearchRow
from opencrab.ports.conversation.feed import FeedEntry

MOST_FOUND = 50
EXCERPT_CHARACTERS = 300
"""Characters of a row in an excerpt."""


@dataclass(frozen=True)
class SearchQuery:
    """What is looked for, on whose behalf, and where.

    Filters that are empty leave everything in. `speaker` is a name or an id. `before` leaves out
    the lines of one session from a number on: a turn does not look for the question that it was
    just asked.
    """

    text: str
    clearance: SearchClearance = EVERYTHING
    limit: int = 10
    session_id: str | None = None
    kinds: frozenset[RowKind] = frozenset()
    hearings: frozenset[Hearing] = frozenset()
    speaker: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: tuple[str, int] | None = None


@dataclass(frozen=True)
class SearchHit:
    """One thing that was found: its row, how well it fits, why, and its neighbours as an excerpt.

    The excerpt is `speaker: words`, a line each: the row before it, the row, the row after it, as
    far as whoever asks may hear them. `taint` when any words in it came from outside.
    """

    row: SearchRow
    score: float
    why: tuple[str, ...] = ()
    excerpt: str = ""
    taint: bool = False


def search_excerpt_line(row: SearchRow) -> str:
    """A row in an excerpt: one line, whatever it and its speaker's name hold."""
    text, speaker = (" ".join(each.split()) for each in (row.text, row.speaker))
    if len(text) > EXCERPT_CHARACTERS:
        text = f"{text[: EXCERPT_CHARACTERS - 1]}…"
    return f"{speaker}: {text}" if speaker else text


@dataclass(frozen=True)
class IndexStatus:
    """How an agent's index stands.

    `lines` is, by session, the number of the last line that it knows; `published_at` and
    `published_rows` are of the newest snapshot. `tokenizer` changes when texts are cut into terms
    in another way. `vectors` counts rows that can be found by their meaning, as `vector_model`
    has it.
    """

    backend: str
    rows: int = 0
    bytes: int = 0
    tokenizer: int = 0
    lines: tuple[tuple[str, int], ...] = ()
    published_at: datetime | None = None
    published_rows: int | None = None
    vectors: int = 0
    vector_model: str = ""


@dataclass(frozen=True)
class TextVectors:
    """What texts mean, as one model has it: a vector for each, in their order."""

    model: str
    vectors: tuple[tuple[float, ...], ...]


class TextEmbedder(Protocol):
    """Turns texts into vectors, for agents that can pay for it."""

    @property
    def name(self) -> str:
        """The model that would be asked now; "" when there is none."""

    def of(
        self, agent_id: str, texts: tuple[str, ...], *, at_most_seconds: float | None = None
    ) -> TextVectors | None:
        """What some texts mean; None when nobody can or may say, which is no error."""


class Search(Protocol):
    """Finds lines and kept things of one agent, never anybody else's."""

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        """What fits a query best, best first; what was just written is among it.

        Raises Unavailable while the index cannot be reached; words that cannot be looked for find
        nothing.
        """

    def forget(self, agent_id: str) -> None:
        """Take away what was forgotten, from the index and all its copies, to the last byte.

        What is to go is said by the marks among the agent's facts, which were written before.
        """

    def status(self, agent_id: str) -> IndexStatus:
        """How the agent's index stands."""


class Indexing(Protocol):
    """Keeps indexes up to date for those who have no copy yet, or an old one."""

    def follow(self, entries: Iterable[FeedEntry]) -> None:
        """Take in what a feed tells of; entries are hints, and what is true is read.

        Any order will do, and the same entries again change nothing. When it returns, all that
        was told is kept for good; when it raises, they must be told again.
        """

    def catch_up(self, agent_id: str) -> None:
        """Take in all there is of an agent, whatever was told or missed."""
