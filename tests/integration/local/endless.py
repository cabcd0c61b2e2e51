"""A vendor whose answers never end until somebody hangs up on it; a deaf one does not notice."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.integration.local.vendor import KEY

WORD_SECONDS = 0.03
_PATIENCE_SECONDS = 60.0


@dataclass
class Answer:
    """One answer: what was sent of it, and whether the other side hung up."""

    key: str
    words: list[str] = field(default_factory=list)
    is_over: bool = False


class Endless:
    """All answers of the vendor, by the key of the message; those to `deaf` keys go on unheard."""

    def __init__(self, deaf: frozenset[str] = frozenset()) -> None:
        self.over = threading.Event()
        self._deaf = deaf
        self._answers: list[Answer] = []
        self._changed = threading.Condition()

    def requests(self, key: str) -> int:
        """How often it was asked about this key."""
        return len(self._of(key))

    def text(self, key: str) -> str:
        """What it has said to the first request."""
        return "".join(self._of(key)[0].words)

    def wait(self, key: str, words: int, after: int = 0) -> None:
        """Wait until it has said so many words to the request that came after so many others."""
        assert self._until(lambda: any(len(each.words) >= words for each in self._of(key)[after:]))

    def hung_up(self, key: str, after: int = 0) -> bool:
        """Wait until somebody has hung up on that answer; False if nobody does."""
        return self._until(lambda: any(each.is_over for each in self._of(key)[after:]))

    def stream(self, body: dict[str, Any], send: Callable[[str], None]) -> None:
        """Answer a request, word by word."""
        told = [str(each["content"]) for each in body["messages"] if each["role"] == "user"]
        answer = Answer(KEY.findall("\n".join(told))[-1])
        with self._changed:
            self._answers.append(answer)
        while not self.over.wait(WORD_SECONDS):
            word = f"言葉{len(answer.words)} "
            try:
                send(word)
            except OSError:
                if answer.key not in self._deaf:
                    break
            with self._changed:
                answer.words.append(word)
                self._changed.notify_all()
        with self._changed:
            answer.is_over = True
            self._changed.notify_all()

    def _of(self, key: str) -> list[Answer]:
        return [each for each in self._answers if each.key == key]

    def _until(self, holds: Callable[[], bool]) -> bool:
        with self._changed:
            return self._changed.wait_for(holds, _PATIENCE_SECONDS)


@contextmanager
def endless_vendor_at(vendor: Endless) -> Iterator[str]:
    """The vendor's address while the block lasts."""

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 0

        def do_GET(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            with suppress(OSError):
                vendor.stream(body, self._send)
            self.close_connection = True

        def _send(self, text: str) -> None:
            choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
            part = json.dumps({"id": "chatcmpl-1", "choices": [choice]})
            self.wfile.write(f"data: {part}\n\n".encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name is given
            """Say nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET

        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing: clients hang up on purpose."""

    door = Quiet(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=door.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{door.server_address[1]}/v1"
    finally:
        vendor.over.set()
        door.shutdown()
        door.server_close()
        thread.join()
