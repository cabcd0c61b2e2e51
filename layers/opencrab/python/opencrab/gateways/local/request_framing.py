"""Request framing: a connection that refuses a request whose end two readers may see differently.

A proxy that goes by one of the two headers and a server that goes by the other read two different
requests (RFC 9112, section 6.3).
"""

from typing import Any

import h11

AMBIGUOUS = (
    "The request has both Content-Length and Transfer-Encoding; send only one of them (RFC 9112,"
    " section 6.3).\n"
)

_FRAMING = {b"content-length", b"transfer-encoding"}


class RequestConnection(h11.Connection):
    """A server's HTTP/1.1 connection; `refusal` says why it accepted no request, "" if it did."""

    refusal = ""

    def next_event(self) -> Any:
        """Return the next event; raises RemoteProtocolError for a request with both headers."""
        event = super().next_event()
        if isinstance(event, h11.Request) and {name for name, _ in event.headers} >= _FRAMING:
            self.refusal = AMBIGUOUS
            raise h11.RemoteProtocolError(AMBIGUOUS)
        return event
