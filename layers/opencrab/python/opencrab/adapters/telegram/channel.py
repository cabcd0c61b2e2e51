"""Channel: utterances on Telegram, in groups as replies to what they answer.

Telegram shows a message that is sent twice twice: what may have been seen is not sent again.
"""

import re

from opencrab.adapters.telegram.client import TelegramClient
from opencrab.adapters.telegram.rendering import telegram_messages_of_utterance
from opencrab.domain.chat.event import chat_address
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.ports.conversation.channel import Panel

_ANSWERED = re.compile(r"m([0-9]{1,18})(?:\.t([0-9]{1,18}))?", re.ASCII)
"""A group's message that is answered, and its topic; an update of a private chat is a number."""


class TelegramChannel:
    """`ports.conversation.channel.DeliveryChannel` for Telegram."""

    def __init__(self, telegram: TelegramClient) -> None:
        self._telegram = telegram

    def piece_count(self, utterance: Utterance) -> int:
        return max(len(telegram_messages_of_utterance(utterance)), 1)

    def is_idempotent(self, utterance: Utterance) -> bool:
        return not utterance.text.strip()

    def send(self, utterance: Utterance) -> None:
        messages = telegram_messages_of_utterance(utterance)
        if utterance.piece >= len(messages):
            return
        chat_id, event_id = chat_address(utterance.channel)
        body = {
            "chat_id": int(chat_id),
            "link_preview_options": {"is_disabled": True},
            **messages[utterance.piece],
        }
        answered = _ANSWERED.fullmatch(event_id or "")
        if answered is not None and not utterance.piece:
            named = {"message_id": int(answered[1]), "allow_sending_without_reply": True}
            body["reply_parameters"] = named
        if answered is not None and answered[2]:
            body["message_thread_id"] = int(answered[2])
        self._telegram.call("sendMessage", body)

    def show(self, place: Place, panel: Panel) -> None:
        """Do nothing: progress is told in words."""
