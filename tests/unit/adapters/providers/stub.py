"""A model server that answers what a test tells it to, over real HTTP on this machine."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


@dataclass(frozen=True)
class Received:
    """A request as the server saw it; header names are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    port: int = 0

    @property
    def json(self) -> Any:
        """The body as a value."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Canned:
    """An answer: `length` lies about the body's size, and silence means that none comes.

    One that lingers says nothing more after its body; one that keeps leaves the connection open.
    """

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    silent: bool = False
    lingers: bool = False
    keeps: bool = False


Respond = Callable[[Received], Canned]


@dataclass
class Stub:
    """A running stub server."""

    url: str
    received: list[Received] = field(default_factory=list)
    ended: Event = field(default_factory=Event)


@contextmanager
def serving(respond: Respond) -> Iterator[Stub]:
    """A server that answers each request with what `respond` makes of it."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.respond = respond
    stub = server.stub = Stub(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        stub.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def completion(message: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A chat completion with one choice, as OpenAI-shaped servers answer it."""
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "crab-1",
        "choices": [choice],
        "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
        **more,
    }


def calling(name: str, arguments: Any) -> dict[str, Any]:
    """A message that calls one function."""
    function = {"name": name, "arguments": arguments}
    return {
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


def json_of(value: Any, status: int = 200, **headers: str) -> Canned:
    """A value as a JSON answer."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return Canned(status, body, {"content-type": "application/json", **headers})


class _Server(ThreadingHTTPServer):
    stub: Stub
    respond: Respond

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients of these tests hang up on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(
            self.command, self.path, headers, self.rfile.read(size), self.client_address[1]
        )
        self.server.stub.received.append(received)
        canned = self.server.respond(received)
        self.close_connection = not canned.keeps
        if not canned.silent:
            self._send(canned)
        if canned.silent or canned.lingers:
            self.server.stub.ended.wait(10)

    def _send(self, canned: Canned) -> None:
        self.send_response(canned.status)
        length = len(canned.body) if canned.length is None else canned.length
        kept = {} if canned.keeps else {"connection": "close"}
        for name, value in {**canned.headers, "content-length": str(length), **kept}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(canned.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
