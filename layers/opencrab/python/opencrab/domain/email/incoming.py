"""A mail as it was received, read into what matters: never fails on what a stranger wrote."""

import binascii
import re
from collections.abc import Sequence
from datetime import datetime
from email import errors, message_from_bytes
from email.message import Message
from typing import Any, NamedTuple, cast

from opencrab.domain.email.address import (
    email_addresses_in_header,
    one_line_of_email,
    parse_email_sender,
)
from opencrab.domain.email.charset import decode_email_header, decode_email_text
from opencrab.domain.email.html_text import text_of_email_html
from opencrab.domain.value import value_with_surrogates_joined

MOST_CHARACTERS = 20_000
"""Characters of one mail that are read; a longer one is cut, and that is said."""

MOST_SUBJECT, MOST_NAME, MOST_FILES, MOST_REFERENCES = 300, 60, 50, 20

_MESSAGE_ID = re.compile(r"<[!-;=?-~]{3,240}>", re.ASCII)
_RECIPIENTS = ("delivered-to", "x-original-to", "envelope-to", "to", "cc")
_BARE_NAME = re.compile(r'filename="?([^";]+)', re.IGNORECASE)
_PARTS, _LONGEST_KIND, _LONGEST_NAME = 200, 2_000, 100
_MULTIPARTS, _LINES = 50, 200_000
_KINDS = ("content-type", "content-disposition")
_NO_WORDS = frozenset({"calendar", "directory", "rfc822-headers", "vcard", "x-vcard"})
"""What has the type of text and was written by no person."""

_TROUBLES = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
    binascii.Error,
    errors.MessageError,
)
"""What the standard library raises for malformed mails, beside its defects."""


class FetchedEmail(NamedTuple):
    """A mail as it lies in a mailbox; `arrived` is None if its server does not tell.

    With `is_cut` it is only the beginning of a longer one.
    """

    content: bytes
    arrived: datetime | None = None
    is_cut: bool = False


class IncomingEmail(NamedTuple):
    """A mail: `headers` with names in lower case and raw values, in order.

    `sender` is None unless it has exactly one; `text` has the quotations, `is_cut` says that it
    was longer. `files` are the names of what is attached. `is_of_calendar` says that a program
    wrote it about an invitation, whose words are those of who invited.
    """

    headers: tuple[tuple[str, str], ...]
    sender: str | None
    name: str
    recipients: tuple[str, ...]
    subject: str
    message_id: str
    references: tuple[str, ...]
    text: str
    is_cut: bool
    files: tuple[str, ...]
    is_of_calendar: bool = False

    def header(self, name: str) -> str:
        """Return the topmost header of a name, in lower case; "" if there is none."""
        return next(iter(self.values(name)), "")

    def values(self, name: str) -> tuple[str, ...]:
        """Return all headers of a name, in lower case."""
        return tuple(value.strip().lower() for each, value in self.headers if each == name)


class UnreadableEmail(Exception):
    """A mail that no program reads."""


def parse_incoming_email(content: bytes) -> IncomingEmail:
    """Read a mail, also one that is cut off somewhere; raises UnreadableEmail."""
    try:
        return _parse(_message(content))
    except _TROUBLES as error:
        raise UnreadableEmail(type(error).__name__) from None


def files_of_incoming_email(content: bytes) -> tuple[bytes | None, ...]:
    """Return what is attached, in the order of the names in `files`; None for what is no file.

    Raises UnreadableEmail.
    """
    try:
        return tuple(_decode_file(each) for each in _sent_parts(_message(content)))
    except _TROUBLES as error:
        raise UnreadableEmail(type(error).__name__) from None


def _decode_file(part: Message) -> bytes | None:
    """Return what is attached; a mail in a mail is taken as its source."""
    try:
        inner = part.get_payload()
        if isinstance(inner, list):
            return b"\n".join(cast(Message, each).as_bytes() for each in inner)
        decoded = part.get_payload(decode=True)
    except _TROUBLES:
        return None
    return decoded if isinstance(decoded, bytes) else None


def _message(content: bytes) -> Message:
    """Read the parts of a mail, in a time that its sender cannot stretch.

    The parser compares each line with the boundaries around it, and its time for a kind grows with
    the square of the kind's length.
    """
    boundaries = iter(range(_MULTIPARTS))

    class Part(Message):
        def get(self, name: str, failobj: Any = None) -> Any:
            found = super().get(name, failobj)
            if name.lower() in _KINDS and len(str(found)) > _LONGEST_KIND:
                raise ValueError("a part has a name or kind that no program writes")
            return found

        def get_boundary(self, failobj: Any = None) -> Any:
            if next(boundaries, None) is None:
                raise ValueError("a mail has more parts in parts than any program writes")
            return super().get_boundary(failobj)

    return message_from_bytes(
        content[:_LINES] if has_email_too_many_lines(content) else content, Part
    )


def has_email_too_many_lines(content: bytes) -> bool:
    """Check whether only the beginning of a mail is read, whose last file is then cut."""
    return content.count(b"\n") + content.count(b"\r") > _LINES


def _parse(message: Message) -> IncomingEmail:
    headers = tuple((name.lower(), str(value)) for name, value in message.raw_items())
    senders = [value for name, value in headers if name == "from"]
    sender = parse_email_sender(senders[0]) if len(senders) == 1 else None
    text, is_cut = _text(message)
    return IncomingEmail(
        headers=headers,
        sender=None if sender is None else sender[1],
        name="" if sender is None else _name(sender[0]),
        recipients=tuple(_recipients(headers)),
        subject=one_line_of_email(decode_email_header(_first(headers, "subject")), MOST_SUBJECT),
        message_id=next(iter(_MESSAGE_ID.findall(_first(headers, "message-id"))), ""),
        references=_references(headers),
        text=text,
        is_cut=is_cut,
        files=_files(message),
        is_of_calendar=any(_is_of_calendar(each) for each in _leaves(message)),
    )


def _first(headers: Sequence[tuple[str, str]], name: str) -> str:
    return next((value for each, value in headers if each == name), "")


def _name(raw: str) -> str:
    """Return a display name without what could look like another address."""
    return one_line_of_email(
        re.sub(r"[()<>@\uff08\uff09\uff20]", " ", decode_email_header(raw)), MOST_NAME
    )


def _recipients(headers: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return whom a mail was for, the address at which it was delivered first."""
    found = (
        address
        for wanted in _RECIPIENTS
        for name, value in headers
        if name == wanted
        for address in email_addresses_in_header(value)
    )
    return tuple(dict.fromkeys(found))


def _references(headers: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the mails that this one follows, the first and the newest ones."""
    told = _MESSAGE_ID.findall(_first(headers, "references")[:20_000])
    told += _MESSAGE_ID.findall(_first(headers, "in-reply-to")[:2_000])
    unique = tuple(dict.fromkeys(reversed(told)))[::-1]
    if len(unique) <= MOST_REFERENCES:
        return unique
    return unique[:1] + unique[-MOST_REFERENCES + 1 :]


def _leaves(message: Message) -> list[Message]:
    """Return the parts that hold something, without looking into forwarded mails."""
    found: list[Message] = []
    waiting = [message]
    while waiting and len(found) < _PARTS:
        part = waiting.pop()
        inner = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(inner, list):
            waiting += [cast(Message, each) for each in reversed(inner)]
        else:
            found.append(part)
    return found


def _is_of_calendar(part: Message) -> bool:
    return part.get_content_type() == "text/calendar"


def _is_attached(part: Message) -> bool:
    """Check whether a part is a file: some programs show those with text as if it were words."""
    if part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text":
        return True
    name = part.get_param("filename", header="content-disposition") or part.get_param("name")
    return bool(name) or part.get_content_subtype() in _NO_WORDS


def _text(message: Message) -> tuple[str, bool]:
    """Return the words of all text parts; of HTML only where there is no plain text."""
    parts = [each for each in _leaves(message) if not _is_attached(each)]
    plain = [_decode_part(each) for each in parts if each.get_content_subtype() != "html"]
    text = "\n".join(each.strip("\r\n") for each in plain if each.strip())
    if not text.strip():
        pages = [_decode_part(each) for each in parts if each.get_content_subtype() == "html"]
        text = "\n".join(map(text_of_email_html, pages))
    whole = value_with_surrogates_joined(text).replace("\0", "")
    return whole[:MOST_CHARACTERS], len(whole) > MOST_CHARACTERS


def _decode_part(part: Message) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    charset = part.get_param("charset") or ""
    text = decode_email_text(content, charset if isinstance(charset, str) else charset[2])
    flowed = str(part.get_param("format") or "").lower() == "flowed"
    return re.sub(r"(?m)^(?!>)(.*\S) \r?\n(?=[^>\s])", r"\1 ", text) if flowed else text


def _files(message: Message) -> tuple[str, ...]:
    return tuple(_file_name(each) for each in _sent_parts(message))


def _sent_parts(message: Message) -> list[Message]:
    attached = [each for each in _leaves(message) if _is_attached(each)]
    # A picture that a page shows, such as a logo below a name, is nothing that was sent.
    sent = [
        each
        for each in attached
        if each.get_content_disposition() == "attachment" or "content-id" not in each
    ]
    return sent[:MOST_FILES]


def _file_name(part: Message) -> str:
    """Return the name of an attachment: RFC 2231's, else in encoded words, else its type."""
    raw_kind = "".join(str(told) for name, told in part.raw_items() if name.lower() == _KINDS[1])
    if not raw_kind.isascii() and (bare := _BARE_NAME.search(raw_kind)):
        return one_line_of_email(decode_email_header(bare[1]), _LONGEST_NAME)
    given = part.get_param("filename", header="content-disposition") or part.get_param("name")
    if isinstance(given, tuple):
        # Percent signs are taken away already, one byte a character.
        raw = given[2].encode("latin-1", "replace")
        name = decode_email_text(raw, given[0] or "")
    else:
        name = decode_email_header(str(given or ""))
    return one_line_of_email(name, _LONGEST_NAME) or part.get_content_type()
