"""Vectors of rows in the file of an index, there only when they are configured.

A row without one is found by words alone. They belong to one model: when another one is asked, all
of them are made anew. They go with their rows, by a trigger, whoever removes those.
"""

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import nsmallest

from opencrab.adapters.sqlite_search.conditions import Conditions
from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.row_codec import clean_sqlite_search_text
from opencrab.adapters.sqlite_search.schema import VECTORS, translate_sqlite_search_decoding_errors
from opencrab.domain.text.vectors import (
    MOST_NEAR,
    QuantizedVector,
    cosine_similarity_of_text_vectors,
    fuse_text_search_scores,
    quantize_text_vector,
)
from opencrab.ports.clock import Clock
from opencrab.ports.memory.search import SearchQuery, TextEmbedder, TextVectors

BATCH = 64
"""Texts of one call."""

AT_ONCE = 512
"""Rows that get a vector in one publication; the others wait for the next."""

LEARNING_SECONDS = 10.0
CALL_SECONDS = 15.0
"""After the first no further call begins, the second is the longest that one takes: whoever
publishes has other agents to look after, and on AWS two minutes for all."""

MOST_CALLS = 32
"""Calls of one batch: more than one only if the model refuses a text, which is looked for then."""

LONGEST_TEXT = 2_000
"""Characters of a row that count: models of embeddings take a few thousand tokens."""

ASKING_SECONDS = 5.0
"""For the vector of a question: somebody waits, and words alone answer too."""

_KEY = "vectors"

# Names of tables and columns cannot be parameters; nothing else is put into these.
_LACKING = (
    "SELECT row.id, row.text FROM row"
    " WHERE NOT EXISTS (SELECT 1 FROM vector WHERE vector.row = row.id)"
    " ORDER BY row.at DESC, row.id DESC LIMIT ?"
)
_ALL = "SELECT row.id, row.text FROM row ORDER BY row.at DESC, row.id DESC LIMIT ?"
_FIRST = (
    "SELECT row.id FROM row JOIN name ON name.id = row.session"
    " WHERE row.id IN (SELECT value FROM json_each(?))"
    " ORDER BY row.at DESC, name.text, row.sequence, row.kind, row.ref LIMIT ?"
)


class Vectors:
    """The vector search of `SqliteSearch`; `meaning` creates vectors, or returns None."""

    def __init__(self, meaning: TextEmbedder) -> None:
        self._meaning = meaning

    def query_vector(self, agent_id: str, index: Index, query: SearchQuery) -> "QueryVector | None":
        """Return the query's vector search.

        None if no vectors of the current model can be compared.
        """
        text = clean_sqlite_search_text(query.text[:LONGEST_TEXT])
        about = index.ask(_about)
        if not text.strip() or query.limit < 1 or about is None or not self._is_asked(about[1]):
            return None
        meant = self._meaning.embed(agent_id, (text,), query=True, at_most_seconds=ASKING_SECONDS)
        if meant is None or not meant.vectors:
            return None
        if (len(meant.vectors[0]), meant.model) != about:
            return None
        return QueryVector(quantize_text_vector(meant.vectors[0]))

    def vector_writer(
        self, agent_id: str, clock: Clock, until_ms: float = math.inf
    ) -> Callable[[Index], int]:
        """Return a function that adds missing vectors to an index and returns their number.

        It adds at most AT_ONCE per call, and requests each text once, as a publication may be
        repeated on another snapshot. No call begins after `until_ms`, of the monotonic clock.
        """
        known: dict[tuple[str, str], Sequence[float]] = {}

        def teach(index: Index) -> int:
            learnt, until = 0, min(until_ms, clock.monotonic_ms() + LEARNING_SECONDS * 1_000)
            while learnt < AT_ONCE and clock.monotonic_ms() <= until:
                model = self._meaning.name
                lacking = index.ask(partial(_lacking, model=model))
                batch = _TextBatch(self._meaning, agent_id, model, clock)
                made = _quantized_vectors(batch, lacking, known)
                if not made:
                    break
                index.change(partial(_store_vectors, model=model, made=made))
                learnt += len(made)
            return learnt

        return teach

    def coverage(self, index: Index) -> tuple[int, str]:
        """Return how many rows have a vector, and the model's name."""
        about = index.ask(_about)
        return (0, "") if about is None else (index.ask(_count_vectors), about[1])

    def _is_asked(self, model: str) -> bool:
        return model == self._meaning.name


class _TextBatch:
    """The requests for vectors of some texts; of halves, if the model refuses one of them.

    So one refused text costs one text. All requests together have the time of one.
    """

    def __init__(self, meaning: TextEmbedder, agent_id: str, model: str, clock: Clock) -> None:
        self.model = model
        self.vectors: dict[str, Sequence[float]] = {}
        self.refused: list[str] = []
        self._meaning, self._agent_id, self._clock = meaning, agent_id, clock
        self._until_ms = clock.monotonic_ms() + CALL_SECONDS * 1_000
        self._calls = 0

    def request(self, texts: Sequence[str]) -> bool:
        """Request vectors; False if nobody answers (any more), or another model does."""
        seconds = (self._until_ms - self._clock.monotonic_ms()) / 1_000
        if seconds <= 0 or self._calls == MOST_CALLS:
            return False
        self._calls += 1
        meant = self._meaning.embed(self._agent_id, tuple(texts), at_most_seconds=seconds)
        if meant is None or meant.model != self.model:
            return False
        if meant.vectors:
            self.vectors.update(zip(texts, meant.vectors, strict=True))
            return True
        if len(texts) == 1:
            self.refused.extend(texts)
            return True
        half = len(texts) // 2
        return self.request(texts[:half]) and self.request(texts[half:])


def _quantized_vectors(
    batch: _TextBatch,
    lacking: Sequence[tuple[int, str]],
    known: dict[tuple[str, str], Sequence[float]],
) -> tuple[tuple[int, QuantizedVector], ...]:
    """Return vectors of those rows that got one; empty if the model changed or does not answer.

    A refused text gets one without direction, which is near nothing and not asked for again. That
    needs proof that the model answers at all: a vector of another text.
    """
    model = batch.model
    new = list(dict.fromkeys(text for _, text in lacking if (model, text) not in known))
    if new:
        batch.request(new)
        found = dict(batch.vectors)
        if found:
            nowhere = (0.0,) * len(next(iter(found.values())))
            found |= dict.fromkeys(batch.refused, nowhere)
        known.update({(model, text): vector for text, vector in found.items()})
    return tuple(
        (number, quantize_text_vector(known[model, text]))
        for number, text in lacking
        if (model, text) in known
    )


class LatestEmbedder:
    """`ports.memory.search.TextEmbedder` of the settings that count now.

    On AWS copies of indexes outlive settings. Each embedder is created at its first use, since most
    invocations never search; without one there are no vectors.
    """

    def __init__(self) -> None:
        self._make: Callable[[], TextEmbedder] | None = None
        self._made: TextEmbedder | None = None

    def use(self, make: Callable[[], TextEmbedder] | None) -> None:
        """Let what `make` returns embed from now on; nothing if it is None."""
        self._make, self._made = make, None

    @property
    def name(self) -> str:
        made = self._get()
        return "" if made is None else made.name

    def embed(
        self,
        agent_id: str,
        texts: tuple[str, ...],
        *,
        query: bool = False,
        at_most_seconds: float | None = None,
    ) -> TextVectors | None:
        made = self._get()
        if made is None:
            return None
        return made.embed(agent_id, texts, query=query, at_most_seconds=at_most_seconds)

    def _get(self) -> TextEmbedder | None:
        if self._made is None and self._make is not None:
            self._made = self._make()
        return self._made


class QueryVector:
    """A search by one query's vector: a `Sense` for `find_search_rows`."""

    def __init__(self, asked: QuantizedVector) -> None:
        self._asked = asked

    def __call__(
        self, connection: sqlite3.Connection, hits: dict[int, float], limits: Conditions
    ) -> tuple[dict[int, float], dict[int, tuple[str, ...]]]:
        with translate_sqlite_search_decoding_errors():
            near = frozenset(_nearest(connection, self._asked, limits))
            likeness = _cosines(connection, self._asked, {*near, *hits})
        scores = fuse_text_search_scores(hits, likeness)
        why = {
            number: ("words",) * (number in hits) + ("meaning",) * (number in near)
            for number in scores
        }
        return scores, why


def _about(connection: sqlite3.Connection) -> tuple[int, str] | None:
    """Return dimensions and model of the stored vectors; None if there are none."""
    found = connection.execute("SELECT value FROM about WHERE key = ?", (_KEY,)).fetchone()
    if found is None:
        return None
    dimensions, _, model = str(found[0]).partition(":")
    with translate_sqlite_search_decoding_errors():
        return int(dimensions), model


def _count_vectors(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM vector").fetchone()[0])


def _lacking(connection: sqlite3.Connection, model: str) -> list[tuple[int, str]]:
    """Return rows without a vector of this model, newest first, with text cut to LONGEST_TEXT."""
    about = _about(connection)
    statement = _LACKING if about is not None and about[1] == model else _ALL
    found = connection.execute(statement, (BATCH,))
    return [(number, text[:LONGEST_TEXT]) for number, text in found]


def _store_vectors(
    connection: sqlite3.Connection, model: str, made: Sequence[tuple[int, QuantizedVector]]
) -> None:
    """Store vectors of rows, and delete those of another model or dimension."""
    about = (made[0][1].dimensions, model)
    known = _about(connection)
    if known is None:
        for statement in VECTORS:
            connection.execute(statement)
    elif known != about:
        connection.execute("DELETE FROM vector")
    told = f"{about[0]}:{model}"
    connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (_KEY, told))
    connection.executemany(
        "INSERT OR REPLACE INTO vector VALUES (?, ?, ?)",
        ((number, each.bits, each.body) for number, each in made),
    )


def _nearest(
    connection: sqlite3.Connection, asked: QuantizedVector, limits: Conditions
) -> tuple[int, ...]:
    """Return the allowed rows with the smallest Hamming distance; ties go to the newest."""
    joined = (
        ""
        if limits.matches_all
        else f" JOIN row ON row.id = vector.row WHERE {limits.matching_sql}"
    )
    found = connection.execute(f"SELECT vector.row, vector.bits FROM vector{joined}", limits.values)  # noqa: S608 - values are parameters
    signs = int.from_bytes(asked.bits, "big")
    apart = [((int.from_bytes(bits, "big") ^ signs).bit_count(), number) for number, bits in found]
    best = nsmallest(MOST_NEAR, apart)
    if len(best) < MOST_NEAR:
        return tuple(number for _, number in best)
    last = best[-1][0]
    nearer = [number for distance, number in best if distance < last]
    tied = [number for distance, number in apart if distance == last]
    first = connection.execute(_FIRST, (json.dumps(tied), MOST_NEAR - len(nearer)))
    return (*nearer, *(number for (number,) in first))


def _cosines(
    connection: sqlite3.Connection, asked: QuantizedVector, numbers: Iterable[int]
) -> dict[int, float]:
    """Return the cosine similarity of those rows that have a vector."""
    found = connection.execute(
        "SELECT vector.row, vector.body FROM vector"
        " WHERE vector.row IN (SELECT value FROM json_each(?))",
        (json.dumps(list(numbers)),),
    )
    return {number: cosine_similarity_of_text_vectors(body, asked.body) for number, body in found}
