"""An MCP server at an address (Streamable HTTP): one POST for each message, without redirects.

A server that redirects is refused.
"""

import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Any

import httpcore
import httpx

from opencrab.adapters.mcp.exchange import McpHttpExchange, header_of_mcp_response
from opencrab.adapters.mcp.messages import (
    Message,
    answer_to_mcp_server,
    is_progress_of_mcp_call,
    mcp_cancellation,
    mcp_message,
    params_with_progress,
    parse_mcp_message,
    result_of_mcp_answer,
)
from opencrab.adapters.mcp.running_call import RunningCall
from opencrab.domain.errors import Refused, Unavailable
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpSessionEnded

_END_SECONDS = 2.0
_STOPPED = "its turn was stopped"
_GONE = 404
_AS_SESSION = "mcp-session-id"
_TAKES = "application/json, text/event-stream"


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
        self._url = server.url
        self._exchange = McpHttpExchange(server, backend, new_tls)
        self._lock = Lock()
        self._number = 0
        self._session = b""
        self._revision = b""

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        deadline: float,
        running: RunningCall | None = None,
    ) -> dict[str, Any]:
        """Return the result of a request. Raises McpUnavailable, at the deadline at the latest."""
        with self._lock:
            self._number += 1
            number = self._number
        if running is not None:
            params = params_with_progress(params, number)
            running.begin(lambda: self._cancel(number))
        with self._posted(mcp_message(method, params, number), deadline) as response:
            self._keep_session(response)
            for message in self._messages(response, deadline):
                if message.get("id") == number and "method" not in message:
                    result = result_of_mcp_answer(message, self._name, method)
                    if method == "initialize":
                        self._revision = str(result.get("protocolVersion", "")).encode()[:40]
                    return result
                if running is not None and is_progress_of_mcp_call(message, number):
                    running.note_progress(message["params"])
                self._take(message, deadline)
        raise self._exchange.failure(f"it did not answer {method}", sent=True)

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
        self._exchange.close()

    def _cancel(self, number: int) -> None:
        deadline = monotonic() + _END_SECONDS
        with self._posted(mcp_cancellation(number, _STOPPED), deadline):
            pass

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
        headers = [(b"content-type", b"application/json"), (b"accept", _TAKES.encode())]
        if self._session:
            headers.append((_AS_SESSION.encode(), self._session))
        if self._revision:
            headers.append((b"mcp-protocol-version", self._revision))
        with self._exchange.send(method, self._url, headers, body, deadline) as response:
            yield response

    def _require_accepted(self, response: httpcore.Response) -> None:
        if response.status == _GONE and self._session:
            self.is_open = False
            raise McpSessionEnded(f"the MCP server {self._name} ended its session")
        self._exchange.require_success(response.status)

    def _keep_session(self, response: httpcore.Response) -> None:
        found = header_of_mcp_response(response, _AS_SESSION.encode())
        if found and found.isascii() and len(found) <= 1_024:  # noqa: PLR2004 - bytes
            self._session = found

    def _messages(self, response: httpcore.Response, deadline: float) -> Iterator[Message]:
        """Yield the messages of an answer: one of JSON, or those of an event stream."""
        kind = header_of_mcp_response(response, b"content-type").split(b";")[0].strip().lower()
        is_stream = kind == b"text/event-stream"
        pieces = self._exchange.pieces(response, deadline, is_stream=is_stream)
        limit = self._exchange.require_size
        texts = _events(pieces, limit) if is_stream else iter((b"".join(pieces),))
        for text in texts:
            message = parse_mcp_message(text)
            if message is not None:
                yield message


def _events(pieces: Iterable[bytes], require_size: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the data of each event of a stream, of which only one is held.

    A server that tells its progress may send thousands, which are no large answer.
    """
    data, parts, size = list[bytes](), list[bytes](), 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        require_size(size)
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
        size = len(rest) + sum(map(len, data))
    if data:
        yield b"\n".join(data)
