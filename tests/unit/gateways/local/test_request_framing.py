"""Ambiguous requests, on real sockets: refused with 400, and nothing after them is read."""

from collections.abc import Iterator

import pytest

from opencrab.gateways.local.header_deadline import HeaderDeadlineProtocol
from tests.unit.gateways.local.test_header_deadline import connected, is_answered, serving

HEAD = b"POST / HTTP/1.1\r\nHost: here\r\n"
LENGTH, CHUNKED = b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"
EMPTY = b"\r\n0\r\n\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(HeaderDeadlineProtocol) as port:
        yield port


def answered(port: int, *sent: bytes) -> bytes:
    """Everything that the server says before it ends the connection."""
    got = b""
    with connected(port) as connection:
        for piece in sent:
            connection.sendall(piece)
        while piece := connection.recv(4_096):
            got += piece
    return got


@pytest.mark.parametrize(
    "headers",
    [
        LENGTH + CHUNKED,
        CHUNKED + LENGTH,
        LENGTH.upper() + CHUNKED.lower(),
        LENGTH + b"X-Between: 1\r\n" + CHUNKED,
        CHUNKED + b"content-length: 0\r\n",
        LENGTH + b"Connection: keep-alive\r\n" + CHUNKED,
        LENGTH + CHUNKED + b"Connection: upgrade\r\nUpgrade: websocket\r\n",
    ],
)
def test_a_request_with_both_framings_is_refused_and_the_connection_ends(
    port: int, headers: bytes
) -> None:
    got = answered(port, HEAD + headers + EMPTY + SMUGGLED)
    assert got.startswith(b"HTTP/1.1 400 ")
    assert got.count(b"HTTP/1.1") == 1, "the request behind it is not answered"
    assert b"connection: close" in got.lower()
    assert b"both Content-Length and Transfer-Encoding" in got


def test_a_header_that_comes_in_pieces_is_refused_too(port: int) -> None:
    got = answered(port, HEAD + LENGTH, CHUNKED[:9], CHUNKED[9:], EMPTY)
    assert got.startswith(b"HTTP/1.1 400 ")


def test_a_second_request_on_a_connection_is_refused_too(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(HEAD + LENGTH + b"\r\nhello")
        assert is_answered(connection)
        connection.sendall(HEAD + LENGTH + CHUNKED + EMPTY)
        assert connection.recv(4_096).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "request_",
    [HEAD + LENGTH + b"\r\nhello", HEAD + CHUNKED + b"\r\n2\r\nhi\r\n0\r\n\r\n"],
)
def test_either_framing_alone_is_read(port: int, request_: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(request_)
        assert is_answered(connection)


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        HEAD + LENGTH + b"Content-Length: 6\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip\r\n\r\n",
    ],
)
def test_what_is_no_request_is_still_refused_in_the_servers_words(port: int, sent: bytes) -> None:
    got = answered(port, sent)
    assert got.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))
    assert b"both Content-Length" not in got
