"""The search backends that the contract is held against: a new one adds its line to BACKENDS."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

from opencrab.adapters.lambda_search import LambdaSearch
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.aws.search import Answer, aws_search_server
from opencrab.ports.home import Home
from opencrab.ports.memory.search import Indexing, Search
from tests.opensearch.search import patient
from tests.searching import searching, searching_copies


class Backend(Search, Indexing, Protocol):
    """Both ports of one backend."""


OpenBackend = Callable[[Home, FakeClock, Path], AbstractContextManager[Backend]]
"""Opens a search over a home; the same folder again is another process with the same index."""


@contextmanager
def live_search(home: Home, clock: FakeClock, folder: Path) -> Iterator[Backend]:
    """SQLite indexes that are searched where they are written, as on one's own machine."""
    opened = searching(home, clock, folder)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def sqlite_search(home: Home, clock: FakeClock, folder: Path) -> Iterator[Backend]:
    """Copies of SQLite indexes, with snapshots in a directory."""
    opened = searching_copies(home, clock, folder)
    try:
        yield opened
    finally:
        opened.close()


class Elsewhere(LambdaSearch):
    """A search that asks a function, which runs in this process with a directory as its EFS."""

    def __init__(self, opened: SqliteSearch) -> None:
        super().__init__(Invoked(aws_search_server(opened)), "opencrab-dev-search")
        self.index_entries, self.catch_up = opened.index_entries, opened.catch_up


class Invoked:
    """Lambda's client: what goes over the wire is bytes, both ways."""

    def __init__(self, function: Answer) -> None:
        self._function = function

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        """One invocation."""
        assert FunctionName == "opencrab-dev-search"
        answer = self._function(json.loads(Payload))
        return {"StatusCode": 200, "Payload": BytesIO(json.dumps(answer).encode())}


@contextmanager
def through_a_function(home: Home, clock: FakeClock, folder: Path) -> Iterator[Backend]:
    """The same in a function of its own, as with SearchBackend=efs."""
    opened = searching_copies(home, clock, folder)
    try:
        yield Elsewhere(opened)
    finally:
        opened.close()


@contextmanager
def opensearch(home: Home, clock: FakeClock, folder: Path) -> Iterator[Backend]:
    """A collection of OpenSearch Serverless, which is waited for after each indexing."""
    yield patient(home, clock, folder)


BACKENDS: tuple[OpenBackend, ...] = (live_search, sqlite_search, through_a_function, opensearch)
