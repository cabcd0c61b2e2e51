"""Reading and writing of stored values that another release wrote: the slow way, seldom needed.

`Value.from_stored` and `Value.to_stored` come here when a stored value has fields that this release
does not know, or a stamp of its version. Unknown fields stay in the value and are written again, so
that a release that is replaced loses nothing of the one that follows it (ADR 0055).
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from opencrab.domain.errors import UnreadableValue

Upgrades = Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]

_ID = re.compile(r"[A-Za-z0-9_\-]{1,64}")

V = TypeVar("V", bound=BaseModel)
T = TypeVar("T")


def read_stored_value(
    kind: type[V],
    body: str | bytes | Mapping[str, Any],
    upgrades: Upgrades,
    *,
    keeps_unknown: bool,
) -> tuple[V, bool]:
    """Read a stored value of any release, and whether it has unknown fields.

    Raises UnreadableValue.

    Upgrades of later versions than the one that wrote it are applied. One of a newer release is
    read if its fields are those of this one and further ones, which are kept or refused.
    """
    fields = _fields(kind, body)
    unknown: Any = "allow" if keeps_unknown else "forbid"
    written = fields.pop("schema", 1)
    for version, upgrade in sorted(upgrades.items()):
        if version > written:
            fields = upgrade(fields)
    try:
        # As text where it was text: JSON may be read less strictly than Python's objects.
        found = (
            kind.model_validate(fields, extra=unknown)
            if isinstance(body, Mapping)
            else kind.model_validate_json(_text(fields), extra=unknown)
        )
    except ValidationError as error:
        raise _unreadable(_describe_value(kind, fields), error) from None
    return found, _settle_unknown(found)


def read_stored_union(adapter: TypeAdapter[T], body: str | bytes) -> tuple[T, bool]:
    """Read a stored value of one of several kinds, as `read_stored_value`."""
    try:
        found = adapter.validate_json(body, extra="allow")
    except ValidationError as error:
        raise _unreadable("record", error) from None
    return found, _settle_unknown(found)


def write_stored_value(value: BaseModel, text: str, upgrades: Upgrades) -> str:
    """Return a value's JSON with its unknown fields and, if it has one, the stamp."""
    return _text(stamped_stored_fields(value, json.loads(text), upgrades))


def stamped_stored_fields(
    value: BaseModel, fields: dict[str, Any], upgrades: Upgrades
) -> dict[str, Any]:
    """Add to what was dumped of a value its unknown fields and, if it has one, the stamp."""
    _add_unknown(value, fields)
    if upgrades:
        fields["schema"] = max(upgrades)
    return fields


def _fields(kind: type[BaseModel], body: str | bytes | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(body, Mapping):
        return dict(body)
    try:
        fields = json.loads(body)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise UnreadableValue(
            f"a stored {kind.__name__} is damaged: it is no JSON object",
            cure="restore a backup",
        )
    return fields


def _unreadable(name: str, error: ValidationError) -> UnreadableValue:
    places = sorted({".".join(map(str, each["loc"])) or "all of it" for each in error.errors()})
    return UnreadableValue(
        f"a stored {name} cannot be read by this version of OpenCrab ({', '.join(places[:5])})",
        cure="start the newest version that has run here, wait until its deployment has ended, or "
        "restore a backup",
    )


def _describe_value(kind: type[BaseModel], fields: Mapping[str, Any]) -> str:
    """Return what a value is, with its id if it has one: its words stay out of errors."""
    found = fields.get("id")
    is_id = isinstance(found, str) and _ID.fullmatch(found) is not None
    return f"{kind.__name__} {found!r}" if is_id else kind.__name__


def _settle_unknown(found: Any) -> bool:
    """Check for unknown fields; values without them become as if read strictly."""
    has_unknown = False
    for value in _values_in(found):
        if value.__pydantic_extra__:
            has_unknown = True
        else:
            # Empty, it would tell the value from an equal one that was read strictly.
            object.__setattr__(value, "__pydantic_extra__", None)
    return has_unknown


def _values_in(held: Any) -> Iterator[BaseModel]:
    if isinstance(held, BaseModel):
        yield held
        for inner in vars(held).values():
            yield from _values_in(inner)
    elif isinstance(held, dict):
        for inner in held.values():
            yield from _values_in(inner)
    elif isinstance(held, list | tuple):
        for inner in held:
            yield from _values_in(inner)


def _add_unknown(held: Any, written: Any) -> None:
    """Add unknown fields to what was written of a value; left-out fields are defaults."""
    if isinstance(held, BaseModel) and isinstance(written, dict):
        _add_unknown(vars(held), written)
        for name, unknown in (held.__pydantic_extra__ or {}).items():
            written.setdefault(name, unknown)
    elif isinstance(held, dict) and isinstance(written, dict):
        for key in held.keys() & written.keys():
            _add_unknown(held[key], written[key])
    elif isinstance(held, list | tuple):
        for inner, part in zip(held, written, strict=False):
            _add_unknown(inner, part)


def _text(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
