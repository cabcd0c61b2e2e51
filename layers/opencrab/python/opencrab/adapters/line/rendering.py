"""Rendering: an utterance as LINE's messages, which know no Markdown, five to a request."""

from collections.abc import Iterator, Mapping
from typing import Any

from opencrab.domain.approvals.buttons import buttons_below_approval
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.text.message_split import split_text_to_limit
from opencrab.domain.text.plain_markdown import plain_text_of_markdown
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

TEXT_UNITS = 5_000
"""UTF-16 units of one text message (LINE's reference, "Text message")."""

MESSAGES = 5
"""Messages of one request."""

Payload = Mapping[str, Any]

_TEXTS = Texts(__file__)


def line_requests_of_utterance(utterance: Utterance) -> tuple[tuple[Payload, ...], ...]:
    """Return the messages of an utterance by request, in order; empty for an empty text.

    The text of an approval stays as it is, since it is what its owner approves.
    """
    if utterance.approval is not None:
        texts = split_text_to_limit(utterance.text, TEXT_UNITS)
        messages = [*_text_messages(texts), _approval_buttons(utterance, len(texts))]
    else:
        shown = plain_text_of_markdown(utterance.text)
        messages = list(_text_messages(split_text_to_limit(shown, TEXT_UNITS)))
    return tuple(
        tuple(messages[place : place + MESSAGES]) for place in range(0, len(messages), MESSAGES)
    )


def line_text_message(text: str) -> Payload:
    """Return a text as one message, which the caller keeps within TEXT_UNITS."""
    return {"type": "text", "text": text}


def _text_messages(texts: tuple[str, ...]) -> Iterator[Payload]:
    return (line_text_message(each) for each in texts)


def _approval_buttons(utterance: Utterance, before: int) -> Payload:
    """Return the buttons of an approval, below so many messages with its text."""
    is_whole = before < MESSAGES
    found = buttons_below_approval(utterance.approval or "", utterance.text, is_whole=is_whole)
    reject = _button("reject", found.reject)
    if found.approve:
        question = _in_all_languages("question", "\n")
        actions = [_button("approve", found.approve), reject]
        template = {"type": "confirm", "text": question, "actions": actions}
    else:
        question = _in_all_languages("elsewhere", "\n")
        template = {"type": "buttons", "text": question, "actions": [reject]}
    return {"type": "template", "altText": question, "template": template}


def _button(key: str, data: str) -> Payload:
    label = _in_all_languages(key, " / ")
    return {"type": "postback", "label": label, "data": data, "displayText": label}


def _in_all_languages(key: str, between: str) -> str:
    return between.join(_TEXTS[key][language] for language in (Language.JA, Language.EN))
