"""Runs the turns that the queue delivers, each as far as the time of a call allows."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.functions import lambda_turn_worker  # noqa: E402

_worker = lambda_turn_worker()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Run the turns named by the messages of one SQS batch."""
    return _worker().run_turns(event, context)
