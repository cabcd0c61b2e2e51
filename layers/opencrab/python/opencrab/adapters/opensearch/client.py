"""What we ask of OpenSearch Serverless: indexes, documents in bulk, and searches.

What a collection of the type SEARCH supports decides what is here. The developer guide ("Supported
operations and plugins", serverless-genref) lists `PUT`, `GET` and `DELETE` of an index, its
`_mapping`, `POST INDEX/_bulk` and `POST INDEX/_search`; ids of one's own are for SEARCH
collections only ("Choosing a collection type"; elsewhere items fail, langchainjs#4346). It has no
`_delete_by_query` (opensearch-java#1112) and no scrolling (elasticsearch-dump#1019), so that
documents are deleted by ids that we can work out. `refresh` is refused (opensearch-ruby#131):
what is written can be searched after 10 to 60 seconds (spring-data-elasticsearch#2955), and
parameters such as `timeout` are refused when an index is deleted (opensearch-spark#634).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from opencrab.adapters.opensearch.connection import ATTEMPTS, OpenSearchConnection, OpenSearchReply
from opencrab.domain.errors import Unavailable

BULK_BYTES = 4 * 2**20
BULK_ITEMS = 500
"""Of one request; the server takes more, and then takes long."""

_MISSING = "index_not_found_exception"
_THERE = "resource_already_exists_exception"
_OK = 200
_NOT_FOUND = 404
_REFUSED = 300
_TOO_MANY = 429
_BROKEN = 500
_NAMED = 5


@dataclass(frozen=True)
class DocumentWrite:
    """One document to index, or to delete if `source` is None."""

    id: str
    source: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class NotWritten:
    """A document that OpenSearch rejected permanently, with status code and reason."""

    id: str
    status: int
    reason: str


class OpenSearchClient:
    """Index, bulk and search operations on one collection."""

    def __init__(self, connection: OpenSearchConnection) -> None:
        self._connection = connection

    def create(self, index: str, body: Mapping[str, Any]) -> None:
        """Create an index, unless it exists."""
        reply = self._connection.ask("PUT", f"/{index}", _encode_json(body))
        if reply.status >= _REFUSED and reply.error_type != _THERE:
            raise _unexpected_status_error(reply, "creating an index")

    def drop(self, index: str) -> None:
        """Delete an index with all its documents; do nothing if it does not exist."""
        reply = self._connection.ask("DELETE", f"/{index}")
        if reply.status >= _REFUSED and reply.status != _NOT_FOUND:
            raise _unexpected_status_error(reply, "deleting an index")

    def about(self, index: str) -> Mapping[str, Any] | None:
        """Return the `_meta` of an index's mapping; None if there is no such index.

        It is empty for an index that was created implicitly by a write.
        """
        reply = self._connection.ask("GET", f"/{index}/_mapping")
        if reply.status == _NOT_FOUND:
            return None
        if reply.status != _OK:
            raise _unexpected_status_error(reply, "reading a mapping")
        about = reply.body.get(index, {}).get("mappings", {}).get("_meta", {})
        return about if isinstance(about, dict) else {}

    def search(self, index: str, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a search response; None if the index does not exist."""
        reply = self._connection.ask("POST", f"/{index}/_search", _encode_json(body))
        if reply.status == _NOT_FOUND and reply.error_type in {_MISSING, ""}:
            return None
        if reply.status != _OK or not isinstance(reply.body.get("hits"), dict):
            raise _unexpected_status_error(reply, "searching")
        if reply.body.get("timed_out") or reply.body.get("_shards", {}).get("failed"):
            raise Unavailable(
                "a search timed out or failed on some shards of the search collection",
                cure="try again",
            )
        return reply.body

    def write(self, index: str, writes: Iterable[DocumentWrite]) -> tuple[NotWritten, ...]:
        """Write documents in bulk and retry each as needed; return those rejected permanently.

        Raises Unavailable if some are still rejected temporarily after all attempts. Repeats are
        safe: a document has the same id each time.
        """
        refused: list[NotWritten] = []
        for batch in _batches(writes):
            refused.extend(self._write(index, batch))
        return tuple(refused)

    def _write(self, index: str, batch: list[tuple[str, bytes]]) -> Iterator[NotWritten]:
        for attempt in range(ATTEMPTS):
            self._connection.backoff.before(attempt)
            content = b"".join(lines for _, lines in batch)
            reply = self._connection.ask("POST", f"/{index}/_bulk", content, "x-ndjson")
            items = _items(reply, len(batch))
            again: list[tuple[str, bytes]] = []
            for sent, item in zip(batch, items, strict=True):
                status = int(item.get("status", 0))
                if status == _TOO_MANY or status >= _BROKEN:
                    again.append(sent)
                elif status >= _REFUSED and not _is_gone(item):
                    yield _not_written(sent[0], item)
            if not again:
                return
            batch = again
        raise Unavailable(
            f"the search collection rejected {len(batch)} documents, including {batch[0][0]!r}",
            cure="try again later",
        )


def require_opensearch_writes(refused: Iterable[NotWritten]) -> None:
    """Raise Unavailable, with ids and reasons, if any document was rejected."""
    listed = list(refused)
    if listed:
        named = ", ".join(f"{each.id!r} ({each.reason})" for each in listed[:_NAMED])
        raise Unavailable(
            f"the search collection rejected {len(listed)} documents, the first "
            f"{len(listed[:_NAMED])}: {named}",
            cure="correct the cause; they are written again at the agent's next change",
        )


def _batches(writes: Iterable[DocumentWrite]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for each in writes:
        lines = _lines(each)
        if batch and (len(batch) == BULK_ITEMS or size + len(lines) > BULK_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((each.id, lines))
        size += len(lines)
    if batch:
        yield batch


def _lines(write: DocumentWrite) -> bytes:
    if write.source is None:
        return _encode_json({"delete": {"_id": write.id}}) + b"\n"
    return _encode_json({"index": {"_id": write.id}}) + b"\n" + _encode_json(write.source) + b"\n"


def _items(reply: OpenSearchReply, expected: int) -> list[dict[str, Any]]:
    """Return the result of each item of a bulk response; raise Unavailable if it is malformed."""
    items = reply.body.get("items")
    if reply.status != _OK or not isinstance(items, list) or len(items) != expected:
        raise _unexpected_status_error(reply, "writing documents")
    return [next(iter(item.values())) for item in items]


def _is_gone(item: Mapping[str, Any]) -> bool:
    """Check whether a deletion found no document, which is a success."""
    return item.get("status") == _NOT_FOUND and "error" not in item


def _not_written(document_id: str, item: Mapping[str, Any]) -> NotWritten:
    reply = OpenSearchReply(int(item.get("status", 0)), dict(item))
    return NotWritten(document_id, reply.status, f"{reply.error_type}: {reply.reason}")


def _unexpected_status_error(reply: OpenSearchReply, what: str) -> Unavailable:
    told = f"{reply.error_type} {reply.reason}".strip()
    return Unavailable(
        f"{what} failed: the search collection returned HTTP {reply.status} {told}".strip(),
        cure="check the collection and its policies",
    )


def _encode_json(value: Mapping[str, Any]) -> bytes:
    """Encode as ASCII JSON, so that each item of a bulk request stays on one line."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
