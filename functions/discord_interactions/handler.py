"""Does what people on Discord ask for, after the door has taken it."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.discord_interactions import aws_discord_interaction_worker  # noqa: E402

_interact = aws_discord_interaction_worker()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Process the Discord interactions of one SQS batch."""
    return _interact(event, context)
