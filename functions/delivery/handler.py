"""Pushes what agents said to the channels that are pushed to."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.functions import lambda_delivery_worker  # noqa: E402

_worker = lambda_delivery_worker()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Deliver the utterances named by the messages of one SQS batch."""
    return _worker().send_deliveries(event, context)
