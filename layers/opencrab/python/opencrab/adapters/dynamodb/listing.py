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


def page_of_dynamodb_items(table: Table, name: str, after: str, limit: int) -> list[str]:
    """Return the next partition keys of a list, in order, from an eventually consistent index."""
    shards = (table.query_listing(f"{name}#{place}", after, limit) for place in range(SHARDS))
    merged = heapq.merge(*([item["pk"]["S"] for item in keys] for keys in shards))
    return list(islice(merged, limit))


def decode_dynamodb_items(read: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """Decode items; log and skip those that cannot be decoded, so that no sweep stops."""
    for item in items:
        try:
            yield read(item)
        except (Unavailable, ValidationError) as error:
            key = item["pk"]["S"]
            # The words of a validation error quote the item.
            why = error.message if isinstance(error, Unavailable) else type(error).__name__
            log.warning("cannot read item, skipping it: key=%s, error=%s", key, why)


def dynamodb_due_items(
    table: Table, name: str, before: int, shards: Iterable[int] = range(SHARDS)
) -> Iterator[Item]:
    """Yield items of a due list up to a time, oldest first.

    Read each again, as the index may lag.
    """
    found_in = [table.query_due(f"{name}#{place}", before) for place in shards]
    merged = heapq.merge(*found_in, key=lambda item: int(item["due_at"]["N"]))
    while batch := [(item["pk"]["S"], item["sk"]["S"]) for item in islice(merged, _BATCH)]:
        found = table.get_many(batch)
        yield from (found[key] for key in batch if key in found)
