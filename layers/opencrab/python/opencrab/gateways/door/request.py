"""What a signed request is, what it brings, and how that lies in the queue; loads almost nothing.

A module of a kind has the function `read_signed_request`, a `ReadRequest`.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

_PREFIX = "received "
"""What a queued event begins with; an interaction of Discord is JSON."""

_UNCARRIED = {code: f"\\u{code:04x}" for code in (0xFFFE, 0xFFFF)}
"""What SQS does not carry and JSON may hold: the same string when it is escaped."""


class NotGenuineRequest(Exception):
    """A request that no known sender signed, or whose address has no receiver."""


class StaleRequest(Exception):
    """A request whose timestamp is too far from now; known without looking anything up."""


class UnreadableRequest(Exception):
    """A signed request that cannot be understood; the message says why."""


class SignedRequest(NamedTuple):
    """A request as it came: names of headers in lower case, `now` in seconds since 1970.

    `name` is the last part of the address of a webhook, and empty for other kinds.
    """

    kind: str
    name: str
    headers: Mapping[str, str]
    body: bytes
    now: float


class ReceivedEvent(NamedTuple):
    """Something that happened, as a request told it.

    The same `id` is received once (kind and name are added); events of one `group` keep their
    order. `text` is JSON, and `notes` are what else the handler needs, such as from headers.
    """

    id: str
    group: str
    text: str
    notes: Mapping[str, str] = {}


class ReadingOfRequest(NamedTuple):
    """What a genuine request brought, and what its sender is told: a status, and JSON or nothing.

    Each event is queued before the sender is answered.
    """

    events: tuple[ReceivedEvent, ...] = ()
    status: int = 202
    body: Any = None


class RequestLookup(Protocol):
    """What a kind may ask the installation before it trusts a request."""

    def document(self, owner: str, kind: str, fact_id: str) -> Any:
        """Return the body of a document, or None; raises Unavailable."""

    def secret(self, name: str) -> str:
        """Return a secret by its name, such as LINE_CHANNEL_SECRET; "" if it is not set.

        Raises Unavailable.
        """

    def new_id(self) -> str:
        """Return a fresh id, for senders that give none."""


class ReadRequest(Protocol):
    """Verifies a request over its raw body and reads it."""

    def __call__(self, request: SignedRequest, lookup: RequestLookup) -> ReadingOfRequest:
        """Return what a request brings.

        Raises NotGenuineRequest, StaleRequest, UnreadableRequest, and Unavailable.
        """


class QueuedEvent(NamedTuple):
    """An event as it comes out of the queue."""

    kind: str
    name: str
    event: ReceivedEvent


def encode_queued_event(request: SignedRequest, event: ReceivedEvent) -> str:
    """Return the body of the queue's message: a line of JSON, then the event's text."""
    head = {"kind": request.kind, "name": request.name, "id": event.id, "group": event.group}
    if event.notes:
        head["notes"] = dict(event.notes)  # type: ignore[assignment]
    text = event.text
    if not text.isascii():
        # Half of a pair of UTF-16 becomes the escape that JSON has for it, too.
        text = text.translate(_UNCARRIED).encode("utf-8", "backslashreplace").decode()
    return f"{_PREFIX}{json.dumps(head)}\n{text}"


def is_queued_event(body: str) -> bool:
    """Check whether a message of the queue is an event, and not an interaction of Discord."""
    return body.startswith(_PREFIX)


def parse_queued_event(body: str) -> QueuedEvent:
    """Read a message that `encode_queued_event` made; raises ValueError for any other."""
    head, _, text = body.removeprefix(_PREFIX).partition("\n")
    told = json.loads(head)
    try:
        event = ReceivedEvent(told["id"], told["group"], text, told.get("notes") or {})
        return QueuedEvent(told["kind"], told["name"], event)
    except (KeyError, TypeError):
        raise ValueError("the queued event has no kind, name, id and group") from None


def parse_json_request(body: bytes) -> tuple[str, Any]:
    """Return a body as text and as what it says; raises UnreadableRequest."""
    try:
        text = body.decode()
        return text, json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadableRequest("the body is not JSON in UTF-8") from None
