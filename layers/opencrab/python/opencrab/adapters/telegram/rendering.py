"""Rendering: an utterance as Telegram's messages, as plain text.

Plain text cannot be refused for its marks, and shows every byte of a call that is approved.
"""

from collections.abc import Mapping
from typing import Any

from opencrab.domain.approvals.buttons import buttons_below_approval
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.text.message_split import split_text_to_limit
from opencrab.domain.text.plain_markdown import plain_text_of_markdown
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

TEXT_UNITS = 4_096
"""UTF-16 units of one message (Bot API, sendMessage)."""

Payload = Mapping[str, Any]

_TEXTS = Texts(__file__)


def telegram_messages_of_utterance(utterance: Utterance) -> tuple[Payload, ...]:
    """Return the messages of an utterance, in order; empty for an empty text.

    The text of an approval stays as it is, since it is what its owner approves.
    """
    if utterance.approval is not None:
        texts = split_text_to_limit(utterance.text, TEXT_UNITS)
        is_whole = len(texts) == 1
        return (*_texts(texts), _approval_buttons(utterance, is_whole=is_whole))
    shown = plain_text_of_markdown(utterance.text)
    return _texts(split_text_to_limit(shown, TEXT_UNITS))


def _texts(texts: tuple[str, ...]) -> tuple[Payload, ...]:
    return tuple({"text": each} for each in texts)


def _approval_buttons(utterance: Utterance, *, is_whole: bool) -> Payload:
    found = buttons_below_approval(utterance.approval or "", utterance.text, is_whole=is_whole)
    question = _in_all_languages("question" if found.approve else "elsewhere", "\n")
    buttons = [_button("reject", found.reject)]
    if found.approve:
        buttons.insert(0, _button("approve", found.approve))
    return {"text": question, "reply_markup": {"inline_keyboard": [buttons]}}


def _button(key: str, data: str) -> Payload:
    return {"text": _in_all_languages(key, " / "), "callback_data": data}


def _in_all_languages(key: str, between: str) -> str:
    return between.join(_TEXTS[key][language] for language in (Language.JA, Language.EN))
