"""Search: what an agent can find again of what was said and what it chose to remember."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import EVERYTHING, RowKind, SearchClearance, SearchRow
from opencrab.ports.conversation.feed import FeedEntry

MOST_FOUND = 50
MOST_QUESTIONS = 4
"""The most questions of one query, one a line; each is a search of its own.

Of a longer text all further lines belong to the last question.
"""

_RANK_CONSTANT = 60
EXCERPT_CHARACTERS = 300
"""The limit of characters of a row in an excerpt."""


@dataclass(frozen=True)
class SearchQuery:
    """A search: text, clearance of the searcher, and filters.

    An empty filter excludes nothing. `speaker` is a name or an id. `before` excludes the lines of
    one session from a number on: a turn does not find the question that it was just asked. Times
    that the text names (last Friday, 6月3日) are on the clock of `zone`, an IANA name; with
    `only_words` neither they nor speakers count.
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
    zone: str = "UTC"
    only_words: bool = False


@dataclass(frozen=True)
class SearchHit:
    """A search result: its row, its score, the reasons, and an excerpt with its neighbours.

    The excerpt has lines `speaker: words`: the row before it, the row, the row after it, as far as
    the searcher may hear them. `taint` if any of its text is untrusted.
    """

    row: SearchRow
    score: float
    why: tuple[str, ...] = ()
    excerpt: str = ""
    taint: bool = False


def memory_search_excerpt_line(row: SearchRow) -> str:
    """Format a row for an excerpt: one line, whatever its text and speaker contain."""
    text, speaker = (" ".join(each.split()) for each in (row.text, row.speaker))
    if len(text) > EXCERPT_CHARACTERS:
        text = f"{text[: EXCERPT_CHARACTERS - 1]}…"
    return f"{speaker}: {text}" if speaker else text


@dataclass(frozen=True)
class IndexStatus:
    """The status of an agent's index.

    `lines` is, by session, the number of the last indexed line; `published_at`, `published_rows`
    are of the newest snapshot or live index. `tokenizer`, a version, changes with the way
    texts are cut into terms. `vectors` counts rows with an embedding by `vector_model`.
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
    """Embeddings of texts by one model, in the order of the texts; none if it refused a text."""

    model: str
    vectors: tuple[tuple[float, ...], ...]


class TextEmbedder(Protocol):
    """Computes embeddings for agents whose budget allows it."""

    @property
    def name(self) -> str:
        """The embedding model now in use; "" if there is none."""

    def embed(
        self,
        agent_id: str,
        texts: tuple[str, ...],
        *,
        query: bool = False,
        at_most_seconds: float | None = None,
    ) -> TextVectors | None:
        """Compute embeddings; returns None (no error) without a model, permission or budget.

        If the model refuses a text, as one that its vendor blocks, there are no vectors at all: the
        caller may ask for fewer texts.

        `query` says that the texts are searched with, not stored: some models tell them apart.
        """


class Search(Protocol):
    """Search in lines, memories and other kept items of one agent, never of another one."""

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        """Return what fits a query best, best first; the newest writes are included.

        Raises Unavailable while the index cannot be reached; a query without searchable terms finds
        nothing.
        """

    def apply_erasures(self, agent_id: str) -> None:
        """Remove erased data from the index and all its copies, completely.

        The erasure marks among the agent's documents, written before, say what to remove.
        """

    def status(self, agent_id: str) -> IndexStatus:
        """Return the status of the agent's index."""


def search_each_question(
    search: Search, agent_id: str, query: SearchQuery
) -> tuple[SearchHit, ...]:
    """Search for each line of a query, at most MOST_QUESTIONS times, and return one list.

    What several questions find comes first: reciprocal rank fusion, as in Cormack, Clarke and
    Büttcher, "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009. A query of one line is
    searched as it is.
    """
    lines = [each for each in dict.fromkeys(query.text.splitlines()) if each.strip()]
    first, further = lines[: MOST_QUESTIONS - 1], lines[MOST_QUESTIONS - 1 :]
    questions = [*first, "\n".join(further)] if further else first
    if len(questions) < 2:  # noqa: PLR2004 - one is no list
        return search.search(agent_id, query)
    scores, hits = dict[str, float](), dict[str, SearchHit]()
    for question in questions:
        for rank, hit in enumerate(search.search(agent_id, replace(query, text=question)), 1):
            key = hit.row.id
            scores[key] = scores.get(key, 0.0) + 1 / (_RANK_CONSTANT + rank)
            hits.setdefault(key, hit)
    best = sorted(hits, key=lambda key: -scores[key])[: query.limit]
    return tuple(replace(hits[key], score=scores[key]) for key in best)


class Indexing(Protocol):
    """Keeps indexes up to date for workers without a copy, or with an old one."""

    def index_entries(self, entries: Iterable[FeedEntry]) -> None:
        """Index what a feed's entries report; entries are hints, the data itself is read.

        Any order works, and repeated entries change nothing. When it returns, the index is stored
        durably; if it raises, the same entries must be given again.
        """

    def catch_up(self, agent_id: str) -> None:
        """Index all data of an agent, independent of earlier entries."""
