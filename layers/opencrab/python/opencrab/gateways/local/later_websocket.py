"""The WebSocket protocol of the local server, whose library loads with the first connection."""

import asyncio
from typing import Any, cast

WEBSOCKET_PROTOCOL = f"{__name__}:open_websocket_protocol"
"""The name by which uvicorn finds it."""


def open_websocket_protocol(**given: Any) -> asyncio.Protocol:
    """Return the protocol of one connection, which uvicorn would choose itself."""
    from uvicorn.protocols.websockets import auto  # noqa: PLC0415 - most clients use HTTP only

    return cast("type[asyncio.Protocol]", auto.AutoWebSocketsProtocol)(**given)
