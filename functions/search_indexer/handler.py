"""Publishes snapshots of agents' indexes when the table's stream tells that there is news."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.search_indexer import lambda_search_indexer  # noqa: E402

_follow = lambda_search_indexer()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], _context: Any) -> None:
    """Index the records of one DynamoDB stream batch; raising makes Lambda retry the batch."""
    _follow(event)
