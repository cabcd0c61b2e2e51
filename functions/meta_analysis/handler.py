"""Each hour, looks whether a night has come, and at the evidence of agents that were active."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.nightly import lambda_night_worker  # noqa: E402

_worker = lambda_night_worker()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Enqueue nightly reviews that are due, update prices, and run queued reviews, each hour."""
    return _worker().run_nightly(event, context)
