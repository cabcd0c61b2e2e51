"""World catalogue: the messages of a world by name and code, and whether a payload fits one.

Payloads are JSON here: hashes are 64 hexadecimal digits and bytes are base64. On the wire both are
bytes.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.value import JSON_DEPTH, Language, is_json_value
from opencrab.domain.world.messages import INBOUND_TABLE, OUTBOUND_TABLE

_ROW = re.compile(r"0x([0-9A-F]{4}) ([A-Z_]+) ([A-Z][a-z]+) ([A-Za-z]*) ?(?:\{(.*)\})?")
_OPTION = re.compile(r"Option<(.+)>")
_HASH = re.compile(r"[0-9a-f]{64}")
_STATUSES = ("ACTIVE", "DORMANT", "DEAD")
_CURE = "world_messages lists the fields of each message"

ToWire = Callable[[Any], Any]
"""A function from a JSON value to a wire value; raises ValueError with the required form."""


@dataclass(frozen=True)
class WorldField:
    """A field of a payload; without a type any value fits."""

    name: str
    type: str = ""
    optional: bool = False

    @property
    def notation(self) -> str:
        """The field in Kingdom's notation."""
        kind = f"Option<{self.type}>" if self.optional else self.type
        return f"{self.name}: {kind}" if kind else self.name


@dataclass(frozen=True)
class WorldMessage:
    """A kind of message; without `fields` its payload is any map."""

    code: int
    name: str
    other: str
    payload: str
    fields: tuple[WorldField, ...]
    descriptions: Mapping[Language, str]

    @property
    def notation(self) -> str:
        """The payload in Kingdom's notation."""
        fields = f"{{{', '.join(each.notation for each in self.fields)}}}" if self.fields else ""
        return " ".join(part for part in (self.payload, fields) if part)

    def to_wire(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a JSON payload to the wire format.

        Raises Invalid if it is no JSON, or if fields are missing, unknown or of another type.
        """
        if not is_json_value(dict(payload)):
            raise Invalid(
                f"the payload is not JSON, or is nested in over {JSON_DEPTH} levels",
                field="payload",
                cure=_CURE,
            )
        if not self.fields:
            return dict(payload)
        known = {each.name: each for each in self.fields}
        unknown = sorted(set(payload) - set(known))
        required = (each.name for each in self.fields if not each.optional)
        missing = [name for name in required if payload.get(name) is None]
        if unknown or missing:
            raise Invalid(
                f"{self.name} lacks the fields {', '.join(missing)}"
                if missing
                else f"{self.name} has no fields {', '.join(unknown)[:200]}",
                field="payload",
                cure=f"its payload is {self.notation}",
            )
        return {name: self._value(known[name], value) for name, value in payload.items()}

    def _value(self, told: WorldField, value: Any) -> Any:
        if value is None:
            return None
        try:
            return _TO_WIRE.get(told.type, _anything)(value)
        except ValueError as error:
            raise Invalid(
                f"{told.name} of {self.name} must be {error}",
                field=f"payload.{told.name}",
                cure=f"its payload is {self.notation}",
            ) from None


def _anything(value: Any) -> Any:
    return value


def _hash(value: Any) -> bytes:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise ValueError("64 hexadecimal digits in lower case")
    return bytes.fromhex(value)


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ValueError("base64") from None


def _whole(bits: int) -> ToWire:
    def checked(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**bits:
            raise ValueError(f"a whole number from 0, of {bits} bits")
        return value

    return checked


def _number(value: Any) -> float:
    if type(value) not in {int, float}:
        raise ValueError("a number")
    return float(value)


def _flag(value: Any) -> bool:
    if value is not True and value is not False:
        raise ValueError("true or false")
    return bool(value)


def _status(value: Any) -> str:
    if not isinstance(value, str) or value.upper() not in _STATUSES:
        raise ValueError(f"one of {', '.join(_STATUSES)}")
    return value.upper()


_TO_WIRE: Mapping[str, ToWire] = {
    "Hash256": _hash,
    "AgentId": _hash,
    "bytes": _bytes,
    "u8": _whole(8),
    "u32": _whole(32),
    "u64": _whole(64),
    "f32": _number,
    "bool": _flag,
    "AgentStatus": _status,
}


def world_value_from_wire(value: Any, depth: int = JSON_DEPTH) -> Any:
    """Convert a wire value to JSON, bytes to hexadecimal; raises Invalid if it cannot be."""
    if depth == 0:
        raise Invalid(
            f"the payload is nested in over {JSON_DEPTH} levels", cure="nest fewer levels"
        )
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {_key(key): world_value_from_wire(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [world_value_from_wire(inner, depth - 1) for inner in value]
    if not is_json_value(value):
        raise Invalid(
            "the payload contains values that JSON cannot represent",
            cure="send finite numbers, text, bytes, booleans, lists and maps",
        )
    return value


def _key(key: Any) -> str:
    if isinstance(key, bytes):
        return key.hex()
    if not isinstance(key, str | int):
        raise Invalid("a key of the payload is neither text nor a number", cure="use text as keys")
    return str(key)


def _parse_messages(table: str) -> tuple[WorldMessage, ...]:
    lines = table.strip().splitlines()
    rows = zip(lines[::2], lines[1::2], strict=True)
    return tuple(_message(head, words) for head, words in rows)


def _message(head: str, words: str) -> WorldMessage:
    found = _ROW.fullmatch(head)
    if found is None:
        raise AssertionError(f"invalid row in the message table: {head}")
    code, name, other, payload, inner = found.groups()
    english, japanese = words.strip().split(" | ")
    return WorldMessage(
        code=int(code, 16),
        name=name,
        other=other,
        payload=payload,
        fields=tuple(_field(each) for each in (inner or "").split(", ") if each),
        descriptions={Language.EN: english, Language.JA: japanese},
    )


def _field(text: str) -> WorldField:
    name, _, kind = text.partition(": ")
    optional = _OPTION.fullmatch(kind)
    return WorldField(name, optional[1] if optional else kind, optional is not None)


@cache
def inbound_world_messages() -> tuple[WorldMessage, ...]:
    """Return the messages that agents receive, in Kingdom's order."""
    return _parse_messages(INBOUND_TABLE)


@cache
def outbound_world_messages() -> tuple[WorldMessage, ...]:
    """Return the messages that agents send, in Kingdom's order."""
    return _parse_messages(OUTBOUND_TABLE)


def outbound_world_message_by_name(name: str) -> WorldMessage:
    """Return the message of this name that agents send; raises NotFound."""
    for message in outbound_world_messages():
        if message.name == name:
            return message
    raise NotFound(f"there is no message {name[:60]!r}", field="message", cure=_CURE)


def inbound_world_message_by_code(code: int) -> WorldMessage | None:
    """Return the message of this code that agents receive, or None."""
    return next((message for message in inbound_world_messages() if message.code == code), None)


def outbound_world_message_by_code(code: int) -> WorldMessage | None:
    """Return the message of this code that agents send, or None."""
    return next((message for message in outbound_world_messages() if message.code == code), None)
