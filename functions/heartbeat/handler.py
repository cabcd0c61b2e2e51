"""Once a minute, picks up what a crash left lying and admits what is due."""

from typing import Any

from opencrab.bootstrap.aws import worker

_worker = worker()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one invocation."""
    return _worker.sweep(event, context)
