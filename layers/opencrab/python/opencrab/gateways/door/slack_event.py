"""Events of Slack, read into the words that all chat services share, and handled."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from opencrab.domain.chat.event import (
    ChatButtonEvent,
    ChatEvent,
    ChatMessageEvent,
    ChatRoom,
)
from opencrab.domain.chat.people import SLACK
from opencrab.domain.conversation.sent_file import SentFile, told_file
from opencrab.engine.chat.events import handle_chat_event
from opencrab.engine.runtime import Runtime
from opencrab.gateways.door.request import QueuedEvent

MOST_CHARACTERS = 40_000
"""Characters of one message that are read; Slack lets people write as many."""

_PLAIN = frozenset({None, "file_share", "thread_broadcast"})
"""The subtypes of what people write; others tell of edits, deletions and bots."""

_MENTION = re.compile(r"<@([A-Z0-9]{1,30})(?:\|[^<>]*)?>")
_LINK = re.compile(r"<(https?://[^<>|]+|mailto:[^<>|]+)(?:\|([^<>]*))?>")
_CHANNEL = re.compile(r"<#[A-Z0-9]+\|([^<>]*)>")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def handle_received_event(runtime: Runtime, received: QueuedEvent) -> None:
    """Let an agent answer a message or a command, or an owner decide by a button, once."""
    event = parse_slack_event(received.event.id, json.loads(received.event.text))
    if event is not None:
        handle_chat_event(runtime, event)


def parse_slack_event(event_id: str, sent: object) -> ChatEvent | None:
    """Return a message or a press; None for everything else, and for what is malformed.

    A message in a channel counts only as a mention: who mentions the bot is told as both.
    """
    if not isinstance(sent, dict):
        return None
    name = re.sub(r"[^A-Za-z0-9_\-]", "-", event_id)
    try:
        if sent.get("type") == "event_callback":
            return _message(name, sent)
        if sent.get("type") == "block_actions":
            return _press(name, sent)
        return _command(name, sent) if "command" in sent else None
    except (LookupError, OSError, OverflowError, TypeError, ValueError):
        return None


def _message(name: str, sent: Mapping[str, Any]) -> ChatMessageEvent | None:
    event = _object(sent.get("event"))
    is_private = event.get("channel_type") == "im"
    is_mention = event.get("type") == "app_mention"
    if event.get("bot_id") or event.get("subtype") not in _PLAIN or not (is_private or is_mention):
        return None
    bots = [_object(each).get("user_id") for each in sent.get("authorizations") or ()]
    ts, thread = str(event.get("ts", "")), event.get("thread_ts")
    text = slack_words(str(event.get("text") or ""), tuple(map(str, bots)))
    return ChatMessageEvent(
        id=name,
        room=ChatRoom(kind=SLACK, id=str(event.get("channel")), is_group=not is_private),
        user_id=event.get("user"),
        at=datetime.fromtimestamp(float(ts), UTC),
        thread=thread or (None if is_private else ts),
        message_id=ts,
        text=text[:MOST_CHARACTERS],
        mentions_bot=is_mention,
        files=tuple(_files(event.get("files"))),
    )


def _files(listed: object) -> Iterator[SentFile]:
    """Yield the files of a message; those of other organizations have no address."""
    for place, each in enumerate(listed if isinstance(listed, list) else ()):
        told = _object(each)
        address = told.get("url_private_download") or told.get("url_private")
        name = told.get("name") or told.get("title")
        yield told_file(name, told.get("size"), address, nameless=f"file-{place + 1}")


def _press(name: str, sent: Mapping[str, Any]) -> ChatButtonEvent:
    listed: list[object] = sent.get("actions") or []
    action = _object(listed[0])
    message, channel = _object(sent.get("message")), str(_object(sent.get("channel")).get("id"))
    return ChatButtonEvent(
        id=name,
        room=ChatRoom(kind=SLACK, id=channel, is_group=not channel.startswith("D")),
        user_id=_object(sent.get("user")).get("id"),
        at=datetime.fromtimestamp(float(action["action_ts"]), UTC),
        thread=message.get("thread_ts"),
        data=str(action.get("value", "")),
    )


def _command(name: str, sent: Mapping[str, Any]) -> ChatMessageEvent:
    channel = str(sent.get("channel_id"))
    return ChatMessageEvent(
        id=name,
        room=ChatRoom(kind=SLACK, id=channel, is_group=not channel.startswith("D")),
        user_id=sent.get("user_id"),
        at=datetime.fromtimestamp(0, UTC),
        message_id=name,
        text=slack_words(str(sent.get("text", "")), ())[:MOST_CHARACTERS],
        mentions_bot=True,
    )


def slack_words(text: str, bots: tuple[str, ...]) -> str:
    """Return a text as people see it: without mentions of the bot, links and marks spelled out."""
    text = _MENTION.sub(lambda found: "" if found[1] in bots else f"@{found[1]}", text)
    text = _LINK.sub(lambda found: found[1] if not found[2] else f"{found[2]} ({found[1]})", text)
    text = _CHANNEL.sub(r"#\1", text)
    for mark, shown in _ESCAPES:
        text = text.replace(mark, shown)
    return text.strip()


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
