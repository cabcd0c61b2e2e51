"""What stands between OpenCrab and a llama.cpp server: it passes every byte on and remembers it."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

CHAT = "/v1/chat/completions"
_DATA, _DONE = "data: ", "[DONE]"


@dataclass(frozen=True)
class Exchange:
    """A request for an answer, and all that came back."""

    body: bytes
    status: int
    reply: bytes

    @cached_property
    def request(self) -> dict[str, Any]:
        """The request's body."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    @cached_property
    def chunks(self) -> list[dict[str, Any]]:
        """The chunks of a streamed answer, or the answer that came in one piece."""
        text = self.reply.decode()
        if not self.request.get("stream"):
            return [json.loads(text)]
        events = [line.removeprefix(_DATA) for line in text.splitlines() if line]
        assert events[-1] == _DONE, text[-2_000:]
        return [json.loads(event) for event in events[:-1]]

    @property
    def is_whole(self) -> bool:
        """Whether it came to its end: who is stopped hangs up."""
        return not self.request.get("stream") or self.reply.decode().strip().endswith(_DONE)

    @property
    def usage(self) -> dict[str, Any]:
        """The tokens that the server counted."""
        usage: dict[str, Any] = self.chunks[-1]["usage"]
        return usage

    @property
    def cached_tokens(self) -> int:
        """The tokens of the prompt that the server had from the call before."""
        return int(self.usage["prompt_tokens_details"]["cached_tokens"])

    @property
    def finish(self) -> str:
        """Why the answer ended."""
        ends = [choice.get("finish_reason") for choice in self._choices]
        return next(str(end) for end in ends if end)

    @property
    def text(self) -> str:
        """The answer's text."""
        said = (choice.get("delta") or choice.get("message") or {} for choice in self._choices)
        return "".join(each.get("content") or "" for each in said)

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Name and arguments of each tool call, as they are written."""
        calls = list[tuple[str, str]]()
        for choice in self._choices:
            said = choice.get("delta") or choice.get("message") or {}
            for entry in said.get("tool_calls") or ():
                called = entry["function"]
                if called.get("name"):
                    calls.append((called["name"], ""))
                name, arguments = calls[-1]
                calls[-1] = (name, arguments + called.get("arguments", ""))
        return calls

    @property
    def _choices(self) -> Iterator[dict[str, Any]]:
        for chunk in self.chunks:
            yield from chunk["choices"][:1]


@dataclass
class Relay:
    """An address that answers as the server behind it; `exchanges` are the calls of its model."""

    url: str
    exchanges: list[Exchange] = field(default_factory=list)


@contextmanager
def relay_to(url: str) -> Iterator[Relay]:
    """Listen, and pass on what comes until nobody needs it."""
    relay = Relay("")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Passing, relay, url))
    server.daemon_threads = True
    relay.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield relay
    finally:
        server.shutdown()
        server.server_close()


class _Passing(BaseHTTPRequestHandler):
    """One connection, which ends after its first answer."""

    def __init__(self, relay: Relay, url: str, *given: Any) -> None:
        self._relay, self._address = relay, urlsplit(url).netloc
        super().__init__(*given)

    def do_GET(self) -> None:
        self._pass()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        status, reply = self._pass(body)
        if self.path == CHAT:
            self._relay.exchanges.append(Exchange(body, status, reply))

    def _pass(self, body: bytes | None = None) -> tuple[int, bytes]:
        behind = http.client.HTTPConnection(self._address, timeout=120)
        kind = {"content-type": "application/json"}
        behind.request(self.command, self.path, body, kind)
        reply, passed = behind.getresponse(), b""
        self.send_response(reply.status)
        self.send_header("content-type", reply.getheader("content-type") or "text/plain")
        self.end_headers()
        # Who asked may have stopped listening.
        with suppress(OSError):
            while piece := reply.read1(65_536):
                passed += piece
                self.wfile.write(piece)
        behind.close()
        return reply.status, passed

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name is given
        """Say nothing."""
