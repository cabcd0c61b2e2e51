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

from opencrab.adapters.mcp.exchange import (
    FORBIDDEN,
    UNSIGNED,
    McpHttpExchange,
    header_of_mcp_response,
    headers_of_mcp_response,
)
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
from opencrab.domain.mcp.sign_in import McpChallenge, parse_mcp_challenge
from opencrab.ports.mcp import McpSessionEnded, McpTokens

_END_SECONDS = 2.0
_STOPPED = "its turn was stopped"
_GONE = 404
_MORE_SCOPE = "insufficient_scope"
_AS_SESSION = "mcp-session-id"
_TAKES = "application/json, text/event-stream"


class HttpConnection:
    """A session with a server.

    Args:
        server: The server; its headers are sent with each request.
        backend: Connects to its host; its timeouts are deadlines.
        new_tls: Creates the TLS context that verifies it.
        tokens: Opens those of the owner's sign-ins, once the server refuses a request.
        challenged: Names of servers that have refused one, of which this may become one.
    """

    def __init__(
        self,
        server: McpServer,
        backend: httpcore.NetworkBackend,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
        *,
        tokens: Callable[[], McpTokens] | None = None,
        challenged: set[str] | None = None,
    ) -> None:
        self.tools_changed = False
        self.is_open = True
        self._server = server
        self._tokens = tokens if server.may_sign_in else None
        self._challenged = set() if challenged is None else challenged
        self._name = server.name
        self._url = server.url
        self._exchange = McpHttpExchange(server, backend, new_tls)
        self._lock = Lock()
        self._number = 0
        self._last_token = ""
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
            answer = self._answer(number, response, deadline, running)
        if answer is not None:
            result = result_of_mcp_answer(answer, self._name, method)
            if method == "initialize":
                self._revision = str(result.get("protocolVersion", "")).encode()[:40]
            return result
        raise self._exchange.failure(f"it did not answer {method}", sent=True)

    def _answer(
        self,
        number: int,
        response: httpcore.Response,
        deadline: float,
        running: RunningCall | None,
    ) -> Message | None:
        """Return the answer to a request, after what the server says before it."""
        found = None
        try:
            for message in self._messages(response, deadline):
                if message.get("id") == number and "method" not in message:
                    found = message
                    return found
                if running is not None and is_progress_of_mcp_call(message, number):
                    running.note_progress(message["params"])
                self._take(message, deadline)
        finally:
            # What was not read may have said that the tools changed.
            self.tools_changed |= found is None
        return None

    def notify(self, method: str, deadline: float) -> None:
        """Send a notification."""
        with self._posted(mcp_message(method, {}), deadline):
            pass

    def close(self) -> None:
        """End the session, where the server has one."""
        self.is_open = False
        if self._session:
            # An end is not worth a renewal.
            deadline = monotonic() + _END_SECONDS
            with (
                suppress(Unavailable, Refused),
                self._sent("DELETE", b"", deadline, self._last_token),
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
            # A server that takes no answer from us may still give us its own.
            with suppress(Unavailable, Refused), self._posted(answer, deadline):
                pass
        elif message.get("method") == "notifications/tools/list_changed":
            self.tools_changed = True

    @contextmanager
    def _posted(self, body: bytes, deadline: float) -> Iterator[httpcore.Response]:
        """Post a message; one that is refused for its token is posted again with another."""
        token = self._token(deadline)
        for renewals in (2, 1, 0):
            with self._sent("POST", body, deadline, token) as response:
                challenge = self._challenge(response)
                if challenge is None or self._tokens is None:
                    self._last_token = token
                    self._require_accepted(response)
                    yield response
                    return
            if not renewals or challenge.error == _MORE_SCOPE:
                raise self._tokens().sign_in_needed(self._server, token, challenge)
            before, token = (
                token,
                self._tokens().token_after_refusal(self._server, token, challenge, deadline),
            )
            self._challenged.add(self._name)
            if self._session and not before:
                # The session is nobody's, and would not be that of whoever the token is for.
                raise self._session_ended()

    def _token(self, deadline: float) -> str:
        if self._tokens is None or self._name not in self._challenged:
            return ""
        return self._tokens().token(self._server, deadline)

    def _challenge(self, response: httpcore.Response) -> McpChallenge | None:
        """Return what the server asks its owner for; None if it does not."""
        if response.status not in {UNSIGNED, FORBIDDEN}:
            return None
        said = headers_of_mcp_response(response, b"www-authenticate")
        challenge = parse_mcp_challenge(said)
        is_asked = response.status == UNSIGNED or challenge.error == _MORE_SCOPE
        return challenge if is_asked else None

    @contextmanager
    def _sent(
        self, method: str, body: bytes, deadline: float, token: str
    ) -> Iterator[httpcore.Response]:
        headers = [(b"content-type", b"application/json"), (b"accept", _TAKES.encode())]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        if self._session:
            headers.append((_AS_SESSION.encode(), self._session))
        if self._revision:
            headers.append((b"mcp-protocol-version", self._revision))
        with self._exchange.send(method, self._url, headers, body, deadline) as response:
            yield response

    def _require_accepted(self, response: httpcore.Response) -> None:
        if response.status == _GONE and self._session:
            raise self._session_ended()
        self._exchange.require_success(response.status)

    def _session_ended(self) -> McpSessionEnded:
        self.is_open = False
        return McpSessionEnded(f"the MCP server {self._name} ended its session")

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
