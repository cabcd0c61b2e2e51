"""Header deadline: the HTTP protocol of the local server, which drops half-open connections.

It also refuses requests with ambiguous framing (`request_framing`).
"""

import asyncio
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from opencrab.gateways.local.request_framing import RequestConnection

HEADER_SECONDS = 10.0
"""How long a client may take for the header of a request, as nginx and Apache ask by default."""


class HeaderDeadlineProtocol(H11Protocol):
    """HTTP/1.1 whose clients must send a whole header in time, or are disconnected.

    The time starts with the connection, or on a connection that is used again with the first byte
    of the next request, and no later byte extends it. Without it a socket that sends nothing, or
    half a header, stays open for ever and keeps a file descriptor of the process.
    """

    header_seconds = HEADER_SECONDS
    conn: RequestConnection
    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, config: uvicorn.Config, *arguments: Any, **named: Any) -> None:
        super().__init__(config, *arguments, **named)
        most = self.conn._max_incomplete_event_size  # noqa: SLF001  - as uvicorn has set it
        self.conn = RequestConnection(h11.SERVER, most)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time for the first header."""
        super().connection_made(transport)
        self._await_header()

    def data_received(self, data: bytes) -> None:
        """Take the bytes; go on waiting only while they are not a whole header."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._await_header()
        else:
            self._stop_waiting()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that cannot be read, with the reason if it is known, and disconnect."""
        super().send_400_response(self.conn.refusal or msg)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the header deadline, as the connection is closed."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_header(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self._drop)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _drop(self) -> None:
        self._deadline = None
        transport: Any = self.transport
        transport.abort()
