"""Search on AWS: the backend that the settings choose, and the functions that serve it.

Search code is loaded at the first search, since most invocations never search.
"""

import secrets
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from opencrab import settings
from opencrab.adapters.aws_client import DeferredAwsClient
from opencrab.bootstrap.aws.environment import aws_setting, aws_table_of_process, lambda_log
from opencrab.domain.errors import Invalid
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.feed import FeedEntry
from opencrab.ports.memory.search import (
    IndexStatus,
    Search,
    SearchHit,
    SearchQuery,
    TextEmbedder,
)

if TYPE_CHECKING:
    from opencrab.adapters.door.aws import Signer
    from opencrab.adapters.opensearch.client import OpenSearchClient
    from opencrab.adapters.opensearch.search import OpenSearch
    from opencrab.adapters.search_rows import SearchRowReader
    from opencrab.adapters.sqlite_search.search import SqliteSearch
    from opencrab.adapters.sqlite_search.vectors import LatestEmbedder
    from opencrab.ports.memory.snapshots import SnapshotStore
    from opencrab.settings import Settings

_SQLITE, _OPENSEARCH, _EFS = BACKENDS = ("sqlite", "opensearch", "efs")

_SEARCH_SETTINGS = (
    "search.backend",
    "search.vectors",
    "search.opensearch_endpoint",
    "aws.search_function",
    "aws.search_folder",
    "aws.table",
    "aws.bucket",
    "aws.stage",
)
_SEARCHES: dict[tuple[str, ...], Search] = {}

Follow = Callable[[Iterable[FeedEntry]], None]

Answer = Callable[[Mapping[str, Any]], dict[str, Any] | None]

_SECONDS = 25.0
"""Timeout of the search function in seconds; the API has 29."""


class LaterSearch:
    """`ports.memory.search.Search`, created at its first use."""

    def __init__(self, make: Callable[[], Search]) -> None:
        self._make = make
        self._made: Search | None = None
        self._lock = Lock()

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        return self._get().search(agent_id, query)

    def apply_erasures(self, agent_id: str) -> None:
        self._get().apply_erasures(agent_id)

    def status(self, agent_id: str) -> IndexStatus:
        return self._get().status(agent_id)

    def _get(self) -> Search:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def aws_search_from_settings(configured: "Settings", clock: Clock) -> Search:
    """Return the configured search for functions that run turns or answer requests.

    Raises Invalid for an unknown backend, for one that lacks its address or cannot have vectors.
    """
    backend = _backend(configured)
    if backend == _EFS:
        function = aws_setting(configured, "search_function")
        return LaterSearch(lambda: _elsewhere(function))
    if backend == _OPENSEARCH:
        return LaterSearch(lambda: _in_collection(configured, clock))
    return LaterSearch(lambda: _own(configured, clock))


def aws_search_of_process(
    configured: "Settings", clock: Clock, embedder: Callable[[], TextEmbedder] | None = None
) -> Search:
    """Return the configured search, the same one for the same settings: its copies are files.

    Where vectors are on, `embedder` makes what embeds from now on.
    """
    if configured.get("search.vectors"):
        aws_embedder_of_process().use(embedder)
    named = tuple(str(configured.get(name)) for name in _SEARCH_SETTINGS)
    if named not in _SEARCHES:
        _SEARCHES[named] = aws_search_from_settings(configured, clock)
    return _SEARCHES[named]


@cache
def aws_embedder_of_process() -> "LatestEmbedder":
    """Return what embeds for all indexes of this process, where vectors are on."""
    from opencrab.adapters.sqlite_search.vectors import LatestEmbedder

    return LatestEmbedder()


def aws_search_indexer() -> Callable[[Mapping[str, Any]], None]:
    """Build what indexes the new rows that the table's stream names."""
    configured, clock = _awake()
    if _backend(configured) == _OPENSEARCH:
        return _following(_in_collection(configured, clock).index_entries)
    return _following(_own(configured, clock).index_entries)


def lambda_vpc_searcher() -> Answer:
    """Build the handler of the search function in the VPC."""
    configured, clock = _awake()
    _backend(configured)
    return aws_search_server(_own(configured, clock))


def aws_search_server(search: "SqliteSearch") -> Answer:
    """Build a handler that answers searches of other functions and follows the table's stream."""
    from opencrab.adapters.lambda_search import answer_lambda_search

    follow = _following(search.index_entries)

    def answer(event: Mapping[str, Any]) -> dict[str, Any] | None:
        if "Records" in event:
            follow(event)
            return None
        return answer_lambda_search(search, event)

    return answer


def _awake() -> "tuple[Settings, Clock]":
    from opencrab.adapters.system_clock import SystemClock

    configured = settings.load_settings({})
    lambda_log(configured)
    return configured, SystemClock()


def _backend(configured: "Settings") -> str:
    """Return the configured backend; raises Invalid if AWS cannot serve it."""
    backend = str(configured.get("search.backend"))
    if backend not in BACKENDS:
        raise Invalid(
            f"search.backend {backend!r} is not supported",
            field="search.backend",
            cure=f"set it to {', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}",
        )
    if configured.get("search.vectors"):
        from opencrab.bootstrap.vectors import are_vectors_configured

        are_vectors_configured(configured)
    return backend


def _following(follow: Follow) -> Callable[[Mapping[str, Any]], None]:
    from opencrab.adapters.dynamodb.stream import dynamodb_stream_entries

    return lambda event: follow(dynamodb_stream_entries(event["Records"]))


def _past(configured: "Settings", clock: Clock) -> "SearchRowReader":
    """Return the reader of all rows to be indexed, with consistent reads."""
    from opencrab.adapters.dynamodb.home import stores_on_dynamodb_table
    from opencrab.adapters.dynamodb.usage.ledger import DynamoUsage
    from opencrab.adapters.search_rows import SearchRowReader

    table = aws_table_of_process(configured)
    stores = stores_on_dynamodb_table(table)
    usage = DynamoUsage(table, clock)
    return SearchRowReader(stores.journal, stores.sessions, stores.facts, usage, clock)


def _own(configured: "Settings", clock: Clock) -> "SqliteSearch":
    """Return a SQLite search with copies of the indexes in this function's temporary storage."""
    from opencrab.adapters.sqlite_search.search import SqliteSearch

    folder = Path(tempfile.gettempdir(), "opencrab-search")
    past, snapshots = _past(configured, clock), _snapshots(configured, clock)
    vectors = None
    if configured.get("search.vectors"):
        from opencrab.adapters.sqlite_search.vectors import Vectors

        vectors = Vectors(aws_embedder_of_process())
    source = aws_setting(configured, "table")
    return SqliteSearch(past, snapshots, folder, clock, source=source, vectors=vectors)


def _snapshots(configured: "Settings", clock: Clock) -> "SnapshotStore":
    """Return the store of snapshots: the shared file system if there is one, else the bucket."""
    folder = str(configured.get("aws.search_folder"))
    if folder:
        from opencrab.adapters.local_files.snapshots import DirectorySnapshots

        return DirectorySnapshots(Path(folder), clock)
    from opencrab.adapters.s3_files.snapshots import S3Snapshots

    return S3Snapshots(DeferredAwsClient("s3"), aws_setting(configured, "bucket"), clock)


def _elsewhere(function_name: str) -> Search:
    from opencrab.adapters.lambda_search import LambdaSearch

    return LambdaSearch(DeferredAwsClient("lambda", read_seconds=_SECONDS), function_name)


def _in_collection(configured: "Settings", clock: Clock) -> "OpenSearch":
    """Return the search of an OpenSearch Serverless collection."""
    from opencrab.adapters.opensearch.search import OpenSearch

    client, stage = _collection(configured, clock), str(configured.get("aws.stage"))
    return OpenSearch(client, stage, _past(configured, clock), clock)


def _collection(configured: "Settings", clock: Clock) -> "OpenSearchClient":
    from opencrab.adapters.opensearch.client import OpenSearchClient
    from opencrab.adapters.opensearch.connection import (
        OpenSearchBackoff,
        OpenSearchConnection,
        new_opensearch_transport,
    )

    endpoint = str(configured.get("search.opensearch_endpoint"))
    backoff = OpenSearchBackoff(_wait, lambda: secrets.randbelow(1_000) / 1_000)
    return OpenSearchClient(
        OpenSearchConnection(
            endpoint, new_opensearch_transport(), aws_opensearch_signer, clock, backoff
        )
    )


def aws_opensearch_signer(region: str) -> "Signer":
    """Return a signer of requests to a collection, with the process's current credentials."""
    from opencrab.adapters.aws_client import aws_process_credentials
    from opencrab.adapters.door.aws import Credentials, Signer
    from opencrab.adapters.opensearch.signing import SERVICE

    now = aws_process_credentials()
    return Signer(SERVICE, region, Credentials(now.access_key, now.secret_key, now.token or ""))


def _wait(seconds: float) -> None:
    Event().wait(seconds)
