"""The file of an increment: what changed in an index since an earlier snapshot, and which that is.

It holds rows, not pages, so it applies to any copy that contains what it builds upon, whatever else
that copy has read since. It is compressed JSON, small enough to be written anew with each batch.
"""

import zlib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from opencrab.adapters.search_rows import Batch
from opencrab.adapters.sqlite_search.index import TOKENIZER
from opencrab.ports.memory.snapshots import Snapshot

INCREMENT = -TOKENIZER
"""The tokenizer of a snapshot that is an increment: releases that know none build an index anew."""


@dataclass(frozen=True)
class IndexChange:
    """What one publication added: its number since the base, its time, and the changes."""

    number: int
    at: datetime
    batches: tuple[Batch, ...]


@dataclass(frozen=True)
class EarlierIncrement:
    """An increment that the newest one builds upon; `last` is the number of its last change."""

    snapshot: Snapshot
    last: int


@dataclass(frozen=True)
class Increment:
    """The content of an increment: changes upon a base and earlier increments, oldest first.

    `replaced_at` is when the wording of a document first changed since the base, which still has
    the wording before. `source` names the database that the index copies, as the index itself does.
    """

    base: Snapshot
    earlier: tuple[EarlierIncrement, ...]
    changes: tuple[IndexChange, ...]
    replaced_at: datetime | None = None
    source: str = ""

    @property
    def last(self) -> int:
        """The number of the last change."""
        return self.changes[-1].number

    @property
    def keeps(self) -> frozenset[str]:
        """The versions that this increment needs."""
        return frozenset((self.base.version, *(each.snapshot.version for each in self.earlier)))


def write_sqlite_search_increment(increment: Increment, file: Path) -> None:
    """Write an increment to a file."""
    file.write_bytes(zlib.compress(_format().dump_json(increment, exclude_defaults=True)))


def read_sqlite_search_increment(file: Path) -> Increment | None:
    """Read an increment from a file; None if it is damaged."""
    try:
        increment = _format().validate_json(zlib.decompress(file.read_bytes()))
    except (zlib.error, ValidationError):
        return None
    return increment if increment.changes else None


@cache
def _format() -> TypeAdapter[Increment]:
    """Build the type adapter on first use, since most processes never need it."""
    return TypeAdapter(Increment)
