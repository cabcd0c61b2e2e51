"""Requests of Slack: events, buttons and the command /ask, signed with their time.

Slack waits three seconds, and sends an event again that is not acknowledged; its id stays.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from opencrab.gateways.door.request import (
    NotGenuineRequest,
    ReadingOfRequest,
    ReceivedEvent,
    RequestLookup,
    SignedRequest,
    StaleRequest,
    UnreadableRequest,
    parse_json_request,
)

SIGNATURE, TIMESTAMP = "x-slack-signature", "x-slack-request-timestamp"
SECRET = "SLACK_SIGNING_SECRET"  # noqa: S105 - the name of it

FRESH_SECONDS = 300
ID_LENGTH = 64
_DIGITS = frozenset("0123456789")
_TIMESTAMP_LENGTH = 12
_FORM = "application/x-www-form-urlencoded"
_HEARD = frozenset({"app_mention", "message"})


def read_signed_request(request: SignedRequest, lookup: RequestLookup) -> ReadingOfRequest:
    """Verify a request of Slack; an event, a button and a command become one event each.

    Slack's test of the address is answered with its challenge.
    """
    timestamp = request.headers.get(TIMESTAMP, "")
    if not 0 < len(timestamp) <= _TIMESTAMP_LENGTH or not _DIGITS.issuperset(timestamp):
        raise StaleRequest
    if abs(request.now - int(timestamp)) > FRESH_SECONDS:
        raise StaleRequest
    signature = request.headers.get(SIGNATURE, "")
    if not is_slack_signature(lookup.secret(SECRET).strip(), timestamp, request.body, signature):
        raise NotGenuineRequest
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM:
        return _read_form(request.body)
    return _read_event(request.body)


def is_slack_signature(secret: str, timestamp: str, body: bytes, signature: str) -> bool:
    """Check whether the app with this secret signed a body at a time; False without a secret."""
    if not secret or not signature.isascii():
        return False
    signed = b"v0:" + timestamp.encode() + b":" + body
    made = "v0=" + hmac.digest(secret.encode(), signed, hashlib.sha256).hex()
    return hmac.compare_digest(made.encode(), signature.encode())


def _read_event(body: bytes) -> ReadingOfRequest:
    _, sent = parse_json_request(body)
    if not isinstance(sent, dict):
        raise UnreadableRequest("the body is no object")
    if sent.get("type") == "url_verification":
        return ReadingOfRequest((), 200, {"challenge": str(sent.get("challenge", ""))})
    event, event_id = sent.get("event"), sent.get("event_id")
    if sent.get("type") != "event_callback" or not isinstance(event, dict):
        return ReadingOfRequest((), 200)
    if event.get("type") not in _HEARD or event.get("bot_id") or not _is_id(event_id):
        return ReadingOfRequest((), 200)
    text = json.dumps(sent, ensure_ascii=False)
    return ReadingOfRequest((ReceivedEvent(str(event_id), _room(event.get("channel")), text),), 200)


def _read_form(body: bytes) -> ReadingOfRequest:
    """Read a button, whose form has one field with JSON, or a command."""
    try:
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise UnreadableRequest("the body is no form") from None
    if "payload" not in fields:
        return _read_command(fields)
    _, sent = parse_json_request(fields["payload"].encode())
    trigger = sent.get("trigger_id") if isinstance(sent, dict) else None
    if not _is_id(trigger) or sent.get("type") != "block_actions":
        return ReadingOfRequest((), 200)
    channel: Any = sent.get("channel")
    room = _room(channel.get("id") if isinstance(channel, dict) else None)
    text = json.dumps(sent, ensure_ascii=False)
    return ReadingOfRequest((ReceivedEvent(str(trigger), room, text),), 200)


def _read_command(fields: Mapping[str, str]) -> ReadingOfRequest:
    trigger = fields.get("trigger_id")
    if not _is_id(trigger) or not fields.get("command"):
        return ReadingOfRequest((), 200)
    # The command is shown where it was given, so that others see what is answered.
    shown = {"response_type": "in_channel"}
    event = ReceivedEvent(str(trigger), _room(fields.get("channel_id")), json.dumps(fields))
    return ReadingOfRequest((event,), 200, shown)


def _is_id(given: object) -> bool:
    return isinstance(given, str) and 0 < len(given) <= ID_LENGTH


def _room(given: object) -> str:
    return str(given)[:ID_LENGTH]
