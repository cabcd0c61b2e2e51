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
"""The limit of nesting of values from outside."""


class Value(BaseModel):
    """A frozen value without unknown fields and NaN; a change returns a new value.

    Its validation errors do not quote the input, as they may end up in a log. Validators are built
    when a class is first used: no function needs all classes.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
    )

    def replaced(self, **changes: Any) -> Self:
        """Return the value with some fields changed; the caller ensures valid types."""
        # What `model_copy` does for a value without extra and private fields, in half its time: a
        # turn makes forty such changes.
        fields, changed = self.__dict__, object.__new__(type(self))
        if len(fields) > len(self.__pydantic_fields__):  # a cached property was of the old value
            fields = {name: fields[name] for name in self.__pydantic_fields__}
        object.__setattr__(changed, "__dict__", {**fields, **changes})
        object.__setattr__(
            changed, "__pydantic_fields_set__", self.__pydantic_fields_set__ | changes.keys()
        )
        object.__setattr__(changed, "__pydantic_extra__", None)
        object.__setattr__(changed, "__pydantic_private__", None)
        return changed

    def without_defaults(self) -> str:
        """Return JSON without fields that have their default; readers add them.

        Not for values of a union, whose kind is such a field.
        """
        # Rows that leave a default out would say something else if it changed: test_value holds it.
        return self.model_dump_json(exclude_defaults=True)


def is_json_value(value: Any) -> bool:
    """Check whether a value survives JSON unchanged: finite, valid Unicode, not too deep."""
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
    """The languages of OpenCrab's own texts."""

    JA = "ja"
    EN = "en"


def value_with_surrogates_joined(text: Any) -> Any:
    """Return a text with surrogate pairs joined and lone surrogates replaced.

    Streams cut an emoji in two, and JSON may escape one half of it; no store accepts that.
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
        raise ValueError("must not contain unpaired surrogates: remove them") from error
    return text


def _within_message(text: str) -> str:
    if len(text.encode()) > MESSAGE_BYTES:
        raise ValueError(f"must be at most {MESSAGE_BYTES} bytes of UTF-8: shorten it")
    return text


_LINE_BREAKERS = {"Cc", "Cs", "Zl", "Zp"}


def plain_name_value(text: str) -> str:
    """Return the text if it is one line without control characters; raises ValueError."""
    if any(unicodedata.category(character) in _LINE_BREAKERS for character in text):
        raise ValueError("must be one line without control characters: remove them")
    return text


def _normalize_nfc(text: object) -> object:
    """Normalize to NFC before the length is counted: a few characters are longer in it."""
    return unicodedata.normalize("NFC", text) if isinstance(text, str) else text


Text = Annotated[str, AfterValidator(_plain_text)]
"""Any valid Unicode text without NUL; pydantic itself accepts lone surrogates."""

Stripped = Annotated[str, StringConstraints(strip_whitespace=True), AfterValidator(_plain_text)]
"""Text without white space around it; length constraints count the stripped text."""

Received = Annotated[str, BeforeValidator(value_with_surrogates_joined)]
"""Text from a model or a vendor, repaired instead of rejected: no user could correct it."""

ShortText = Annotated[Text, StringConstraints(max_length=4_000)]

Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=100),
    AfterValidator(plain_name_value),
    BeforeValidator(_normalize_nfc),
]
"""One line that a person reads: 1 to 100 characters, NFC."""

MessageText = Annotated[Text, StringConstraints(min_length=1), AfterValidator(_within_message)]
"""The text of a message: at least one character, at most 64 KB."""

Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,64}$")]
"""An id in keys and paths: letters, digits, dash and underscore only."""

Unit = Annotated[float, Field(ge=0.0, le=1.0)]
Signed = Annotated[float, Field(ge=-1.0, le=1.0)]
MicroUsd = int
"""Money: integer millionths of a US dollar."""


GoalId = Annotated[str, StringConstraints(pattern=r"^G[1-9][0-9]{0,5}$")]
