"""A stand-in for a vendor that streams, for measuring: OpenAI-shaped, in a process of its own.

The model's name says how it behaves. Each word is the moment of the machine's monotonic clock at
which it was sent, in microseconds, and a line on the standard output the moment at which the other
side hung up: whoever reads both on the same machine knows how long each took.
"""

import json
import select
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS, STEP_SECONDS, FIRST_SECONDS = 20, 0.05, 0.3
SILENT_SECONDS = 60.0
BEHAVIOURS = ("steady", "mute", "headers", "pausing", "comments")


def now_us() -> int:
    """The machine's monotonic clock, which all its processes share."""
    return time.monotonic_ns() // 1_000


class Stub(BaseHTTPRequestHandler):
    """Streams a chat completion as its model's name says."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        body = json.dumps({"data": [{"id": name} for name in BEHAVIOURS]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        model = json.loads(self.rfile.read(int(self.headers["content-length"])))["model"]
        self.close_connection = True
        if self._hung_up(SILENT_SECONDS if model == "mute" else FIRST_SECONDS):
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        if model == "comments":
            for _ in range(int(SILENT_SECONDS / 0.01)):
                self.wfile.write(b": processing\n\n")
                if self._hung_up(0.01):
                    return
        for number in range({"headers": 0, "pausing": 3}.get(model, WORDS)):
            if number and self._hung_up(STEP_SECONDS):
                return
            self._say({"delta": {"content": f"at{now_us()}us "}})
        if model in {"headers", "pausing"} and self._hung_up(SILENT_SECONDS):
            return
        self._say({"delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def _say(self, choice: dict[str, object]) -> None:
        frame = json.dumps({"model": "stub", "choices": [{"index": 0, **choice}]})
        self.wfile.write(f"data: {frame}\n\n".encode())

    def _hung_up(self, seconds: float) -> bool:
        """Wait, unless the other side closes; it sends nothing after its request."""
        readable, _, _ = select.select([self.connection], [], [], seconds)
        if not readable:
            return False
        try:
            closed = not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            closed = True
        if closed:
            sys.stdout.write(f"{now_us()}\n")
            sys.stdout.flush()
        return closed

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        """Say nothing."""


def main() -> None:
    """Serve on a free loopback port, which is the first line on the standard output."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
