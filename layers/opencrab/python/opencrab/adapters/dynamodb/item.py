"""Items: how fields become DynamoDB attributes and back, and how old items become new ones.

Every item carries `schema`, the version of its entity that wrote it. An older item is brought up to
date when it is read; one of a newer version is refused, so that two versions of OpenCrab may run
side by side while one is being deployed: the older one leaves the work to the newer.
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from opencrab.domain.errors import Unavailable

Item = dict[str, dict[str, Any]]
"""An item as DynamoDB takes and gives it: attribute name → {type: value}."""

Fields = dict[str, Any]
Migration = Callable[[Fields], Fields]
"""Makes the fields of one schema version into those of the next."""

SHARDS = 8
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Schema:
    """The schema of one kind of item; its version is the number of migrations plus one."""

    entity: str
    migrations: tuple[Migration, ...] = ()

    @property
    def version(self) -> int:
        """The schema version that this code writes."""
        return len(self.migrations) + 1

    def encode_item(self, pk: str, sk: str, fields: Mapping[str, Any]) -> Item:
        """Build an item with keys and schema version; fields that are None are left out."""
        stamped = {"pk": pk, "sk": sk, "schema": self.version, **fields}
        return {
            name: to_dynamodb_attribute(value)
            for name, value in stamped.items()
            if value is not None
        }

    def decode_item(self, item: Item) -> Fields:
        """Decode an item and migrate it to this version; raise Unavailable for a newer version."""
        fields = {name: from_dynamodb_attribute(value) for name, value in item.items()}
        written = int(fields.get("schema", 1))
        if written > self.version:
            raise Unavailable(
                f"{self.entity} {fields.get('pk')!r} was written by a newer version of OpenCrab "
                f"(schema {written}, this code knows {self.version})",
                cure="wait until the deployment has ended, or deploy the newer version again",
            )
        for migrate in self.migrations[written - 1 :]:
            fields = migrate(fields)
        return fields


def item_with_defaults(fields: Fields) -> Fields:
    """Migrate to a version whose new fields all have defaults: change nothing."""
    return fields


def to_dynamodb_attribute(value: Any) -> dict[str, Any]:
    """Encode a Python value as a DynamoDB attribute; raise TypeError for other types.

    pynamodb's own serializer takes a map with one key such as `S` for an already encoded attribute.
    """
    encode = _ENCODERS.get(type(value))
    if encode is None:
        raise TypeError(f"a DynamoDB item cannot store a value of type {type(value).__name__}")
    kind, encoded = encode
    return {kind: encoded(value)}


_ENCODERS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    str: ("S", str),
    int: ("N", str),
    bool: ("BOOL", bool),
    list: ("L", lambda value: [to_dynamodb_attribute(part) for part in value]),
    dict: ("M", lambda value: {name: to_dynamodb_attribute(part) for name, part in value.items()}),
    set: ("SS", sorted),
    type(None): ("NULL", lambda _value: True),
}


def from_dynamodb_attribute(value: Mapping[str, Any]) -> Any:
    """Decode a DynamoDB attribute; numbers are integers."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return int(content)
        case "SS":
            return set(content)
        case "L":
            return [from_dynamodb_attribute(part) for part in content]
        case "M":
            return {name: from_dynamodb_attribute(part) for name, part in content.items()}
        case "NULL":
            return None
        case _:
            return content


def item_shard(name: str, shards: int = SHARDS) -> int:
    """Return the shard number of a name by CRC-32, stable across processes and releases."""
    return zlib.crc32(name.encode()) % shards


def to_item_microseconds(moment: datetime) -> int:
    """Return a time as integer microseconds since 1970, exact and nine bytes in an item."""
    return (moment - _EPOCH) // _MICROSECOND


def from_item_microseconds(since_1970: int) -> datetime:
    """Return the UTC time of a number of microseconds since 1970."""
    return _EPOCH + since_1970 * _MICROSECOND


def item_time_to_live(at: datetime) -> int:
    """Return a time as DynamoDB's TTL: whole seconds since 1970."""
    return int(at.timestamp())
