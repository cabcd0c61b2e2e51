"""Lists over the whole table: one index in shards, read together in the order of the ids."""

import heapq
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from pydantic import ValidationError

from opencrab.adapters.dynamodb.item import SHARDS, Item
from opencrab.adapters.dynamodb.table import Table
from opencrab.domain.errors import Unavailable

T = TypeVar("T")

log = logging.getLogger(__name__)

_BATCH = 100


def page_of_items(table: Table, name: str, after: str, limit: int) -> list[str]:
    """The next partition keys of a list, in order. The index may lag a moment behind the items."""
    shards = (table.listed(f"{name}#{place}", after, limit) for place in range(SHARDS))
    merged = heapq.merge(*([item["pk"]["S"] for item in keys] for keys in shards))
    return list(islice(merged, limit))


def readable_items(read: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """What these items hold; one that cannot be read is passed over, so that it stops no sweep."""
    for item in items:
        try:
            yield read(item)
        except (Unavailable, ValidationError) as error:
            key, why = item["pk"]["S"], type(error).__name__
            log.warning("skipping unreadable item %s: %s", key, why)


def due_items(table: Table, name: str, before: int, shards: int = SHARDS) -> Iterator[Item]:
    """Items of a due list up to a time, oldest first, each read anew: the index may lag behind."""
    found_in = [table.due(f"{name}#{place}", before) for place in range(shards)]
    merged = heapq.merge(*found_in, key=lambda item: int(item["due_at"]["N"]))
    while batch := [(item["pk"]["S"], item["sk"]["S"]) for item in islice(merged, _BATCH)]:
        found = table.several(batch)
        yield from (found[key] for key in batch if key in found)
