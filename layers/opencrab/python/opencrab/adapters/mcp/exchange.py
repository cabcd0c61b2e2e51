"""HTTP requests to the addresses of a server of the settings: one connection each, no redirects.

Nothing but the configured address gets a request, and so a header of the settings.
"""

import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from urllib.parse import quote

import httpcore
import httpx

from opencrab.domain.errors import Refused, Unavailable
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpUnavailable

MESSAGE_BYTES = 4 * 1024 * 1024
"""The largest answer that is read."""

Header = tuple[bytes, bytes]

_PRINTABLE = "".join(map(chr, range(33, 127)))
UNSIGNED, FORBIDDEN = 401, 403
_OK, _MOVED, _CLIENT_ERROR = 200, 300, 400
_CURE = "check its address, or continue without it"


class McpHttpExchange:
    """Requests with a server's own headers; a failed one says whether it may have arrived.

    Args:
        server: The server; its headers are sent with each request.
        backend: Connects to its host; its timeouts are deadlines.
        new_tls: Creates the TLS context that verifies it.
        whom: Who is asked, as errors name it; the server by default.
        most_bytes: The largest answer that is read.
    """

    def __init__(
        self,
        server: McpServer,
        backend: httpcore.NetworkBackend,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
        *,
        whom: str = "",
        most_bytes: int = MESSAGE_BYTES,
    ) -> None:
        self._name = server.name
        self._whom = whom or f"the MCP server {server.name}"
        self._most_bytes = most_bytes
        self._headers = [
            (b"accept-encoding", b"identity"),
            (b"user-agent", b"opencrab"),
            *((name.encode("ascii"), value.encode()) for name, value in server.headers.items()),
        ]
        # No connection is kept: one that died would leave open whether a call was made.
        secure = any(each.startswith("https:") for each in (server.url, server.openapi, server.a2a))
        self._pool = httpcore.ConnectionPool(
            ssl_context=new_tls() if secure else None,
            network_backend=backend,
            max_keepalive_connections=0,
        )

    @contextmanager
    def send(
        self, method: str, url: str, headers: Iterable[Header], body: bytes, deadline: float
    ) -> Iterator[httpcore.Response]:
        """Send a request and yield its response, whatever its status; raises McpUnavailable."""
        target = httpcore.URL(quote(url, safe=_PRINTABLE))
        patience = {**dict.fromkeys(("connect", "read", "write"), deadline), "pool": 10.0}
        sent = [
            (b"host", target.host + _port(target)),
            *self._headers,
            *headers,
            (b"content-length", str(len(body)).encode()),
        ]
        with (
            self._explained(),
            self._pool.stream(
                method, target, headers=sent, content=body, extensions={"timeout": patience}
            ) as response,
        ):
            yield response

    def require_no_refusal(self, status: int) -> None:
        """Raise what a status means that asks for a token or redirects."""
        if status in {UNSIGNED, FORBIDDEN}:
            what = "accepts no request without a valid token" if status == UNSIGNED else "refuses"
            raise Refused(
                f"the MCP server {self._name} {what} (status {status})",
                cure=f"look at the token in mcp.servers.{self._name}.headers, or give it one",
            )
        if _MOVED <= status < _CLIENT_ERROR:
            raise Refused(
                f"the MCP server {self._name} redirects to another address (status {status})",
                cure=f"write its new address to mcp.servers.{self._name}.url if you trust it",
            )

    def require_success(self, status: int) -> None:
        """Raise what a status means, without a word of the server's."""
        self.require_no_refusal(status)
        if status >= _MOVED or status < _OK:
            raise self.failure(f"it answered with status {status}", sent=True)

    def pieces(
        self, response: httpcore.Response, deadline: float, *, is_stream: bool = False
    ) -> Iterator[bytes]:
        """Yield the body; raises McpUnavailable for more than `most_bytes`.

        Of a stream, whoever reads it limits each message: see `require_size`.
        """
        size = 0
        for piece in response.iter_stream():
            size += len(piece)
            if not is_stream:
                self.require_size(size)
            if monotonic() >= deadline:
                raise httpcore.ReadTimeout
            yield piece

    def require_size(self, size: int) -> None:
        """Raise McpUnavailable for a message of more than `most_bytes`."""
        if size > self._most_bytes:
            raise self.failure(f"it sent more than {self._most_bytes} bytes", sent=True)

    def failure(self, why: str, *, sent: bool) -> McpUnavailable:
        """Return the error of a request; `sent` says that it may have arrived."""
        return McpUnavailable(f"{self._whom} is not usable: {why}", cure=_CURE, sent=sent)

    def close(self) -> None:
        """Close what is open."""
        self._pool.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except McpUnavailable:
            raise
        except (httpcore.ConnectTimeout, httpcore.PoolTimeout, httpcore.ConnectError):
            raise self.failure("no connection to its address", sent=False) from None
        except httpcore.TimeoutException:
            raise self.failure("it did not answer in time", sent=True) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol):
            raise self.failure("it closed the connection", sent=True) from None
        except Unavailable as error:
            raise self.failure(error.message, sent=False) from None


def _port(url: httpcore.URL) -> bytes:
    return b"" if url.port is None else b":" + str(url.port).encode()


def headers_of_mcp_response(response: httpcore.Response, name: bytes) -> list[bytes]:
    """Return all headers of a response with a name, in small letters."""
    return [value for key, value in response.headers if key.lower() == name]


def header_of_mcp_response(response: httpcore.Response, name: bytes) -> bytes:
    """Return a header of a response, empty if it has none."""
    return next((value for key, value in response.headers if key.lower() == name), b"")
