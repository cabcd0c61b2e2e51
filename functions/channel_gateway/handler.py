"""Answers signed requests of others: what is genuine and fresh is queued, then acknowledged."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.channels.door import channel_door  # noqa: E402

_answer = channel_door()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Verify, queue and acknowledge one signed request."""
    return _answer(event)
