"""An MCP server at an address (Streamable HTTP): one POST for each message, without redirects.

Nothing but the configured address gets a request, and so a header of the settings: a server that
redirects is refused.
"""

import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import quote

import httpcore
import httpx

from opencrab.adapters.mcp.messages import (
    Message,
    answer_to_mcp_server,
    mcp_message,
    parse_mcp_message,
    result_of_mcp_answer,
)
from opencrab.domain.errors import Refused, Unavailable
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpSessionEnded, McpUnavailable

MESSAGE_BYTES = 4 * 1024 * 1024
"""The largest answer that is read."""

_PRINTABLE = "".join(map(chr, range(33, 127)))
_END_SECONDS = 2.0
_OK, _MOVED, _CLIENT_ERROR, _UNSIGNED, _FORBIDDEN, _GONE = 200, 300, 400, 401, 403, 404
_AS_SESSION = "mcp-session-id"
_TAKES = "application/json, text/event-stream"
_CURE = "check its address, or continue without it"


class HttpConnection:
    """A session with a server.

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
        self.tools_changed = False
        self.is_open = True
        self._name = server.name
        self._url = httpcore.URL(quote(server.url, safe=_PRINTABLE))
        self._headers = [
            (b"host", self._url.host + _port(self._url)),
            (b"content-type", b"application/json"),
            (b"accept", _TAKES.encode()),
            (b"accept-encoding", b"identity"),
            (b"user-agent", b"opencrab"),
            *((name.encode("ascii"), value.encode()) for name, value in server.headers.items()),
        ]
        self._lock = Lock()
        self._number = 0
        self._session = b""
        self._revision = b""
        tls = new_tls() if self._url.scheme == b"https" else None
        # No connection is kept: one that died would leave open whether a call was made.
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls, network_backend=backend, max_keepalive_connections=0
        )

    def request(self, method: str, params: Mapping[str, Any], deadline: float) -> dict[str, Any]:
        """Return the result of a request. Raises McpUnavailable, at the deadline at the latest."""
        with self._lock:
            self._number += 1
            number = self._number
        with self._posted(mcp_message(method, params, number), deadline) as response:
            self._keep_session(response)
            for message in self._messages(response, deadline):
                if message.get("id") == number and "method" not in message:
                    result = result_of_mcp_answer(message, self._name, method)
                    if method == "initialize":
                        self._revision = str(result.get("protocolVersion", "")).encode()[:40]
                    return result
                self._take(message, deadline)
        raise self._failed(f"it did not answer {method}", sent=True)

    def notify(self, method: str, deadline: float) -> None:
        """Send a notification."""
        with self._posted(mcp_message(method, {}), deadline):
            pass

    def close(self) -> None:
        """End the session, where the server has one."""
        self.is_open = False
        if self._session:
            with (
                suppress(Unavailable, Refused),
                self._sent("DELETE", b"", monotonic() + _END_SECONDS),
            ):
                pass
        self._pool.close()

    def _take(self, message: Message, deadline: float) -> None:
        answer = answer_to_mcp_server(message)
        if answer is not None:
            with self._posted(answer, deadline):
                pass
        elif message.get("method") == "notifications/tools/list_changed":
            self.tools_changed = True

    @contextmanager
    def _posted(self, body: bytes, deadline: float) -> Iterator[httpcore.Response]:
        with self._sent("POST", body, deadline) as response:
            self._require_accepted(response)
            yield response

    @contextmanager
    def _sent(self, method: str, body: bytes, deadline: float) -> Iterator[httpcore.Response]:
        session = [(_AS_SESSION.encode(), self._session)] if self._session else []
        revision = [(b"mcp-protocol-version", self._revision)] if self._revision else []
        length = [(b"content-length", str(len(body)).encode())]
        patience = {**dict.fromkeys(("connect", "read", "write"), deadline), "pool": 10.0}
        headers = [*self._headers, *session, *revision, *length]
        with (
            self._explained(),
            self._pool.stream(
                method, self._url, headers=headers, content=body, extensions={"timeout": patience}
            ) as response,
        ):
            yield response

    def _require_accepted(self, response: httpcore.Response) -> None:
        """Raise what a status means, without a word of the server's."""
        status = response.status
        if status in {_UNSIGNED, _FORBIDDEN}:
            raise Refused(
                f"the MCP server {self._name} asks for a sign-in (status {status})",
                cure=f"give it a token in mcp.servers.{self._name}.headers; "
                "signing in with OAuth is not supported",
            )
        if status == _GONE and self._session:
            self.is_open = False
            raise McpSessionEnded(f"the MCP server {self._name} ended its session")
        if _MOVED <= status < _CLIENT_ERROR:
            raise Refused(
                f"the MCP server {self._name} redirects to another address (status {status})",
                cure=f"write its new address to mcp.servers.{self._name}.url if you trust it",
            )
        if status >= _MOVED or status < _OK:
            raise self._failed(f"it answered with status {status}", sent=True)

    def _keep_session(self, response: httpcore.Response) -> None:
        found = dict(_header_pairs(response)).get(_AS_SESSION.encode(), b"")
        if found and found.isascii() and len(found) <= 1_024:  # noqa: PLR2004 - bytes
            self._session = found

    def _messages(self, response: httpcore.Response, deadline: float) -> Iterator[Message]:
        """Yield the messages of an answer: one of JSON, or those of an event stream."""
        kind = (
            dict(_header_pairs(response)).get(b"content-type", b"").split(b";")[0].strip().lower()
        )
        pieces = self._pieces(response, deadline)
        texts = _events(pieces) if kind == b"text/event-stream" else iter((b"".join(pieces),))
        for text in texts:
            message = parse_mcp_message(text)
            if message is not None:
                yield message

    def _pieces(self, response: httpcore.Response, deadline: float) -> Iterator[bytes]:
        size = 0
        for piece in response.iter_stream():
            size += len(piece)
            if size > MESSAGE_BYTES:
                raise self._failed(f"it sent more than {MESSAGE_BYTES} bytes", sent=True)
            if monotonic() >= deadline:
                raise httpcore.ReadTimeout
            yield piece

    def _failed(self, why: str, *, sent: bool) -> McpUnavailable:
        return McpUnavailable(
            f"the MCP server {self._name} is not usable: {why}", cure=_CURE, sent=sent
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except McpUnavailable:
            raise
        except (httpcore.ConnectTimeout, httpcore.PoolTimeout, httpcore.ConnectError):
            raise self._failed("no connection to its address", sent=False) from None
        except httpcore.TimeoutException:
            raise self._failed("it did not answer in time", sent=True) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol):
            raise self._failed("it closed the connection", sent=True) from None
        except Unavailable as error:
            raise self._failed(error.message, sent=False) from None


def _events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the data of each event of a stream; the sum of all is limited by whoever reads it."""
    data, parts = list[bytes](), list[bytes]()
    for piece in pieces:
        parts.append(piece)
        if b"\n" not in piece:
            continue
        *lines, rest = b"".join(parts).split(b"\n")
        parts = [rest]
        for line in (each.removesuffix(b"\r") for each in lines):
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data = []
    if data:
        yield b"\n".join(data)


def _port(url: httpcore.URL) -> bytes:
    return b"" if url.port is None else b":" + str(url.port).encode()


def _header_pairs(response: httpcore.Response) -> Iterator[tuple[bytes, bytes]]:
    for name, value in response.headers:
        yield name.lower(), value
