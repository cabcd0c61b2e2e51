"""What one transaction writes: rows of items, entries of the change feed, keys to remove."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

Place = tuple[str, str]
"""Partition key and sort key."""


class ItemRow(NamedTuple):
    """An item to write; `due` is its due list and time.

    A body that is changed often has `room`: so many characters at least, and in steps of 64.
    """

    pk: str
    sk: str
    body: str
    listing: str | None = None
    due: tuple[str, datetime] | None = None
    expires_at: datetime | None = None
    room: int = 0


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
    changed without its indexes. `removed` are keys to delete, `expiring` partitions with the time
    when all their items expire.
    """

    new: list[ItemRow] = field(default_factory=list)
    put: list[ItemRow] = field(default_factory=list)
    bodies: list[ItemRow] = field(default_factory=list)
    removed: list[Place] = field(default_factory=list)
    expiring: list[tuple[str, datetime]] = field(default_factory=list)
    feed: list[FeedItem] = field(default_factory=list)


class AlreadyThere(Exception):
    """An item that must be new exists already."""

    def __init__(self, place: Place) -> None:
        super().__init__("/".join(place))
        self.place = place
