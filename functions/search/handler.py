"""Searches on EFS, for functions that are not in its network, and publishes snapshots there."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.search import lambda_vpc_searcher  # noqa: E402

_answer = lambda_vpc_searcher()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any] | None:
    """Answer one search request, or index the records of one DynamoDB stream batch."""
    return _answer(event)
