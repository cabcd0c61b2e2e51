"""Worker: what becomes of a chat service's request after the door has queued it.

A request may hold several events. Each is handled once, however often its request comes.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping

from opencrab.domain.chat.event import ChatButtonEvent, ChatEvent, ChatMessageEvent
from opencrab.domain.chat.people import LINE
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.engine.chat.approval_buttons import press_chat_button
from opencrab.engine.chat.messages import answer_chat_message
from opencrab.engine.runtime import Runtime
from opencrab.gateways.chat.line_events import parse_line_event
from opencrab.ports.conversation.chat_link import Chat

log = logging.getLogger(__name__)

_PARSERS: Mapping[str, Callable[[object], ChatEvent | None]] = {LINE: parse_line_event}


def handle_chat_request(runtime: Runtime, kind: str, body: str) -> None:
    """Handle the events of a request that the door has verified.

    An event that cannot be handled ever is logged and passed over; the others are handled all the
    same. Raises Unavailable if the request should come again.
    """
    chat = runtime.chats.get(kind)
    if chat is None:
        log.warning("chat request dropped, its service is disabled: kind=%s", kind)
        return
    later: Unavailable | None = None
    for event in _events(kind, body):
        try:
            _handle_chat_event(runtime, chat, event)
        except Unavailable as error:
            later = error
        except OpenCrabError as error:
            log.warning("chat event failed: id=%s, error=%s", event.id, error.message)
    if later is not None:
        raise later


def _handle_chat_event(runtime: Runtime, chat: Chat, event: ChatEvent) -> None:
    if isinstance(event, ChatButtonEvent):
        press_chat_button(runtime, chat, event)
    elif isinstance(event, ChatMessageEvent):
        outcome = answer_chat_message(runtime, chat, event)
        if outcome.silence is not None:
            log.info("chat message unanswered: id=%s, reason=%s", event.id, outcome.silence)


def _events(kind: str, body: str) -> Iterable[ChatEvent]:
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    listed = sent.get("events") if isinstance(sent, dict) else None
    parsed = (_PARSERS[kind](each) for each in listed) if isinstance(listed, list) else ()
    return tuple(each for each in parsed if each is not None)
