"""Pushes what agents said to the channels that are pushed to."""

from typing import Any

from opencrab.bootstrap.aws import worker

_worker = worker()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one invocation."""
    return _worker.deliveries(event, context)
