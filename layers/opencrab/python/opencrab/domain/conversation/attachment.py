"""Attachments: the pictures and text files that a message may carry, judged by their content."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

PICTURES = 4
"""The most pictures of one message; a model is shown no more."""

PICTURE_BYTES = 3_500_000
"""The most bytes of a picture: vendors take 5 MB of base64."""

TEXT_FILE_BYTES = 1_000_000
"""The most bytes of a text file; a model is shown its beginning and can read the rest."""

UPLOADS = "uploads"
"""The folder of a workspace for files that came with messages."""

WORKSPACE = "workspace:"

_MARKS = (
    ("image/png", 0, b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", 0, b"\xff\xd8\xff"),
    ("image/gif", 0, b"GIF8"),
    ("image/webp", 8, b"WEBP"),
)
_PICTURE_NAMES = frozenset({"png", "jpg", "jpeg", "gif", "webp"})
_TEXT_NAMES = frozenset({"txt", "md", "csv", "tsv", "json", "yaml", "yml", "toml", "xml", "html"})
_SEPARATOR = re.compile(r"[/\\]")


class AttachmentFault(StrEnum):
    """The reason why a file cannot be attached."""

    EMPTY = "empty"
    TOO_LARGE = "too_large"
    NOT_TEXT = "not_text"
    NO_PICTURE = "no_picture"
    IS_PICTURE = "is_picture"


@dataclass(frozen=True)
class AttachedKind:
    """What a file is by its content; a `file` is UTF-8 text."""

    kind: Literal["image", "file"]
    media_type: str


def message_attachment_picture_type(content: bytes) -> str | None:
    """Return a picture's media type by its first bytes; None if it is not one of the four."""
    return next((kind for kind, at, mark in _MARKS if content[at : at + len(mark)] == mark), None)


def judge_message_attachment(name: str, content: bytes) -> AttachedKind | AttachmentFault:
    """Return what a file is, or why it cannot be attached; its name must not claim otherwise."""
    ending = name.rpartition(".")[2].casefold() if "." in name else ""
    picture = message_attachment_picture_type(content)
    most = TEXT_FILE_BYTES if picture is None else PICTURE_BYTES
    if not content:
        return AttachmentFault.EMPTY
    if picture is None and ending in _PICTURE_NAMES:
        return AttachmentFault.NO_PICTURE
    if picture is not None and ending in _TEXT_NAMES:
        return AttachmentFault.IS_PICTURE
    if picture is None and not is_message_attachment_text(content):
        return AttachmentFault.NOT_TEXT
    if len(content) > most:
        return AttachmentFault.TOO_LARGE
    return AttachedKind("file", "text/plain") if picture is None else AttachedKind("image", picture)


def is_message_attachment_text(content: bytes) -> bool:
    """Check whether a content is text in UTF-8."""
    try:
        return "\x00" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False


def message_attachment_name(name: str) -> str:
    """Return the name under which a file is stored: without folders and white space."""
    return "-".join(_SEPARATOR.split(name)[-1].split())
