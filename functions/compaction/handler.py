"""Makes the summaries that wait in the queue, once a minute."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.aws.functions import lambda_compaction_worker  # noqa: E402

_compact = lambda_compaction_worker()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Run the compactions named by the messages that wait."""
    return _compact(event, context)
