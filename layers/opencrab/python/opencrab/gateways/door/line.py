"""Requests of LINE: signed over the raw body by the channel secret, with several events at most.

The signature covers no time: that an event comes once is its id's to ensure.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

from opencrab.gateways.door.request import (
    NotGenuineRequest,
    ReadingOfRequest,
    ReceivedEvent,
    RequestLookup,
    SignedRequest,
    UnreadableRequest,
    parse_json_request,
)

HEADER = "x-line-signature"
SECRET = "LINE_CHANNEL_SECRET"  # noqa: S105 - the name of it

MOST_EVENTS = 100
ID_LENGTH = 64
_SIGNATURE_LENGTH = 44


def read_signed_request(request: SignedRequest, lookup: RequestLookup) -> ReadingOfRequest:
    """Verify a request of LINE; each of its events that has an id and a source becomes one.

    LINE takes 200 as an acknowledgement, also of a request without events, by which it tests.
    """
    signature = request.headers.get(HEADER, "")
    if len(signature) != _SIGNATURE_LENGTH:
        raise NotGenuineRequest
    if not is_line_signature(lookup.secret(SECRET).strip(), request.body, signature):
        raise NotGenuineRequest
    _, sent = parse_json_request(request.body)
    listed = sent.get("events") if isinstance(sent, dict) else None
    if not isinstance(listed, list) or len(listed) > MOST_EVENTS:
        raise UnreadableRequest(f"the request has no list of at most {MOST_EVENTS} events")
    return ReadingOfRequest(tuple(_received_events(listed)), 200)


def is_line_signature(secret: str, body: bytes, signature: str) -> bool:
    """Check whether the channel with this secret signed a body; False for an empty secret."""
    if not secret or not signature.isascii():
        return False
    made = base64.b64encode(hmac.digest(secret.encode(), body, hashlib.sha256))
    return hmac.compare_digest(made, signature.encode())


def _received_events(listed: list[Any]) -> Iterator[ReceivedEvent]:
    """Yield the events that an agent may have to answer, by the room in which they happened."""
    for each in listed:
        if not isinstance(each, dict) or each.get("type") not in {"message", "postback"}:
            continue
        event_id, source = each.get("webhookEventId"), each.get("source")
        if not isinstance(event_id, str) or not 0 < len(event_id) <= ID_LENGTH:
            continue
        if not isinstance(source, dict):
            continue
        room = source.get("groupId") or source.get("roomId") or source.get("userId")
        # A redelivered event is the same one.
        text = json.dumps({**each, "deliveryContext": {}}, ensure_ascii=False)
        yield ReceivedEvent(event_id, str(room)[:ID_LENGTH], text)
