"""Rendering: an utterance as Slack's messages, in its own kind of Markdown (mrkdwn)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from opencrab.domain.approvals.buttons import buttons_below_approval
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.text.markdown import (
    HEADING,
    STRONG,
    STRONG_IN_JAPANESE,
    MarkdownLineKind,
    classify_markdown_lines,
    replace_outside_markdown_code,
)
from opencrab.domain.text.message_split import split_text_to_limit
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

TEXT_UNITS = 12_000
"""UTF-16 units of one message before it is escaped; Slack cuts one at 40,000 characters."""

SHOWN_CHARACTERS = 40_000
"""Characters of a message, as it is escaped, after which Slack cuts it."""

SECTION_CHARACTERS = 3_000
"""Characters of a block of text (Slack's reference, "Section block")."""

Payload = Mapping[str, Any]

_TEXTS = Texts(__file__)
_LINK = re.compile(r"!?\[([^\[\]\n|&]{1,200})\]\((https?://[^()\s|]{1,1000})\)")
_STRIKE = re.compile(r"~~(?=\S)([^~\n]+?)(?<=\S)~~")
_ESCAPES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))


def slack_messages_of_utterance(utterance: Utterance) -> tuple[Payload, ...]:
    """Return the messages of an utterance, in order; empty for an empty text.

    The text of an approval stays as it is, since it is what its owner approves.
    """
    pieces = split_text_to_limit(utterance.text, TEXT_UNITS)
    if utterance.approval is None:
        return tuple({"text": slack_text_of_markdown(piece)} for piece in pieces)
    texts: list[Payload] = [{"text": escape_slack_text(piece)} for piece in pieces]
    is_whole = len(texts) == 1 and len(texts[0]["text"]) <= SHOWN_CHARACTERS
    return (*texts, _approval_buttons(utterance, is_whole=is_whole))


def escape_slack_text(text: str) -> str:
    """Return a text in which nothing is a mention, a link or another control sequence."""
    for mark, shown in _ESCAPES:
        text = text.replace(mark, shown)
    return text


def slack_text_of_markdown(text: str) -> str:
    """Return Markdown as mrkdwn; code stays as it is."""
    return "\n".join(_marked_lines(text))


def _marked_lines(text: str) -> Iterator[str]:
    for kind, line in classify_markdown_lines(text):
        match kind:
            case MarkdownLineKind.FENCE:
                yield "```"
            case MarkdownLineKind.CODE:
                yield escape_slack_text(line)
            case MarkdownLineKind.TEXT:
                yield _marked_line(line)


def _marked_line(line: str) -> str:
    heading = HEADING.match(line)
    quoted = line.startswith("> ")
    words = _marked_words(heading[1] if heading else line[2:] if quoted else line)
    if heading:
        return f"*{words.replace('*', '')}*"
    return f"> {words}" if quoted else words


def _marked_words(line: str) -> str:
    # Nothing that is escaped is a backtick, so code is found in the escaped line as well.
    return replace_outside_markdown_code(escape_slack_text(line), _mark_words)


def _mark_words(words: str) -> str:
    words = _LINK.sub(r"<\2|\1>", words)
    words = STRONG_IN_JAPANESE.sub(r" *\1* ", STRONG.sub(r"*\1*", words))
    return _STRIKE.sub(r"~\1~", words)


def _approval_buttons(utterance: Utterance, *, is_whole: bool) -> Payload:
    found = buttons_below_approval(utterance.approval or "", utterance.text, is_whole=is_whole)
    question = _in_all_languages("question" if found.approve else "elsewhere", "\n")
    buttons = [_button("reject", found.reject, "danger")]
    if found.approve:
        buttons.insert(0, _button("approve", found.approve, "primary"))
    text = {"type": "plain_text", "text": question}
    blocks = [{"type": "section", "text": text}, {"type": "actions", "elements": buttons}]
    return {"text": question, "blocks": blocks}


def _button(key: str, value: str, style: str) -> Payload:
    label = {"type": "plain_text", "text": _in_all_languages(key, " / ")}
    return {"type": "button", "text": label, "action_id": key, "value": value, "style": style}


def _in_all_languages(key: str, between: str) -> str:
    return between.join(_TEXTS[key][language] for language in (Language.EN, Language.JA))
