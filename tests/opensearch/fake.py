"""A collection of OpenSearch Serverless for tests: as strict as the real one, in this process.

It takes exactly the requests that `client.py` makes; whatever else comes is answered as the
service answers what it does not support. What is written is found after a while, as there.
"""

import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx

from opencrab.ports.clock import Clock
from tests.opensearch.fake_index import BadRequest, FakeIndex, Source

REFRESH = timedelta(seconds=10)

_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[!-~]+/\d{8}/[a-z0-9-]+/aoss/aws4_request, "
    r"SignedHeaders=[a-z0-9;-]+, Signature=[0-9a-f]{64}"
)
_MUST_BE_SIGNED = {"host", "x-amz-content-sha256", "x-amz-date"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,254}")
_LONGEST_ID = 512
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class _Body:
    """What a request carries."""

    kind: str
    content: bytes


class FakeCollection(httpx.BaseTransport):
    """A transport at whose end there is a collection.

    Attributes:
        faults: What the next requests meet instead of an answer: a status, or an error to raise.
        item_faults: By the id of a document, the statuses that its next writes meet.
        asked: All requests so far, as method and path.
        forbidden: Whether the data access policy forgot the role.
    """

    def __init__(self, clock: Clock, *, refresh: timedelta = REFRESH, shards: int = 1) -> None:
        self._clock = clock
        self._refresh = refresh
        self._shards = shards
        self._indexes: dict[str, FakeIndex] = {}
        self._written: dict[str, dict[str, Source]] = {}
        self._waiting: deque[tuple[datetime, str, str, Source | None]] = deque()
        self.faults: deque[int | httpx.TransportError] = deque()
        self.item_faults: dict[str, deque[int]] = {}
        self.asked: list[tuple[str, str]] = []
        self.forbidden = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = request.read()
        path = request.url.raw_path.decode("ascii")
        self.asked.append((request.method, path))
        if self.faults:
            fault = self.faults.popleft()
            if isinstance(fault, httpx.TransportError):
                raise fault
            return _failed(fault, "es_rejected_execution_exception", "rejected execution")
        if self.forbidden or not _is_signed(request, body):
            return _failed(403, "Forbidden", "403 Forbidden")
        try:
            return self._routed(request, path, body)
        except BadRequest as error:
            return _failed(400, error.kind, error.reason)

    def sources(self, index: str) -> dict[str, Source]:
        """All documents of an index, those included that no search finds yet."""
        return dict(self._written.get(index, {}))

    def indexes(self) -> tuple[str, ...]:
        """The names of all indexes."""
        return tuple(sorted(self._indexes))

    def _routed(self, request: httpx.Request, path: str, body: bytes) -> httpx.Response:
        if request.url.query:
            raise _unsupported(request.url.query.decode("ascii"))
        name, _, operation = path.removeprefix("/").partition("/")
        routes: dict[tuple[str, str], Callable[[str, _Body], httpx.Response]] = {
            ("PUT", ""): self._create,
            ("DELETE", ""): self._drop,
            ("GET", "_mapping"): self._mapping,
            ("POST", "_search"): self._search,
            ("POST", "_bulk"): self._bulk,
        }
        route = routes.get((request.method, operation))
        if route is None or not _NAME.fullmatch(name):
            return httpx.Response(404)
        if route not in {self._create, self._bulk} and name not in self._indexes:
            return _failed(404, "index_not_found_exception", f"no such index [{name}]")
        return route(name, _Body(request.headers.get("content-type", ""), body))

    def _create(self, name: str, body: _Body) -> httpx.Response:
        if name in self._indexes:
            reason = f"index [{name}] already exists"
            raise BadRequest("resource_already_exists_exception", reason)
        asked = _json(body)
        _check_settings(asked.get("settings", {}))
        self._add(name, asked)
        return _answer(200, {"acknowledged": True, "shards_acknowledged": True, "index": name})

    def _drop(self, name: str, _body: _Body) -> httpx.Response:
        del self._indexes[name], self._written[name]
        self._waiting = deque(each for each in self._waiting if each[1] != name)
        return _answer(200, {"acknowledged": True})

    def _mapping(self, name: str, _body: _Body) -> httpx.Response:
        return _answer(200, {name: {"mappings": self._indexes[name].mappings}})

    def _search(self, name: str, body: _Body) -> httpx.Response:
        now = self._clock.now()
        while self._waiting and self._waiting[0][0] <= now:
            _, index, document_id, source = self._waiting.popleft()
            if source is None:
                self._indexes[index].remove(document_id)
            else:
                self._indexes[index].put(document_id, source)
        return _answer(200, self._indexes[name].search(_json(body)))

    def _bulk(self, name: str, body: _Body) -> httpx.Response:
        if body.kind != "application/x-ndjson":
            return _failed(406, "", "Content-Type header is not supported")
        if not body.content.endswith(b"\n"):
            reason = "The bulk request must be terminated by a newline [\\n]"
            raise BadRequest("illegal_argument_exception", reason)
        if name not in self._indexes:
            self._add(name, None)
        lines = deque(body.content[:-1].split(b"\n"))
        items = []
        while lines:
            action, meta = _action(lines.popleft())
            source = json.loads(lines.popleft()) if action == "index" else None
            items.append({action: self._write(name, meta["_id"], source)})
        errors = any("error" in item for each in items for item in each.values())
        return _answer(200, {"took": 1, "errors": errors, "items": items})

    def _write(self, name: str, document_id: str, source: Source | None) -> dict[str, Any]:
        item: dict[str, Any] = {"_index": name, "_id": document_id}
        faults = self.item_faults.get(document_id)
        if faults:
            error = {"type": "es_rejected_execution_exception", "reason": "rejected execution"}
            return {**item, "status": faults.popleft(), "error": error}
        there = document_id in self._written[name]
        if source is None:
            if not there:
                return {**item, "result": "not_found", "status": 404}
            del self._written[name][document_id]
        else:
            try:
                _check_characters(source)
                self._indexes[name].check(source)
            except BadRequest as error:
                return {
                    **item,
                    "status": 400,
                    "error": {"type": error.kind, "reason": error.reason},
                }
            self._written[name][document_id] = source
        self._waiting.append((self._clock.now() + self._refresh, name, document_id, source))
        return {
            **item,
            "result": "updated" if there else "created",
            "status": 200 if there else 201,
        }

    def _add(self, name: str, body: Mapping[str, Any] | None) -> None:
        self._indexes[name] = FakeIndex(name, body, self._shards)
        self._written[name] = {}


def _is_signed(request: httpx.Request, body: bytes) -> bool:
    """Whether all is there that the service looks at; whether it is right, another test says."""
    headers = request.headers
    signed = _SIGNED.fullmatch(headers.get("authorization", ""))
    names = headers.get("authorization", "").partition("SignedHeaders=")[2].partition(",")[0]
    told = headers.get("x-amz-content-sha256")
    return (
        signed is not None
        and set(names.split(";")) >= _MUST_BE_SIGNED
        and "content-length" not in names
        and told == hashlib.sha256(body).hexdigest()
    )


def _action(line: bytes) -> tuple[str, dict[str, Any]]:
    """What is to be done with one document."""
    told = json.loads(line)
    action, meta = next(iter(told.items()))
    if action not in {"index", "delete"} or len(told) != 1:
        reason = f"Malformed action/metadata line, found [{action}]"
        raise BadRequest("illegal_argument_exception", reason)
    unknown = sorted(set(meta) - {"_id"})
    if unknown:
        reason = f"Action/metadata line contains an unknown parameter [{unknown[0]}]"
        raise BadRequest("illegal_argument_exception", reason)
    if not 0 < len(meta["_id"].encode("utf-8", "surrogatepass")) <= _LONGEST_ID:
        reason = f"id is too long, must be no longer than {_LONGEST_ID} bytes"
        raise BadRequest("action_request_validation_exception", reason)
    return action, meta


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Serverless allows few settings; shards and replicas are its own business."""
    unknown = [*(set(settings) - {"index", "analysis"})]
    unknown.extend(set(settings.get("index", {})) - {"similarity"})
    if unknown:
        reason = f"unknown setting [index.{unknown[0]}]"
        raise BadRequest("illegal_argument_exception", reason)


def _check_characters(source: Source) -> None:
    """JSON of the server is UTF-8, in which there are no halves of characters."""
    if any(_HALF.search(each) for each in source.values() if isinstance(each, str)):
        raise BadRequest("mapper_parsing_exception", "failed to parse: Invalid UTF-8")


def _unsupported(query: str) -> BadRequest:
    name, _, value = query.partition("=")
    if name == "refresh":
        return BadRequest("status_exception", f"{value} refresh policy is not supported.")
    return BadRequest(
        "illegal_argument_exception", f"request contains unrecognized parameter: [{name}]"
    )


def _json(body: _Body) -> dict[str, Any]:
    try:
        asked = json.loads(body.content)
    except ValueError:
        asked = None
    if body.kind != "application/json" or not isinstance(asked, dict):
        raise BadRequest("parsing_exception", "request body is no JSON object")
    return asked


def _answer(status: int, body: Mapping[str, Any]) -> httpx.Response:
    return httpx.Response(status, json=body)


def _failed(status: int, kind: str, reason: str) -> httpx.Response:
    return _answer(status, {"status": status, "error": {"type": kind, "reason": reason}})
