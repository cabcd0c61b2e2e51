"""Value, the frozen and strictly checked base of what the domain knows, and its text types."""

import json
import unicodedata
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)

MESSAGE_BYTES = 65_536
"""Largest text of one message, in UTF-8 bytes."""

JSON_DEPTH = 64
"""How deeply values from outside may be nested."""


class Value(BaseModel):
    """A frozen value with no unknown fields and no NaN; change returns a new value.

    Its errors say what is wrong where, and not what was said: they may end up in a log. How to
    check one kind of value is worked out when the first is made: no function needs all kinds.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
    )

    def replaced(self, **changes: Any) -> Self:
        """The same value with some fields changed; the caller vouches for their types."""
        return self.model_copy(update=changes)


def is_json(value: Any) -> bool:
    """Whether a value comes back from JSON as it was: finite, whole characters, not too deep."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return _depth(value) <= JSON_DEPTH


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return depth


class Language(StrEnum):
    """The languages that OpenCrab itself speaks."""

    JA = "ja"
    EN = "en"


def join_surrogates(text: Any) -> Any:
    """Text with half characters joined where both halves are there, and replaced elsewhere.

    Streams cut an emoji in two, and JSON may escape one half of it; no store takes that.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    except AttributeError:
        pass
    return text


def _plain_text(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters: remove them")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("must not contain unpaired surrogates") from error
    return text


def _within_message(text: str) -> str:
    if len(text.encode()) > MESSAGE_BYTES:
        raise ValueError(f"must be at most {MESSAGE_BYTES} bytes of UTF-8: shorten it")
    return text


_LINE_BREAKERS = {"Cc", "Cs", "Zl", "Zp"}


def plain_name(text: str) -> str:
    """The text, if it is one line without control characters; raises ValueError."""
    if any(unicodedata.category(character) in _LINE_BREAKERS for character in text):
        raise ValueError("must be one line without control characters")
    return text


def _normalize_nfc(text: object) -> object:
    """NFC, before the length is counted: a few characters are longer in it."""
    return unicodedata.normalize("NFC", text) if isinstance(text, str) else text


Text = Annotated[str, AfterValidator(_plain_text)]
"""Any text of whole characters without NUL; pydantic itself lets lone surrogates pass."""

Stripped = Annotated[str, StringConstraints(strip_whitespace=True), AfterValidator(_plain_text)]
"""Text without white space around it; constraints on its length count what is left."""

Received = Annotated[str, BeforeValidator(join_surrogates)]
"""What a model or a vendor sent, made whole: there is nobody to send it back to."""

ShortText = Annotated[Text, StringConstraints(max_length=4_000)]

Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
    AfterValidator(plain_name),
    BeforeValidator(_normalize_nfc),
]
"""One line that a person reads: 1 to 100 characters, NFC."""

MessageText = Annotated[Text, StringConstraints(min_length=1), AfterValidator(_within_message)]
"""What somebody says: at least one character, at most 64 KB."""

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,64}$")]
"""An id in keys and paths: letters, digits, dash and underscore only."""

Unit = Annotated[float, Field(ge=0.0, le=1.0)]
Signed = Annotated[float, Field(ge=-1.0, le=1.0)]
MicroUsd = int
"""Money: integer millionths of a US dollar."""


GoalId = Annotated[str, StringConstraints(pattern=r"^G[1-9][0-9]{0,5}$")]
