"""Moto made fast, above all its tables: a transaction keeps a copy of one to fall back on.

Moto copies it object by object, once for each item of the transaction, which takes seconds for a
table of a few hundred items. What our updates can change are an item's attributes and which items
there are; copying that much gives the same fallback.

For each request it also lists the methods of a class and spells names anew; those are remembered.
"""

import copy
from functools import cache
from typing import Any

from moto.core import responses, utils
from moto.dynamodb.models.dynamo_type import Item, LimitedSizeDict
from moto.dynamodb.models.table import Table
from moto.sqs import models as sqs_models


def copied(table: Table, _memo: dict[int, Any]) -> Table:
    """A table whose items can be changed without changing this one's."""
    twin = copy.copy(table)
    twin.items = copy.copy(table.items)
    twin.items.clear()
    for partition, items in table.items.items():
        twin.items[partition] = {key: _copied_item(item) for key, item in items.items()}
    if table.stream_shard is not None:
        twin.stream_shard = copy.copy(table.stream_shard)
        twin.stream_shard.items = list(table.stream_shard.items)
        twin.stream_shard.table = twin
    return twin


def _copied_item(item: Any) -> Any:
    """Past moto's constructors, which keep every item for ever and measure every attribute."""
    twin = object.__new__(Item)
    twin.__dict__.update(item.__dict__)
    twin.attrs = LimitedSizeDict.__new__(LimitedSizeDict)
    dict.update(twin.attrs, item.attrs)
    return twin


def install() -> None:
    """From here on moto copies tables so."""
    Table.__deepcopy__ = copied  # type: ignore[attr-defined]  # moto has none
    vars(responses)["method_names_from_class"] = cache(utils.method_names_from_class)
    for module in (responses, sqs_models):
        vars(module)["camelcase_to_underscores"] = cache(utils.camelcase_to_underscores)
