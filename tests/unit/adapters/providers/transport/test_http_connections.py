"""Connections: no header drips past the deadline, and what nobody heard is said once more."""

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import certifi
import httpcore
import pytest

from opencrab.adapters.providers.transport.http_connections import (
    HttpConnections,
    NeverHeard,
    TimedBackend,
    TimedStream,
    tls_context,
)
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.domain.models.fault import Fault, ModelCallFailed
from tests.unit.adapters.providers.dripping import ANSWER, Listening, heard, listening


@pytest.fixture
def transport() -> Iterator[HttpTransport]:
    with HttpConnections() as client:
        yield HttpTransport(client)


def _asked(transport: HttpTransport, server: Listening, seconds: float = 5.0) -> bytes:
    return transport.send(server.url, headers={}, body=b"{}", timeout_seconds=seconds).body


@pytest.mark.parametrize("drop", [b"x-sea: deep\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"H"])
def test_headers_that_drip_are_given_up_in_time(transport: HttpTransport, drop: bytes) -> None:
    dripped: list[bytes] = []

    def drip(connection: socket.socket, number: int) -> None:
        heard(connection)
        if drop.startswith(b"x"):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
        for _ in range(60):
            connection.sendall(drop)
            dripped.append(drop)
            Event().wait(0.05)

    with listening(drip) as server, pytest.raises(ModelCallFailed) as caught:
        _asked(transport, server, 0.3)
    assert caught.value.fault is Fault.TIMEOUT
    assert caught.value.may_be_billed
    assert len(dripped) < 60


def _hangs_up_when_asked_again(connection: socket.socket, number: int) -> None:
    assert heard(connection)
    connection.sendall(ANSWER)
    if number == 1:
        heard(connection)


def test_what_a_kept_connection_does_not_hear_is_said_again(transport: HttpTransport) -> None:
    with listening(_hangs_up_when_asked_again) as server:
        assert _asked(transport, server) == b"{}"
        assert _asked(transport, server) == b"{}"
    assert server.connections == 2


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 2"])
def test_a_new_connection_that_ends_may_have_been_billed(
    transport: HttpTransport, begun: bytes
) -> None:
    def hang_up(connection: socket.socket, number: int) -> None:
        heard(connection)
        connection.sendall(begun)

    with listening(hang_up) as server, pytest.raises(ModelCallFailed) as caught:
        _asked(transport, server)
    assert (caught.value.fault, caught.value.may_be_billed) == (Fault.BROKEN_OFF, True)
    assert server.connections == 1


def test_a_kept_connection_that_ends_after_its_first_byte_may_have_been_billed(
    transport: HttpTransport,
) -> None:
    def break_off(connection: socket.socket, number: int) -> None:
        heard(connection)
        connection.sendall(ANSWER)
        heard(connection)
        connection.sendall(b"H")

    with listening(break_off) as server:
        _asked(transport, server)
        with pytest.raises(ModelCallFailed) as caught:
            _asked(transport, server)
    assert (caught.value.fault, caught.value.may_be_billed) == (Fault.BROKEN_OFF, True)
    assert server.connections == 1


class Deaf(httpcore.NetworkStream):
    """Answers once, then resets the connection."""

    def __init__(self) -> None:
        self.answers = [b"HTTP/1.1 200 OK"]
        self.written = b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self.answers:
            return self.answers.pop()
        raise httpcore.ReadError

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.written += buffer


def test_a_reset_is_judged_like_an_end() -> None:
    stream, soon = TimedStream(Deaf()), monotonic() + 5
    stream.write(b"GET", soon)
    stream.read(10, soon)
    stream.write(b"GET", soon)
    with pytest.raises(NeverHeard):
        stream.read(10, soon)
    fresh = Deaf()
    fresh.answers.clear()
    with pytest.raises(httpcore.ReadError):
        TimedStream(fresh).read(10, monotonic() + 5)


def test_what_is_said_again_is_said_on_a_new_connection(transport: HttpTransport) -> None:
    def behave(connection: socket.socket, number: int) -> None:
        assert heard(connection)
        connection.sendall(ANSWER)
        heard(connection)

    asking: dict[str, Any] = {"headers": {}, "body": b"{}", "timeout_seconds": 5}
    with listening(behave) as server:
        with (
            transport.open(server.url, **asking) as one,
            transport.open(server.url, **asking) as two,
        ):
            assert list(one.chunks) == list(two.chunks) == [b"{}"]
        assert _asked(transport, server) == b"{}"
    assert server.connections == 3


def test_a_server_that_had_time_to_work_may_have_billed() -> None:
    times = iter([0.0, 0.1, 0.2, 3.0])
    stream, soon = TimedStream(Deaf(), clock=lambda: next(times, 3.0)), 5.0
    stream.write(b"", soon)
    stream.read(10, soon)
    stream.write(b"", soon)
    with pytest.raises(httpcore.ReadError):
        stream.read(10, soon)


def test_a_large_request_is_written_whole() -> None:
    deaf, body = Deaf(), bytes(range(256)) * 1_000
    TimedStream(deaf).write(body, monotonic() + 5)
    assert deaf.written == body


@pytest.mark.parametrize("deadline", [None, 0.0])
def test_nothing_is_begun_when_the_time_is_over(deadline: float | None) -> None:
    stream = TimedStream(Deaf())
    with pytest.raises(httpcore.ReadTimeout):
        stream.read(1, deadline)
    with pytest.raises(httpcore.WriteTimeout):
        stream.write(b"x", deadline)
    with pytest.raises(httpcore.ConnectTimeout):
        TimedBackend().connect_tcp("127.0.0.1", 9, deadline)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_the_certificates_of_the_environment_replace_the_usual_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    usual = tls_context.__wrapped__()
    assert len(usual.get_ca_certs()) > 50
    own = tmp_path / "own.pem"
    first, end, _ = Path(certifi.where()).read_text("utf-8").partition("-----END CERTIFICATE-----")
    own.write_text(f"{first}{end}\n", "utf-8")
    monkeypatch.setenv(variable, str(own if variable == "SSL_CERT_FILE" else tmp_path))
    # Those of a folder are read when a server shows one.
    known = len(tls_context.__wrapped__().get_ca_certs())
    assert known == (1 if variable == "SSL_CERT_FILE" else 0)


def test_certificates_that_cannot_be_read_are_named_and_no_others_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: HttpTransport
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    tls_context.cache_clear()
    with pytest.raises(ModelCallFailed, match="certificates in SSL_CERT_FILE") as caught:
        transport.send("https://127.0.0.1:9/", headers={}, timeout_seconds=5)
    assert caught.value.fault is Fault.UNREACHABLE
    assert caught.value.cure == "correct or unset SSL_CERT_FILE"


def test_certificates_are_read_for_https_only() -> None:
    with HttpConnections() as connections:
        patient = {"timeout": dict.fromkeys(("connect", "read", "write"), monotonic() + 60)}
        tls_context.cache_clear()
        request = httpcore.Request("GET", "http://127.0.0.1:9/", extensions=patient)
        with pytest.raises(httpcore.ConnectError):
            connections.handle_request(request)
        assert tls_context.cache_info().currsize == 0
        request = httpcore.Request("GET", "https://127.0.0.1:9/", extensions=patient)
        with pytest.raises(httpcore.ConnectError):
            connections.handle_request(request)
        assert tls_context.cache_info().currsize == 1
