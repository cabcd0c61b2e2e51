"""The door for signed requests: what is not signed, fresh and new stays outside.

An event is queued before its request is acknowledged, so that nothing which a sender saw accepted
is lost. What cannot be verified is answered in one way, whether its address exists or not.
"""

import base64
import hashlib
import json
import logging
from collections.abc import Container, Mapping
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from opencrab.domain.errors import OpenCrabError, TooLarge
from opencrab.gateways.door.request import (
    NotGenuineRequest,
    ReadRequest,
    ReceivedEvent,
    RequestLookup,
    SignedRequest,
    StaleRequest,
    UnreadableRequest,
    encode_queued_event,
)

MOST_BYTES = 256_000
"""Of a body; with the line before it, a message of SQS."""

MOST_QUEUED_BYTES = 262_144
"""Of a message of SQS: a form that becomes JSON may grow beyond it."""

REMEMBERED = 1_000
WEBHOOK = "webhook"

READERS: Mapping[str, str] = {
    WEBHOOK: "opencrab.gateways.door.webhook",
    "line": "opencrab.gateways.door.line",
    "slack": "opencrab.gateways.door.slack",
    "telegram": "opencrab.gateways.door.telegram",
}
"""By kind, the module whose `read_signed_request` verifies and reads its requests."""

log = logging.getLogger(__name__)


class SendEvent(Protocol):
    """A function like `ports.turn.queue.Queue.send`."""

    def __call__(self, body: str, *, group: str, deduplication: str) -> None:
        """Queue a message; raises OpenCrabError if it cannot be stored."""


class SignedRequestAnswer(NamedTuple):
    """The response to a request: a status, and JSON or nothing."""

    status: int
    body: Any = None

    @property
    def content(self) -> bytes:
        """The body as JSON; empty if there is none."""
        return b"" if self.body is None else json.dumps(self.body).encode()


class SignedRequestDoor:
    """Takes signed requests of the kinds that are switched on; the same on both homes."""

    def __init__(self, kinds: Container[str], lookup: RequestLookup, send: SendEvent) -> None:
        self._kinds = kinds
        self._lookup = lookup
        self._send = send
        self._readers: dict[str, ReadRequest] = {}
        self._taken: dict[str, None] = {}

    def answer(self, request: SignedRequest) -> SignedRequestAnswer:
        """Verify a request, queue what it brings, and acknowledge it."""
        try:
            _require_room(request.body, MOST_BYTES)
            read = self.reader(request.kind)(request, self._lookup)
            for event in read.events:
                self._queue(request, event)
        except StaleRequest:
            return _refusal(401, "the timestamp is missing, malformed or not of these 5 minutes")
        except NotGenuineRequest:
            return _refusal(401, "no receiver at this address accepts the request's signature")
        except UnreadableRequest as error:
            return _refusal(400, str(error))
        except TooLarge as error:
            return _refusal(413, error.message)
        except OpenCrabError as error:
            log.error("cannot take a request: kind=%s, error=%s", request.kind, error)  # noqa: TRY400 - what failed is named
            return _refusal(503, "the request cannot be taken now: send it again later")
        return SignedRequestAnswer(read.status, read.body)

    def reader(self, kind: str) -> ReadRequest:
        """Return the function that reads requests of a kind; raises NotGenuineRequest."""
        known = self._readers.get(kind)
        if known is None:
            if kind not in READERS or kind not in self._kinds:
                raise NotGenuineRequest
            known = import_module(READERS[kind]).read_signed_request
            self._readers[kind] = known
        return known

    def _queue(self, request: SignedRequest, event: ReceivedEvent) -> None:
        """Queue an event that was not queued before; raises TooLarge and other OpenCrabErrors."""
        deduplication = queue_name_of_request(request.kind, request.name, event.id)
        if deduplication in self._taken:
            return
        group = queue_name_of_request(request.kind, request.name, event.group)
        body = encode_queued_event(request, event)
        _require_room(body.encode(), MOST_QUEUED_BYTES, " as JSON")
        self._send(body, group=group, deduplication=deduplication)
        self._taken[deduplication] = None
        if len(self._taken) > REMEMBERED:
            self._taken.pop(next(iter(self._taken)), None)


def signed_request_of_api_gateway(event: Mapping[str, Any], now: float) -> SignedRequest:
    """Return the request of an API Gateway event; a malformed body becomes empty."""
    headers = {name.lower(): str(text) for name, text in (event.get("headers") or {}).items()}
    content = event.get("body") or ""
    try:
        encoded = event.get("isBase64Encoded")
        body = base64.b64decode(content, validate=True) if encoded else content.encode()
    except ValueError:
        body = b""
    given = event.get("pathParameters") or {}
    name = str(given.get("name") or "")
    return SignedRequest(
        WEBHOOK if name else str(given.get("kind") or ""), name, headers, body, now
    )


def api_gateway_result_of_signed_request(answer: SignedRequestAnswer) -> dict[str, Any]:
    """Convert an answer to the form that API Gateway takes."""
    given = {} if answer.body is None else {"content-type": "application/json"}
    return {"statusCode": answer.status, "headers": given, "body": answer.content.decode()}


def queue_name_of_request(*parts: str) -> str:
    """Return a name that every queue takes, for parts that anybody chose."""
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _require_room(content: bytes, most: int, form: str = "") -> None:
    if len(content) > most:
        raise TooLarge(f"the body has more than {MOST_BYTES} bytes{form}")


def _refusal(status: int, why: str) -> SignedRequestAnswer:
    return SignedRequestAnswer(status, {"error": why})
