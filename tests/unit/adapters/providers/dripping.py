"""A server that answers each connection byte for byte as a test tells it to."""

import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")

Behave = Callable[[socket.socket, int], None]
"""What is done with a connection, and which one it is."""


@dataclass
class Listening:
    """A running server, and how many connections it has had."""

    url: str
    connections: int = 0
    ended: Event = field(default_factory=Event)


def heard(connection: socket.socket) -> bytes:
    """A request with its whole body, which may come later than its head; b"" if none comes.

    A socket that is closed with a part unread resets the connection.
    """
    request = b""
    while not _is_whole(request):
        received = connection.recv(65_536)
        if not received:
            return b""
        request += received
    return request


def _is_whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


@contextmanager
def listening(behave: Behave) -> Iterator[Listening]:
    """A server on this machine; each connection has a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(32) as threads:
        found = Listening(f"http://127.0.0.1:{server.getsockname()[1]}")
        server.settimeout(0.02)
        threads.submit(_serve, server, threads, behave, found)
        try:
            yield found
        finally:
            found.ended.set()


def _serve(
    server: socket.socket, threads: ThreadPoolExecutor, behave: Behave, found: Listening
) -> None:
    while not found.ended.is_set():
        with suppress(TimeoutError):
            connection, _ = server.accept()
            found.connections += 1
            threads.submit(_behave, connection, behave, found.connections)


def _behave(connection: socket.socket, behave: Behave, number: int) -> None:
    with connection, suppress(OSError):
        connection.settimeout(0.3)
        behave(connection, number)
