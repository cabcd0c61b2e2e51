"""OpenSearch as a search system for the evaluator of retrieval sets, over the strict fake.

The fake scores as Lucene does, so that what is measured is the product's code and Lucene's order.
"""

from collections.abc import Iterator

from opencrab.adapters.opensearch.search import OpenSearch
from opencrab.adapters.search_rows import Batch, IndexProgress, SearchRowReader
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.erasure.request import ErasureMark
from opencrab.domain.memory.search_row import SearchRow
from opencrab.ports.memory.search import SearchQuery
from tests.bench.memory_system import Doc, batches_of, rows_of
from tests.opensearch.fake import FakeCollection
from tests.opensearch.search import SETTLED_SECONDS, client_of


class ToldPast(SearchRowReader):
    """A past that is told: all batches come once, to an index that knows nothing."""

    def __init__(self, batches: list[Batch]) -> None:
        self._batches = batches

    def new_batches(self, agent_id: str, seen: IndexProgress, *session_ids: str) -> Iterator[Batch]:
        return iter(self._batches if seen.at is None else ())

    def marks(self, agent_id: str) -> Iterator[tuple[str, ErasureMark]]:
        return iter(())

    def reread(self, agent_id: str, row: SearchRow) -> SearchRow | None:
        return row


class Product:
    """The index as an agent has it."""

    def __init__(self, shards: int = 1) -> None:
        self._shards = shards
        self._ids = dict[tuple[str, int], str]()
        self._search: OpenSearch | None = None

    def index(self, docs: list[Doc]) -> None:
        """Take in everything, and wait until a search relies on it."""
        rows = rows_of(docs)
        self._ids = {(row.session_id, row.sequence): doc_id for doc_id, row in rows.items()}
        clock = FakeClock(max(row.at for row in rows.values()))
        client = client_of(FakeCollection(clock, shards=self._shards), clock)
        past = ToldPast(batches_of(rows.values()))
        search = self._search = OpenSearch(client, "test", past, clock)
        search.catch_up("agent")
        clock.advance(SETTLED_SECONDS)

    def search(self, query: str, k: int) -> list[str]:
        """Ids of documents, best first."""
        assert self._search is not None
        found = self._search.search("agent", SearchQuery(query, limit=k))
        return [self._ids[each.row.session_id, each.row.sequence] for each in found]


def make_opensearch() -> Product:
    """The product's search over one shard."""
    return Product()


def make_sharded() -> Product:
    """The same over three shards, each of which scores by its own counts."""
    return Product(shards=3)
