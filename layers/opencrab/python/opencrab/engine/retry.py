"""Retries of reads and writes that somebody else's write came between."""

from collections.abc import Callable
from typing import TypeVar

from opencrab.domain.errors import Changed

_Result = TypeVar("_Result")


def retry_after_changes(act: Callable[[], _Result], *, tries: int = 5) -> _Result:
    """Read and write, again after concurrent updates; raises Changed after the last try."""
    for _ in range(tries - 1):
        try:
            return act()
        except Changed:
            continue
    return act()
