"""Events of LINE, read into the words that all chat services share, and handled.

Unknown kinds of events and unknown fields are passed over, as LINE's reference asks for.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from opencrab.domain.chat.event import (
    Attached,
    ChatButtonEvent,
    ChatEvent,
    ChatMessageEvent,
    ChatRoom,
)
from opencrab.domain.chat.people import LINE
from opencrab.domain.conversation.sent_file import SentFile, told_file
from opencrab.engine.chat.events import handle_chat_event
from opencrab.engine.runtime import Runtime
from opencrab.gateways.door.request import QueuedEvent

MOST_CHARACTERS = 10_000
"""Characters of one message that are read; LINE lets people write as many."""

_PLACES = {"user": "", "group": "groupId", "room": "roomId"}
_ATTACHED = frozenset(Attached)
_NAMELESS = {"image": "photo-{}.jpg", "file": "file-{}"}
"""What is fetched, and how a file is called that LINE tells no name of."""


def handle_received_event(runtime: Runtime, received: QueuedEvent) -> None:
    """Let an agent answer a message, or an owner decide by a button, once."""
    event = parse_line_event(json.loads(received.event.text))
    if event is not None:
        handle_chat_event(runtime, event)


def parse_line_event(event: object) -> ChatEvent | None:
    """Return a message or a press; None for everything else, and for what is malformed."""
    if not isinstance(event, dict) or event.get("mode") == "standby":
        return None
    kind = event.get("type")
    try:
        if kind == "message":
            return _message(event)
        if kind == "postback":
            data = str(_object(event.get("postback")).get("data", ""))
            return ChatButtonEvent(**_common(event), data=data)
    except (ValidationError, OSError, OverflowError, ValueError):
        return None
    return None


def _message(event: Mapping[str, Any]) -> ChatMessageEvent:
    message = _object(event.get("message"))
    kind = str(message.get("type", ""))
    is_text, is_file = kind == "text", kind in _NAMELESS
    attached = Attached(kind) if kind in _ATTACHED else Attached.OTHER
    return ChatMessageEvent(
        **_common(event),
        message_id=str(message.get("id", "")),
        text=str(message.get("text", ""))[:MOST_CHARACTERS] if is_text else "",
        mentions_bot=any(each.get("isSelf") is True for each in _mentionees(message)),
        attached=None if is_text or is_file else attached,
        files=(_file(kind, message),) if is_file else (),
    )


def _file(kind: str, message: Mapping[str, Any]) -> SentFile:
    """Return the file that a message is; what LINE does not keep has no id of LINE's.

    Its address is its sender's choice, and must not be taken for the id of another message.
    """
    provider = _object(message.get("contentProvider"))
    message_id = str(message.get("id", ""))
    is_kept = provider.get("type", "line") == "line"
    url = message_id if is_kept else "elsewhere:"
    nameless = _NAMELESS[kind].format(message_id[-6:])
    return told_file(message.get("fileName"), message.get("fileSize"), url, nameless=nameless)


def _common(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of every event; raises ValueError for what is no event of a place."""
    source = _object(event.get("source"))
    kind, user_id = str(source.get("type")), source.get("userId")
    group_id = source.get(_PLACES.get(kind, ""))
    token = event.get("replyToken")
    milliseconds = event.get("timestamp")
    if not isinstance(milliseconds, int) or kind not in _PLACES:
        raise ValueError("an event has a time and a place of a known kind")
    return {
        "id": event.get("webhookEventId"),
        "room": ChatRoom(
            kind=LINE, id=group_id or str(user_id or ""), is_group=group_id is not None
        ),
        "user_id": user_id,
        "at": datetime.fromtimestamp(milliseconds / 1_000, UTC),
        "reply_token": token if isinstance(token, str) and token else None,
    }


def _mentionees(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    listed = _object(message.get("mention")).get("mentionees")
    return (
        (each for each in listed if isinstance(each, dict))
        if isinstance(listed, list)
        else iter(())
    )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
