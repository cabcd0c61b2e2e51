"""Serves WebSocket connections, and pushes to them what the table's stream tells."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.aws.cold_start import prepare_cold_start  # noqa: E402

prepare_cold_start()

from opencrab.bootstrap.websocket import websocket_handler  # noqa: E402

_handle = websocket_handler()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any] | None:
    """Handle one WebSocket event of API Gateway, or the records of one DynamoDB stream batch."""
    return _handle(event)
