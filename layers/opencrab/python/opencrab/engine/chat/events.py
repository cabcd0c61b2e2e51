"""Events of chat services: what is done with a message or a button."""

import logging

from opencrab.domain.chat.event import ChatButtonEvent, ChatEvent, ChatMessageEvent
from opencrab.engine.chat.approval_buttons import press_chat_button
from opencrab.engine.chat.messages import answer_chat_message
from opencrab.engine.runtime import Runtime

log = logging.getLogger(__name__)


def handle_chat_event(runtime: Runtime, event: ChatEvent) -> None:
    """Handle an event of a chat service; doing it again has no further effect.

    If the service is disabled by now, nothing is done. Raises Unavailable if it should be handled
    again later, and any other OpenCrabError if it never can be.
    """
    chat = runtime.chats.get(event.room.kind)
    if chat is None:
        log.warning("event dropped, its service is disabled: kind=%s", event.room.kind)
    elif isinstance(event, ChatButtonEvent):
        press_chat_button(runtime, chat, event)
    elif isinstance(event, ChatMessageEvent):
        outcome = answer_chat_message(runtime, chat, event)
        if outcome.silence is not None:
            log.info("message unanswered: id=%s, reason=%s", event.id, outcome.silence)
