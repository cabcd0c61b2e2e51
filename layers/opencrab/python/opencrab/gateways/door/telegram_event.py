"""Updates of Telegram, read into the words that all chat services share, and handled.

Unknown kinds of updates and unknown fields are passed over; edited messages are not asked for.
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from opencrab.domain.chat.event import (
    Attached,
    ChatButtonEvent,
    ChatEvent,
    ChatMessageEvent,
    ChatRoom,
)
from opencrab.domain.chat.people import TELEGRAM
from opencrab.domain.conversation.attachment import PICTURE_BYTES
from opencrab.domain.conversation.sent_file import SentFile, told_file
from opencrab.engine.chat.events import handle_chat_event
from opencrab.engine.runtime import Runtime
from opencrab.gateways.door.request import QueuedEvent
from opencrab.ports.conversation.chat_link import BotLink

MOST_CHARACTERS = 8_192
"""Characters of one message that are read; Telegram lets people write half as many."""

_COMMAND = re.compile(r"/ask(?:@([A-Za-z0-9_]{1,64}))?(?:\s+|$)", re.ASCII | re.IGNORECASE)
_ATTACHED: Mapping[str, Attached | None] = {
    "photo": None,
    "video": Attached.VIDEO,
    "video_note": Attached.VIDEO,
    "animation": Attached.VIDEO,
    "voice": Attached.AUDIO,
    "audio": Attached.AUDIO,
    "document": None,
    "venue": Attached.LOCATION,
    "location": Attached.LOCATION,
    "sticker": Attached.STICKER,
    "contact": Attached.OTHER,
    "poll": Attached.OTHER,
    "dice": Attached.STICKER,
}
"""What a message may be beside text; None is fetched as a file."""


def handle_received_event(runtime: Runtime, received: QueuedEvent) -> None:
    """Let an agent answer a message, or an owner decide by a button, once."""
    update, bot = json.loads(received.event.text), ("", "")
    chat = runtime.chats.get(TELEGRAM)
    if chat is not None and is_in_telegram_group(update):
        bot = cast("BotLink", chat.link).own_names()
    event = parse_telegram_update(update, bot)
    if event is not None:
        handle_chat_event(runtime, event)


def is_in_telegram_group(update: object) -> bool:
    """Check whether an update is a message of a group, of which it matters who is mentioned."""
    chat = _object(_object(_object(update).get("message")).get("chat"))
    return chat.get("type") in {"group", "supergroup"}


def parse_telegram_update(update: object, bot: tuple[str, str] = ("", "")) -> ChatEvent | None:
    """Return a message or a press; None for everything else, and for what is malformed.

    `bot` is our bot's id and its name without the at sign.
    """
    told = _object(update)
    try:
        name = str(told.get("update_id"))
        if "callback_query" in told:
            return _press(name, _object(told["callback_query"]))
        return _message(name, _object(told.get("message")), bot)
    except (LookupError, OSError, OverflowError, TypeError, ValueError):
        return None


def _message(
    name: str, message: Mapping[str, Any], bot: tuple[str, str]
) -> ChatMessageEvent | None:
    sender, chat = _object(message.get("from")), _object(message.get("chat"))
    kind = chat.get("type")
    # Posts of a channel, and who writes in a group's name, have a `sender_chat`.
    is_person = not sender.get("is_bot") and "sender_chat" not in message
    if not is_person or kind not in {"private", "group", "supergroup"}:
        return None
    is_group, message_id = kind != "private", int(message["message_id"])
    given = str(message.get("text") or message.get("caption") or "")
    text, is_command = _without_command(given, bot[1], is_group=is_group)
    is_mentioned = is_command or _is_reply_to(message, bot[0])
    if bot[1]:
        named = re.compile(rf"@{re.escape(bot[1])}(?![A-Za-z0-9_])", re.IGNORECASE)
        is_mentioned = is_mentioned or named.search(text) is not None
        text = named.sub("", text).strip()
    kind_of_part = next((each for each in _ATTACHED if each in message), "")
    files = telegram_files(kind_of_part, message.get(kind_of_part), message_id)
    attached = None if files else _ATTACHED.get(kind_of_part)
    if not text.strip() and not kind_of_part and not is_group and given:
        text = given
    return ChatMessageEvent(
        id=name,
        room=ChatRoom(kind=TELEGRAM, id=str(int(chat["id"])), is_group=is_group),
        user_id=str(int(sender["id"])),
        at=datetime.fromtimestamp(int(message["date"]), UTC),
        thread=_reply_target(message, message_id) if is_group else None,
        message_id=str(message_id),
        text=text[:MOST_CHARACTERS],
        mentions_bot=is_mentioned,
        attached=attached,
        files=files,
        holds_others=_is_forward_of_others(message, sender),
    )


def _is_forward_of_others(message: Mapping[str, Any], sender: Mapping[str, Any]) -> bool:
    """Check whether a message is forwarded from anybody but its sender: then the words are theirs.

    Telegram says so by `forward_origin`, before Bot API 7.0 by `forward_date`.
    """
    if "forward_origin" not in message and "forward_date" not in message:
        return False
    origin = _object(message.get("forward_origin"))
    author: object = _object(origin.get("sender_user")).get("id")
    return bool(author != sender["id"])


def telegram_files(kind: str, part: object, message_id: int) -> tuple[SentFile, ...]:
    """Return the picture or the document of a message, which has at most one.

    Telegram shows a picture in several sizes: the largest is taken that an agent may be shown.
    """
    if kind == "document":
        found = _object(part)
        name, nameless = found.get("file_name"), f"file-{message_id}"
    elif kind == "photo":
        sizes = [_object(each) for each in part] if isinstance(part, list) else []
        found = max(sizes, key=_rank_of_size, default={})
        name, nameless = None, f"photo-{message_id}.jpg"
    else:
        return ()
    return (told_file(name, found.get("file_size"), found.get("file_id"), nameless=nameless),)


def _rank_of_size(found: Mapping[str, Any]) -> tuple[bool, int]:
    """Return how good a size of a picture is: the largest of those that fit, else the smallest."""
    told = found.get("file_size")
    size = told if isinstance(told, int) else 0
    fits = size <= PICTURE_BYTES
    return fits, size if fits else -size


def _without_command(text: str, own_name: str, *, is_group: bool) -> tuple[str, bool]:
    """Return the words of `/ask`, and whether it was one of ours; other texts are as they are.

    In a private chat there is no other bot that it could be for.
    """
    found = _COMMAND.match(text)
    if found is None:
        return text, False
    if is_group and found[1] and found[1].casefold() != own_name.casefold():
        return text, False
    return text[found.end() :], True


def _is_reply_to(message: Mapping[str, Any], bot_id: str) -> bool:
    author = _object(_object(message.get("reply_to_message")).get("from"))
    return bool(bot_id) and str(author.get("id")) == bot_id


def _reply_target(message: Mapping[str, Any], message_id: int) -> str:
    """Return what an answer in a group is a reply to, with the topic in which it belongs."""
    topic = message.get("message_thread_id") if message.get("is_topic_message") else None
    return f"m{message_id}" if topic is None else f"m{message_id}.t{int(topic)}"


def _press(name: str, query: Mapping[str, Any]) -> ChatButtonEvent:
    message = _object(query.get("message"))
    chat, sender = _object(message.get("chat")), _object(query.get("from"))
    return ChatButtonEvent(
        id=name,
        room=ChatRoom(
            kind=TELEGRAM, id=str(int(chat["id"])), is_group=chat.get("type") != "private"
        ),
        user_id=str(int(sender["id"])),
        at=datetime.fromtimestamp(int(message.get("date") or 0), UTC),
        reply_token=str(query["id"])[:200],
        data=str(query.get("data", "")),
    )


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
