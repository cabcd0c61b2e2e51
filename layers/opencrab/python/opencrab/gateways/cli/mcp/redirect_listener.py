"""A listener on this computer for the one address to which a browser is sent after a sign-in.

It takes one answer, with the state that was given out, and shows nothing of what it was sent.
"""

import hmac
import html
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import cast
from urllib.parse import parse_qs

from opencrab.domain.errors import Unavailable

_HOST = "127.0.0.1"
_PATH = "/callback"
_SOCKET_SECONDS = 5.0
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class McpRedirectListener:
    """Listens at `http://127.0.0.1:PORT/callback`; port 0 is any free one.

    `done` and `odd` are the sentences that the browser shows. Raises Unavailable for a port that
    is taken.
    """

    def __init__(self, port: int, *, done: str, odd: str) -> None:
        self._pages = {True: _page(done), False: _page(odd)}
        self._state: bytes | None = None
        self._answer = ""
        self._lock = Lock()
        self._came = Event()
        try:
            self._server = _Server((_HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            raise Unavailable(
                f"port {port} of this computer cannot be used", cure="give another --port, or none"
            ) from error
        self._server.listener = self
        Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    @property
    def uri(self) -> str:
        """The address to which the browser is sent."""
        return f"http://{_HOST}:{self._server.server_port}{_PATH}"

    def expect_answer(self, state: str) -> None:
        """Take an answer with this state from now on; before a browser is sent to get one."""
        with self._lock:
            self._state = state.encode()

    def wait_for_answer(self, seconds: float) -> str | None:
        """Return the address to which the browser was sent; None if none came."""
        return self._answer if self._came.wait(seconds) else None

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def take(self, host: str, target: str) -> tuple[HTTPStatus, bytes]:
        """Return the page for a request; only one request is the answer."""
        path, _, query = target.partition("?")
        found = parse_qs(query, errors="replace", max_num_fields=20) if len(query) < 8_192 else {}  # noqa: PLR2004 - bytes
        state = found.get("state", [])
        with self._lock:
            # Another name for this computer would be a page's way to ask here.
            is_ours = host == f"{_HOST}:{self._server.server_port}" and path == _PATH
            fits = self._state is not None and len(state) == 1 and is_ours
            if not fits or not hmac.compare_digest(state[0].encode(), self._state or b""):
                return HTTPStatus.NOT_FOUND, self._pages[False]
            self._answer = self._answer or f"{self.uri}?{query}"
            return HTTPStatus.OK, self._pages[True]

    def end_wait(self) -> None:
        """Let who waits go on, once the browser has its page."""
        if self._answer:
            self._came.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    listener: McpRedirectListener

    def handle_error(self, *_: object) -> None:
        """Tell nobody: a browser that hangs up is none of the owner's concerns."""


class _Handler(BaseHTTPRequestHandler):
    timeout = _SOCKET_SECONDS
    error_message_format = ""

    def do_GET(self) -> None:
        listener = cast("_Server", self.server).listener
        try:
            status, page = listener.take(self.headers.get("Host", ""), self.path)
        except ValueError:  # more fields than any answer has
            status, page = listener.take("", "")
        try:
            self._show(status, page)
        finally:
            listener.end_wait()

    def _show(self, status: HTTPStatus, page: bytes) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def version_string(self) -> str:
        return "opencrab"

    def log_message(self, *_: object) -> None:
        """Write no log: addresses have codes in them."""


def _page(sentence: str) -> bytes:
    title = html.escape(sentence)
    return f"<!doctype html><meta charset=utf-8><title>OpenCrab</title><p>{title}</p>".encode()
