"""Patience with lists that lag behind, and threads that start together."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Found = TypeVar("Found")

PATIENCE_SECONDS = 20.0
"""Longer than any machine needs, and no longer than SQS lets somebody wait."""

_PAUSE_SECONDS = 0.02


def eventually(look: Callable[[], object], expected: object) -> None:
    """See that a list which may lag comes to show what is expected.

    Reads by id, queues and everything inside a transaction never lag; lists may.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    found = look()
    while found != expected and time.monotonic() < deadline:
        threading.Event().wait(_PAUSE_SECONDS)
        found = look()
    assert found == expected


def at_once(count: int, act: Callable[[int], Found]) -> list[Found]:
    """What `act(0)` to `act(count - 1)` answer when all start at the same moment."""
    gate = threading.Barrier(count)

    def run(number: int) -> Found:
        gate.wait(PATIENCE_SECONDS)
        return act(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))
