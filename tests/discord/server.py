"""Server: Discord's API over real HTTP on this machine, with its limits and its faults."""

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from traceback import format_exc

from opencrab.adapters.system_clock import FakeClock
from tests.discord import spec
from tests.discord.commands import Commands
from tests.discord.faults import Delay, Drop, Fault, Faults, Limited, Status
from tests.discord.limits import Limits
from tests.discord.refusals import Refusal
from tests.discord.request import BASE, Answer, Logged, Request, check_sender, parse
from tests.discord.routes import Call, find
from tests.discord.world import World

_PAGE = (
    b"<html><title>Access denied | discord.com used Cloudflare to restrict access</title></html>"
)


class Api:
    """What answers requests, one at a time."""

    def __init__(self, world: World, commands: Commands, clock: FakeClock) -> None:
        self.world = world
        self.commands = commands
        self.clock = clock
        self.limits = Limits(clock)
        self.faults = Faults()
        self.log: list[Logged] = []
        self.complaints: list[str] = []
        self.on_answer: Callable[[str], None] = lambda _line: None

    def answer(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> Answer | None:
        """Answer a request, or None when the connection drops.

        `on_answer` is called with `METHOD /path` once it has happened, before anybody knows.
        """
        answer = self._answer(method, target, headers, body)
        self.on_answer(f"{method} {target.partition('?')[0].removeprefix(BASE)}")
        return answer

    def _answer(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> Answer | None:
        with self.world.lock:
            plain = Request(method, target.partition("?")[0].removeprefix(BASE), {}, headers, body)
            logged = Logged(plain)
            self.log.append(logged)
            fault = self.faults.take(plain.line)
            answer = self._faulty(target, logged, fault)
            if answer is not None:
                logged.status, logged.answer = answer.status, answer.json
            return answer

    def _faulty(self, target: str, logged: Logged, fault: Fault | None) -> Answer | None:
        match fault:
            case Drop("before"):
                return None
            case Status(status, "before"):
                return Answer(status, {"message": f"{status}", "code": 0})
            case Limited():
                return _limited(fault)
            case Delay(seconds, "before"):
                self.clock.advance(seconds)
        answer = self._handled(target, logged)
        match fault:
            case Drop("after"):
                return None
            case Status(status, "after"):
                return Answer(status, {"message": f"{status}", "code": 0})
            case Delay(seconds, "after"):
                self.clock.advance(seconds)
        return answer

    def _handled(self, target: str, logged: Logged) -> Answer:
        plain = logged.request
        headers: dict[str, str] = {}
        try:
            request = parse(plain.method, target, plain.headers, plain.body)
            logged.request = request
            check_sender(request, self.world.bots)
            return self._routed(request, headers)
        except Refusal as refusal:
            if refusal.complaint is not None:
                logged.complaint = f"{plain.line}: {refusal.complaint}"
                self.complaints.append(logged.complaint)
            return Answer(refusal.status, refusal.body, headers)
        except Exception:  # noqa: BLE001
            self.complaints.append(f"the fake itself at {plain.line}: {format_exc()}")
            return Answer(500, {"message": "500: Internal Server Error", "code": 0})

    def _routed(self, request: Request, headers: dict[str, str]) -> Answer:
        route, parameters = find(request)
        if not request.path.startswith("/interactions/"):
            kind = f"{route.method} {route.template}"
            major = parameters.get(route.major, "")
            verdict = self.limits.take(kind, major, as_bot=not request.is_by_token)
            headers.update(verdict.headers)
            if verdict.retry_after is not None:
                return _refused(verdict.retry_after, headers, everywhere=verdict.everywhere)
        if request.method in {"POST", "PUT", "PATCH"}:
            spec.judge(route.template, route.method, request.json)
        answer = route.operation(Call(self.world, self.commands, request, parameters))
        answer.headers.update(headers)
        wrong = spec.answers_as(route.template, route.method, answer.status, answer.json)
        if wrong is not None:
            self.complaints.append(f"the fake itself at {request.line}: {wrong}")
        return answer


def _limited(fault: Limited) -> Answer:
    if not fault.via:
        return Answer(429, None, {"Retry-After": str(round(fault.retry_after)), "Via": ""})
    return _refused(fault.retry_after, {}, everywhere=fault.everywhere)


def _refused(retry_after: float, headers: dict[str, str], *, everywhere: bool) -> Answer:
    told = {
        "message": "You are being rate limited.",
        "retry_after": round(retry_after, 3),
        "global": everywhere,
        "code": 0,
    }
    scope = {"X-RateLimit-Scope": "global"} if everywhere else {}
    return Answer(429, told, {**headers, **scope, "Retry-After": str(int(retry_after) + 1)})


class Server(ThreadingHTTPServer):
    """The HTTP server; closing it hangs up on everybody."""

    daemon_threads = True

    def __init__(self, api: Api) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api
        self.connections: set[socket.socket] = set()
        self._thread = Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        """The address of the API."""
        return f"http://127.0.0.1:{self.server_port}{BASE}"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Hang up and end."""
        self.shutdown()
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
        self._thread.join()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients hang up on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def _answer(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(size)
        # Whoever is killed while it sends has asked for nothing.
        is_whole = len(body) == size
        answer = (
            self.server.api.answer(self.command, self.path, headers, body) if is_whole else None
        )
        if answer is None:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        is_page = answer.headers.get("Via") == ""
        body = _PAGE if is_page else answer.body
        media_type = "text/html" if is_page else "application/json"
        told = {"Via": "1.1 google", "Content-Type": media_type, **answer.headers}
        if "/interactions/" in self.path:
            # The door keeps its connection for the life of its process, and never closes it.
            told["Connection"] = "close"
        self.send_response(answer.status)
        for name, value in told.items():
            if value:
                self.send_header(name, value)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


def told(answer: Answer) -> str:
    """An answer in words, for the messages of failed tests."""
    return f"{answer.status} {json.dumps(answer.json, ensure_ascii=False)[:300]}"
