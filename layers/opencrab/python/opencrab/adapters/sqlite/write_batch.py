"""What one transaction writes: rows of items, entries of the change feed, keys to remove."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from opencrab.domain.value import Value

_PADDING = 64

Place = tuple[str, str]
"""Partition key and sort key."""


class ItemRow(NamedTuple):
    """An item to write; `due` is its due list and time."""

    pk: str
    sk: str
    body: str
    listing: str | None = None
    due: tuple[str, datetime] | None = None
    expires_at: datetime | None = None


class FeedItem(NamedTuple):
    """An entry of the change feed; with `at` None it gets the time of the newest entry."""

    at: datetime | None
    kind: str
    session_id: str
    turn_id: str | None
    body: str


@dataclass
class WriteBatch:
    """The writes of one transaction: `new` items must not exist, `put` and `bodies` may.

    An item in `bodies` keeps its listing, due time and expiry if it exists, so that its body can be
    changed without its indexes. `removed` are keys to delete, `expiring` partitions with the time when all their items expire.
    """

    new: list[ItemRow] = field(default_factory=list)
    put: list[ItemRow] = field(default_factory=list)
    bodies: list[ItemRow] = field(default_factory=list)
    removed: list[Place] = field(default_factory=list)
    expiring: list[tuple[str, datetime]] = field(default_factory=list)
    feed: list[FeedItem] = field(default_factory=list)


def stored_body(value: Value) -> str:
    """Return a value as stored: without the fields that have their default, which readers add.

    Not for values of a union, whose kind is such a field.
    """
    return value.model_dump_json(exclude_defaults=True)


def padded_body(value: Value, least: int = 0) -> str:
    """Return a value as stored where it is changed often: with room for what a change adds.

    A row that keeps its size is overwritten where it lies; one that grows moves its neighbours, and
    a commit writes the pages of all of them.
    """
    body = stored_body(value)
    return body.ljust(max(least, -(-len(body) // _PADDING) * _PADDING))


class AlreadyThere(Exception):
    """An item that must be new exists already."""

    def __init__(self, place: Place) -> None:
        super().__init__("/".join(place))
        self.place = place
