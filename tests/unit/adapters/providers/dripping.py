"""A server that answers each connection byte for byte as a test tells it to."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"

Behave = Callable[[socket.socket, int], None]
"""What is done with a connection, and which one it is."""


@dataclass
class Listening:
    """A running server, and how many connections it has had."""

    url: str
    connections: int = 0
    ended: Event = field(default_factory=Event)


def heard(connection: socket.socket) -> bytes:
    """A request with its body, which is no longer than what comes at once."""
    request = b""
    while b"\r\n\r\n" not in request:
        received = connection.recv(65_536)
        if not received:
            return b""
        request += received
    return request


@contextmanager
def listening(behave: Behave) -> Iterator[Listening]:
    """A server on this machine; each connection has a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as threads:
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
