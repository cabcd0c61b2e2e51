"""Rendering: an utterance as a mail in plain text, that answers the mail it is for.

Every header is ASCII and made here: what a stranger wrote cannot begin a new one.
"""

import base64
import re
from datetime import datetime
from email.header import Header
from email.utils import format_datetime

from opencrab.domain.conversation.message import Utterance
from opencrab.domain.email.address import one_line_of_email, quote_email_address
from opencrab.domain.email.incoming import MOST_REFERENCES
from opencrab.domain.email.letter import Letter
from opencrab.domain.text.plain_markdown import plain_text_of_markdown
from opencrab.domain.value import Language, value_with_surrogates_joined
from opencrab.ports.texts import Texts

_TEXTS = Texts(__file__)
_REPLY = re.compile(r"\s*(?:re|aw|sv|返信)\s*[:\uff1a]", re.IGNORECASE)
_ATOMS = re.compile(r"[A-Za-z0-9 ._-]+", re.ASCII)


def email_text_of_utterance(utterance: Utterance, letter: Letter) -> str:
    """Return the words of an utterance; of an approval the call only for an owner to see."""
    if utterance.approval is None:
        return plain_text_of_markdown(utterance.text)
    if not letter.shows_calls:
        return _in_all_languages("waiting")
    return f"{utterance.text}\n\n{_in_all_languages('approval')}"


def compose_email_reply(letter: Letter, text: str, message_id: str, at: datetime) -> bytes:
    """Return a mail, the same bytes for the same arguments."""
    follows = (*letter.references, *(() if letter.message_id is None else (letter.message_id,)))
    followed = tuple(dict.fromkeys(follows))
    if len(followed) > MOST_REFERENCES:
        followed = followed[:1] + followed[-MOST_REFERENCES + 1 :]
    headers = [
        f"From: {_format_sender(letter)}",
        f"To: {quote_email_address(letter.address)}",
        f"Subject: {_encode_header(_subject(letter), 'Subject')}",
        f"Date: {format_datetime(at)}",
        f"Message-ID: {message_id}",
        *([f"In-Reply-To: {letter.message_id}"] if letter.message_id else []),
        *([f"References: {_fold_message_ids(followed)}"] if followed else []),
        "Auto-Submitted: auto-replied",
        "X-Auto-Response-Suppress: OOF, AutoReply",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: base64",
    ]
    whole = value_with_surrogates_joined(text).replace("\0", "")
    lines = re.sub(r"\r\n|\r|\n", "\r\n", whole.strip("\n") + "\n")
    body = base64.encodebytes(lines.encode()).decode().replace("\n", "\r\n")
    return "\r\n".join((*headers, "", body)).encode("ascii")


def _subject(letter: Letter) -> str:
    subject = one_line_of_email(letter.subject, 300)
    return subject if _REPLY.match(subject) else f"Re: {subject}".strip()


def _format_sender(letter: Letter) -> str:
    name = one_line_of_email(letter.agent_name, 60)
    if not name:
        return letter.alias
    is_plain = _ATOMS.fullmatch(name) is not None
    shown = f'"{name}"' if is_plain else Header(name, "utf-8", header_name="From").encode()
    return f"{shown} <{letter.alias}>"


def _encode_header(text: str, name: str) -> str:
    """Return a header's text, in encoded words where it is not ASCII."""
    if text.isascii():
        # Encoded words that a stranger wrote are shown as they are, not read.
        text = text.replace("=?", "= ?")
        return Header(text, "us-ascii", header_name=name).encode(linesep="\r\n")
    return Header(text, "utf-8", header_name=name).encode(linesep="\r\n")


def _fold_message_ids(message_ids: tuple[str, ...]) -> str:
    return "\r\n ".join(message_ids)


def _in_all_languages(key: str) -> str:
    return "\n".join(_TEXTS[key][language] for language in (Language.JA, Language.EN))
