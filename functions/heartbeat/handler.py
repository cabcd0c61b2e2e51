"""Once a minute, picks up what is due or left lying; in between, decides beats at their second."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.functions import lambda_heartbeat_worker  # noqa: E402

_worker = lambda_heartbeat_worker()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Run the heartbeats of one SQS batch, one sweep for EventBridge, or a deployment's upgrade."""
    if "Records" in event:
        return _worker().run_heartbeats(event, context)
    return (_worker().upgrade if "upgrade" in event else _worker().sweep)(event, context)
