"""Lists over the whole table: one index in shards, read together in the order of the ids."""

import heapq
from collections.abc import Iterator
from itertools import islice

from opencrab.adapters.dynamodb.item import SHARDS, Item
from opencrab.adapters.dynamodb.table import Table

_BATCH = 100


def page_of(table: Table, name: str, after: str, limit: int) -> list[str]:
    """The next partition keys of a list, in order. The index may lag a moment behind the items."""
    shards = (table.listed(f"{name}#{place}", after, limit) for place in range(SHARDS))
    merged = heapq.merge(*([item["pk"]["S"] for item in keys] for keys in shards))
    return list(islice(merged, limit))


def due_items(table: Table, name: str, before: int) -> Iterator[Item]:
    """Items of a due list up to a time, oldest first, each read anew: the index may lag behind."""
    shards = [table.due(f"{name}#{place}", before) for place in range(SHARDS)]
    merged = heapq.merge(*shards, key=lambda item: int(item["due_at"]["N"]))
    while batch := [(item["pk"]["S"], item["sk"]["S"]) for item in islice(merged, _BATCH)]:
        found = table.several(batch)
        yield from (found[key] for key in batch if key in found)
