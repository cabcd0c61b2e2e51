"""OpenSearch Serverless as tests have it: the strict fake of a collection, and search over it."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import httpx

from opencrab.adapters.door.aws import Credentials, Signer
from opencrab.adapters.opensearch.client import OpenSearchClient
from opencrab.adapters.opensearch.connection import OpenSearchBackoff, OpenSearchConnection
from opencrab.adapters.opensearch.search import OpenSearch
from opencrab.adapters.opensearch.signing import SERVICE
from opencrab.adapters.opensearch.watermark import SETTLED
from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.conversation.feed import FeedEntry
from opencrab.ports.home import Home
from tests.opensearch.fake import FakeCollection
from tests.searching import past_of

ENDPOINT = "https://fake0.eu-central-1.aoss.amazonaws.com"
STAGE = "test"
INDEX = "opencrab-test-hana"
SETTLED_SECONDS = SETTLED.total_seconds() + 1


NOBODY = Credentials("AKIAFAKE", "secret", "token")


def signer(region: str, who: Credentials = NOBODY) -> Signer:
    """Who signs in tests."""
    return Signer(SERVICE, region, who)


def client_of(collection: httpx.BaseTransport, clock: FakeClock) -> OpenSearchClient:
    """A client of a collection that waits by moving the clock."""
    backoff = OpenSearchBackoff(clock.advance, lambda: 0.5)
    return OpenSearchClient(OpenSearchConnection(ENDPOINT, collection, signer, clock, backoff))


class Patient(OpenSearch):
    """Waits after indexing until searches rely on the index and no longer on the stores alone."""

    clock: FakeClock

    def index_entries(self, entries: Iterable[FeedEntry]) -> None:
        super().index_entries(entries)
        self.clock.advance(SETTLED_SECONDS)

    def catch_up(self, agent_id: str) -> None:
        super().catch_up(agent_id)
        self.clock.advance(SETTLED_SECONDS)


def patient(home: Home, clock: FakeClock, folder: Path) -> Patient:
    """A search over a home; the same folder is the same collection."""
    search = Patient(
        client_of(collection_in(folder, clock), clock), STAGE, past_of(home, clock), clock
    )
    search.clock = clock
    return search


@lru_cache(maxsize=2)
def collection_in(_folder: Path, clock: FakeClock) -> FakeCollection:
    """The collection that belongs to a folder; its index has several shards, as the real one."""
    return FakeCollection(clock, shards=2)
