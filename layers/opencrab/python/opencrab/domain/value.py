"""Value, the frozen and strictly checked base of what the domain knows, and its text types."""

import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

MESSAGE_BYTES = 65_536
"""Largest text of one message, in UTF-8 bytes."""

JSON_DEPTH = 64
"""The limit of nesting of values from outside."""


T = TypeVar("T")

STAMP = "schema"
"""The field of a stored body that names the version that wrote it; without it that is 1."""

StoredUpgrade = Callable[[dict[str, Any]], dict[str, Any]]
"""Makes the stored fields of the versions before into those of one version; safe to repeat."""


class Value(BaseModel):
    """A frozen value without unknown fields and NaN; a change returns a new value.

    Its validation errors do not quote the input, as they may end up in a log. Validators are built
    when a class is first used: no function needs all classes.

    `stored_version` counts the forms in which a value was ever stored, `stored_upgrades` has those
    that defaults cannot express, by the version that they lead to (ADR 0055).
    """

    stored_version: ClassVar[int] = 1
    stored_upgrades: ClassVar[Mapping[int, StoredUpgrade]] = {}
    keeps_unknown_fields: ClassVar[bool] = True
    """False for values that an unknown field might restrict: they are then not read at all."""

    unknown_fields_read: ClassVar[bool] = False
    """True for a process that has read a field of a newer release."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
        # Comparing names of fields with pydantic's own would be a quarter of making a class.
        protected_namespaces=(),
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
        # Unknown fields of a stored value stay.
        object.__setattr__(changed, "__pydantic_extra__", self.__pydantic_extra__)
        object.__setattr__(changed, "__pydantic_private__", None)
        return changed

    def __iter__(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        """Yield names and values of the known fields: unknown ones are only for the store."""
        return iter(vars(self).items())

    @classmethod
    def from_stored(cls, body: str | bytes | Mapping[str, Any]) -> Self:
        """Read a value from the store; fields that this release does not know stay in it.

        What comes from outside is read with `model_validate`, which refuses them. Raises
        UnreadableValue.
        """
        if not cls.stored_upgrades:
            try:
                # Pydantic's own methods would be a call more for each row.
                validator = cls.__pydantic_validator__
                is_text = type(body) is str or type(body) is bytes
                read = validator.validate_json if is_text else validator.validate_python
                return read(body)  # type: ignore[no-any-return, arg-type]
            except ValidationError:
                pass
        from opencrab.domain.stored_value import read_stored_value  # noqa: PLC0415 - seldom needed

        found, has_unknown = read_stored_value(
            cls, body, cls.stored_upgrades, keeps_unknown=cls.keeps_unknown_fields
        )
        Value.unknown_fields_read |= has_unknown
        return found

    def to_stored(self, **options: Any) -> str:
        """Return JSON for the store, with the unknown fields; takes pydantic's options."""
        text = self.__pydantic_serializer__.to_json(self, **options).decode()
        if not (Value.unknown_fields_read or self.stored_upgrades):
            return text
        from opencrab.domain.stored_value import write_stored_value  # noqa: PLC0415 - seldom needed

        return write_stored_value(self, text, self.stored_upgrades)

    def to_stored_fields(self) -> dict[str, Any]:
        """Return the fields of a document's body, without defaults, as `to_stored` does."""
        fields: dict[str, Any] = self.__pydantic_serializer__.to_python(
            self, mode="json", exclude_defaults=True
        )
        if not (Value.unknown_fields_read or self.stored_upgrades):
            return fields
        from opencrab.domain.stored_value import stamped_stored_fields  # noqa: PLC0415 - seldom needed

        return stamped_stored_fields(self, fields, self.stored_upgrades)

    def without_unknown_fields(self) -> Self:
        """Return the value without what only a newer release knows, which erasure cannot judge."""
        if not Value.unknown_fields_read:
            return self
        return self.model_validate_json(self.model_dump_json())

    def without_defaults(self) -> str:
        """Return JSON for the store without fields that have their default; readers add them.

        Not for values of a union, whose kind is such a field.
        """
        # Rows that leave a default out would say something else if it changed: test_value holds it.
        if Value.unknown_fields_read or self.stored_upgrades:
            return self.to_stored(exclude_defaults=True)
        return self.__pydantic_serializer__.to_json(self, exclude_defaults=True).decode()


def read_stored_json(adapter: TypeAdapter[T], body: str | bytes) -> T:
    """Read a stored value of one of several kinds, as `Value.from_stored` does."""
    try:
        return adapter.validate_json(body)
    except ValidationError:
        from opencrab.domain.stored_value import read_stored_union  # noqa: PLC0415 - seldom needed

        found, has_unknown = read_stored_union(adapter, body)
        Value.unknown_fields_read |= has_unknown
        return found


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
