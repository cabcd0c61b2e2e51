"""Half-open connections, on real sockets: dropped in time, and in nobody's way meanwhile."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

import pytest
import uvicorn

from opencrab.gateways.local.header_deadline import HEADER_SECONDS, HeaderDeadlineProtocol
from tests.integration.cli.house import free_port

SECONDS = 0.6
REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class _Impatient(HeaderDeadlineProtocol):
    header_seconds = SECONDS


async def _app(scope: Any, receive: Any, send: Any) -> None:
    """Answer after the whole body, and slowly where the path says so."""
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/slow":
        await asyncio.sleep(2 * SECONDS)
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def serving(protocol: type[asyncio.Protocol]) -> Iterator[int]:
    port = free_port()
    config = uvicorn.Config(
        _app, port=port, log_level="critical", lifespan="off", http=protocol, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            threading.Event().wait(0.01)
        yield port
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(_Impatient) as port:
        yield port


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        yield connection


def _is_dropped(connection: socket.socket, within: float) -> bool:
    """Wait until the server ends the connection; False if it does not in time."""
    connection.settimeout(within)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def is_answered(connection: socket.socket) -> bool:
    """Read one whole answer; False if the connection ends before."""
    got = b""
    while not got.endswith(b"ok"):
        piece = connection.recv(4_096)
        if not piece:
            return False
        got += piece
    return True


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nHost: here\r\nX-Half: "])
def test_a_connection_that_sends_no_whole_header_is_dropped(port: int, sent: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(sent)
        assert _is_dropped(connection, 5)


def test_a_header_that_drips_is_dropped_all_the_same(port: int) -> None:
    began = monotonic()
    with connected(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Drip: ")
        while not _is_dropped(connection, SECONDS / 6):
            assert monotonic() - began < 10 * SECONDS
            with suppress(OSError):
                connection.sendall(b"a")


def test_a_second_header_on_the_same_connection_has_its_time_too(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(REQUEST)
        assert is_answered(connection)
        connection.sendall(REQUEST[:10])
        assert _is_dropped(connection, 4)


def test_a_slow_answer_and_a_slow_body_are_not_dropped(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(REQUEST.replace(b"/ ", b"/slow ", 1))
        assert is_answered(connection)
        connection.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\na")
        threading.Event().wait(2 * SECONDS)
        connection.sendall(b"b")
        assert is_answered(connection)


def test_200_half_open_connections_block_nobody_and_all_end(port: int) -> None:
    half = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(200)]
    try:
        for place, connection in enumerate(half):
            connection.sendall(REQUEST[: place % 20])
        with connected(port) as connection:
            connection.sendall(REQUEST)
            assert is_answered(connection)
        assert all(_is_dropped(connection, 5) for connection in half)
    finally:
        for connection in half:
            connection.close()


def test_the_usual_time_is_some_seconds() -> None:
    assert HeaderDeadlineProtocol.header_seconds == HEADER_SECONDS == 10
