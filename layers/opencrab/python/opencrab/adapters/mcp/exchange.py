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
_OK, _MOVED, _CLIENT_ERROR, _UNSIGNED, _FORBIDDEN = 200, 300, 400, 401, 403
_CURE = "check its address, or continue without it"


class McpHttpExchange:
    """Requests with a server's own headers; a failed one says whether it may have arrived.

    Args:
        server: The server; its headers are sent with each request.
        backend: Connects to its host; its timeouts are deadlines.
        new_tls: Creates the TLS context that verifies it.
    """

    def __init__(
        self,
        server: McpServer,
        backend: httpcore.NetworkBackend,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
    ) -> None:
        self._name = server.name
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
        """Raise what a status means that asks for a sign-in or redirects."""
        if status in {_UNSIGNED, _FORBIDDEN}:
            raise Refused(
                f"the MCP server {self._name} asks for a sign-in (status {status})",
                cure=f"give it a token in mcp.servers.{self._name}.headers; "
                "signing in with OAuth is not supported",
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
        """Yield the body; raises McpUnavailable for more than `MESSAGE_BYTES`.

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
        """Raise McpUnavailable for a message of more than `MESSAGE_BYTES`."""
        if size > MESSAGE_BYTES:
            raise self.failure(f"it sent more than {MESSAGE_BYTES} bytes", sent=True)

    def failure(self, why: str, *, sent: bool) -> McpUnavailable:
        """Return the error of a request; `sent` says that it may have arrived."""
        return McpUnavailable(
            f"the MCP server {self._name} is not usable: {why}", cure=_CURE, sent=sent
        )

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


def header_of_mcp_response(response: httpcore.Response, name: bytes) -> bytes:
    """Return a header of a response, empty if it has none."""
    return next((value for key, value in response.headers if key.lower() == name), b"")
