"""MCP over standard input and output: each message goes to `/mcp` of a running OpenCrab.

Programs that start their MCP servers themselves run this command. It understands no message, and
what it sends is sent again once if the connection broke: the server does nothing twice.
"""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Lock, Semaphore, Thread
from time import monotonic
from typing import Any, TextIO

from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.mcp.protocol import McpErrorCode
from opencrab.gateways.cli.connection.client import Client
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

MESSAGE_BYTES = 1 << 20
"""The largest message; the server accepts none larger."""

SECONDS = 660.0
"""How long one answer may take; the server waits less for an agent."""

_AT_ONCE = 32
_AGAIN_SECONDS = 1.0
_LAST_SECONDS = 5.0
_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"

Exchange = Callable[[bytes, dict[str, str]], Iterator[tuple[str, str]]]
"""Sends a message with headers; returns the answer's messages, each with the session or ""."""


@cli_command
def serve_mcp(terminal: Terminal) -> None:
    """Let an MCP client that starts this command talk to your agents."""
    for stream in (terminal.input, terminal.out):
        if isinstance(stream, io.TextIOWrapper):
            # Whatever the locale is, and bytes that are no UTF-8 reach the server as they are.
            stream.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    with suppress(KeyboardInterrupt):  # as its end, like that of the input
        StdioServer(_exchange_with(terminal.client), terminal.out).serve(terminal.input)


class StdioServer:
    """The messages of one client on their way; requests wait for their answers in threads."""

    def __init__(self, exchange: Exchange, answers: TextIO) -> None:
        self._exchange = exchange
        self._answers = answers
        self._writing = Lock()
        self._headers = dict[str, str]()
        self._places = Semaphore(_AT_ONCE)
        self._notifications: SimpleQueue[bytes | None] = SimpleQueue()
        self._requests = list[Thread]()

    def serve(self, messages: TextIO) -> None:
        """Answer messages, one a line, until there are no more."""
        notifying = _start_thread(self._notify)
        while line := messages.readline(MESSAGE_BYTES + 1):
            if len(line) > MESSAGE_BYTES:
                self._refuse(None, f"a message may have {MESSAGE_BYTES} bytes")
                while line and not line.endswith("\n"):
                    line = messages.readline(MESSAGE_BYTES)
            elif line.strip():
                self._take(line.encode("utf-8", "surrogateescape"))
        # The client wants no more, and what was admitted goes on without it.
        self._notifications.put(None)
        end = monotonic() + _LAST_SECONDS
        for thread in (notifying, *self._requests):
            thread.join(max(end - monotonic(), 0.0))

    def _take(self, line: bytes) -> None:
        method, number = _envelope(line)
        if method == "initialize":
            self._send(line, number)
        elif number is None and method:
            self._notifications.put(line)
        else:
            self._places.acquire()
            self._requests = [each for each in self._requests if each.is_alive()]
            self._requests.append(_start_thread(lambda: self._request(line, number)))

    def _request(self, line: bytes, number: Any) -> None:
        try:
            self._send(line, number)
        finally:
            self._places.release()

    def _notify(self) -> None:
        """Send notifications in their order, beside requests that wait."""
        while (line := self._notifications.get()) is not None:
            self._send(line, None, answered=False)

    def _send(self, line: bytes, number: Any, *, answered: bool = True) -> None:
        try:
            try:
                self._pass_on(line)
            except Unavailable:
                Event().wait(_AGAIN_SECONDS)
                self._pass_on(line)
        except OpenCrabError as error:
            if answered:
                self._refuse(number, ": ".join(filter(None, (error.message, error.cure))))

    def _pass_on(self, line: bytes) -> None:
        for text, session in self._exchange(line, dict(self._headers)):
            if session:
                self._begin(text, session)
            self._write(text)

    def _begin(self, text: str, session: str) -> None:
        """Keep what the server wants to be told with each message from now on."""
        result = json.loads(text).get("result") or {}
        self._headers = {_SESSION: session, _VERSION: str(result.get("protocolVersion", ""))}

    def _refuse(self, number: Any, why: str) -> None:
        error = {"code": McpErrorCode.INTERNAL_ERROR, "message": why}
        said = {"jsonrpc": "2.0", "id": number, "error": error}
        self._write(json.dumps(said, ensure_ascii=False))

    def _write(self, text: str) -> None:
        with self._writing:
            self._answers.write(f"{text}\n")
            self._answers.flush()


def _exchange_with(client: Client) -> Exchange:
    def exchange(content: bytes, headers: dict[str, str]) -> Iterator[tuple[str, str]]:
        sent = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **headers,
        }
        with client.exchange("/mcp", content, headers=sent, seconds=SECONDS) as response:
            session = response.headers.get(_SESSION, "")
            if "event-stream" in response.headers.get("content-type", ""):
                for row in response.iter_lines():
                    if row.startswith("data:"):
                        yield row.removeprefix("data:").strip(), session
            elif text := response.read().decode():
                yield text, session

    return exchange


def _envelope(line: bytes) -> tuple[str, Any]:
    """Return a message's method and id as far as they are known, for an answer of our own."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return "", None
    if not isinstance(message, dict):
        return "", None
    method, number = message.get("method"), message.get("id")
    known = isinstance(number, str | int) and not isinstance(number, bool)
    # Whatever has an id is answered, be it as the server says.
    named = method if isinstance(method, str) and (known or "id" not in message) else ""
    return named, number if known else None


def _start_thread(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread
