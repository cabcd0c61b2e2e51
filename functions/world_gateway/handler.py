"""Takes what worlds tell the agents that are bound to them."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.world_inbound import lambda_world_receiver  # noqa: E402

_receive = lambda_world_receiver()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Process the world messages of one SQS batch."""
    return _receive(event, context)
