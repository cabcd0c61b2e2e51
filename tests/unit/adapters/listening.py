"""Listening: a real HTTP server on this machine that answers as the test says, and remembers."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from opencrab.adapters.door.http import PlainHttp


@dataclass(frozen=True)
class Heard:
    """One request."""

    line: str
    headers: Mapping[str, str]
    body: bytes


Reply = Callable[[Heard], bytes | None]
"""Answers with bytes as they are; None hangs up, and b"" says nothing at all."""


@dataclass
class Listening:
    """What is heard on a port, and how often somebody connected."""

    reply: Reply
    port: int = 0
    heard: list[Heard] = field(default_factory=list)
    connections: int = 0
    open: set[socket.socket] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, path: str = "") -> PlainHttp:
        """A client of it."""
        return PlainHttp(self.url + path)

    def end(self) -> None:
        """End every connection."""
        for each in tuple(self.open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def serve(self, server: socket.socket) -> None:
        """Answer whoever connects, until the server is closed."""
        answering: list[threading.Thread] = []
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                break
            self.connections += 1
            self.open.add(connection)
            answering.append(threading.Thread(target=self._talk, args=(connection,), daemon=True))
            answering[-1].start()
        for each in answering:
            each.join(timeout=60)

    def _talk(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as file:
            while (request := _read(file)) is not None:
                self.heard.append(request)
                said = self.reply(request)
                if said is None:
                    break
                connection.sendall(said)
        self.open.discard(connection)


def answer(status: int, content: bytes = b"", *more: str) -> bytes:
    """An answer with its length."""
    headers = "".join(f"{each}\r\n" for each in (f"Content-Length: {len(content)}", *more))
    return f"HTTP/1.1 {status} Fine\r\n{headers}\r\n".encode() + content


@contextmanager
def listening(reply: Reply) -> Iterator[Listening]:
    """A server for the time of the block."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = Listening(reply, int(server.getsockname()[1]))
        thread = threading.Thread(target=made.serve, args=(server,), daemon=True)
        thread.start()
        try:
            yield made
        finally:
            made.end()
            server.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=60)


def _read(file: object) -> Heard | None:
    read_line: Callable[[], bytes] = file.readline  # type: ignore[attr-defined]
    read: Callable[[int], bytes] = file.read  # type: ignore[attr-defined]
    try:
        line = read_line().decode("latin-1").rstrip("\r\n")
        if not line:
            return None
        headers: dict[str, str] = {}
        while told := read_line().decode("latin-1").rstrip("\r\n"):
            name, _, text = told.partition(":")
            headers[name.lower()] = text.strip()
        return Heard(line, headers, read(int(headers.get("content-length", 0))))
    except OSError:
        return None
