"""Runs the turns that the queue delivers, each as far as the time of a call allows."""

from typing import Any

from opencrab.bootstrap.aws import worker

_worker = worker()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one invocation."""
    return _worker.turns(event, context)
