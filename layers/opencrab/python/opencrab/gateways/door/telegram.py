"""Requests of Telegram: one update each, proven by a secret in a header.

Nothing covers the time: that an update comes once is its id's to ensure.
"""

import hmac
import json
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

HEADER = "x-telegram-bot-api-secret-token"
SECRET = "TELEGRAM_WEBHOOK_SECRET"  # noqa: S105 - the name of it

ID_LENGTH = 64
_LONGEST_SECRET = 256
_HEARD = ("message", "callback_query")


def read_signed_request(request: SignedRequest, lookup: RequestLookup) -> ReadingOfRequest:
    """Verify a request of Telegram; a message and a button become one event each."""
    given, secret = request.headers.get(HEADER, ""), lookup.secret(SECRET).strip()
    if not 0 < len(given) <= _LONGEST_SECRET or not secret:
        raise NotGenuineRequest
    if not hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode()):
        raise NotGenuineRequest
    _, sent = parse_json_request(request.body)
    if not isinstance(sent, dict):
        raise UnreadableRequest("the body is no object")
    event = received_telegram_update(sent)
    return ReadingOfRequest(() if event is None else (event,), 200)


def received_telegram_update(update: dict[str, Any]) -> ReceivedEvent | None:
    """Return an update as an event of its chat; None for what no agent has to answer."""
    update_id = update.get("update_id")
    if isinstance(update_id, bool) or not isinstance(update_id, int):
        return None
    heard: Any = next((update[each] for each in _HEARD if each in update), None)
    if not isinstance(heard, dict):
        return None
    message = heard.get("message") if "callback_query" in update else heard
    chat = message.get("chat") if isinstance(message, dict) else None
    room = chat.get("id") if isinstance(chat, dict) else None
    text = json.dumps(update, ensure_ascii=False)
    return ReceivedEvent(str(update_id)[:ID_LENGTH], str(room)[:ID_LENGTH], text)
