"""A stopped exchange: the connection is closed at once, whether anything arrives or not."""

import socket
from collections.abc import Iterator
from threading import Event
from time import monotonic

import pytest

from opencrab.adapters.providers.transport.exchange import ExchangeStopped, IsStopped
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.domain.models.fault import Fault, ModelCallFailed
from tests.contract.waiting import eventually
from tests.unit.adapters.providers.dripping import heard, listening

BEGUN = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
LONG = 30.0


@pytest.fixture
def transport() -> Iterator[HttpTransport]:
    with HttpConnections() as client:
        yield HttpTransport(client)


class Line:
    """A server's side of a connection: it says something, then waits until it is hung up on."""

    def __init__(self, *said: bytes) -> None:
        self._said = said
        self.quiet, self.hung_up = Event(), Event()

    def __call__(self, connection: socket.socket, number: int) -> None:
        heard(connection)
        for piece in self._said:
            connection.sendall(piece)
        self.quiet.set()
        connection.settimeout(LONG)
        try:
            has_gone = connection.recv(1) == b""
        except ConnectionResetError:
            # Who hangs up with something unread resets the connection.
            has_gone = True
        if has_gone:
            self.hung_up.set()


@pytest.mark.parametrize("said", [(), (BEGUN,), (BEGUN, b"3\r\nabc\r\n")], ids=len)
def test_a_silent_server_is_hung_up_on(transport: HttpTransport, said: tuple[bytes, ...]) -> None:
    line = Line(*said)
    with listening(line) as server:
        began = monotonic()
        with pytest.raises(ExchangeStopped):
            _read(transport, server.url, line.quiet.is_set, LONG)
        assert line.hung_up.wait(LONG)
    assert monotonic() - began < LONG / 2


def _read(transport: HttpTransport, url: str, is_stopped: IsStopped, seconds: float) -> bytes:
    with transport.open(
        url, headers={}, body=b"{}", timeout_seconds=seconds, is_stopped=is_stopped
    ) as opened:
        return b"".join(opened.chunks)


def test_the_deadline_holds_for_who_is_not_stopped(transport: HttpTransport) -> None:
    with listening(Line(BEGUN)) as server, pytest.raises(ModelCallFailed) as caught:
        _read(transport, server.url, lambda: False, 0.3)
    assert caught.value.fault is Fault.TIMEOUT


def test_a_stopped_connection_is_not_used_again(transport: HttpTransport) -> None:
    seen: list[int] = []

    def answer(connection: socket.socket, number: int) -> None:
        seen.append(number)
        Line(BEGUN)(connection, number)

    with listening(answer) as server:
        for _ in range(2):
            with pytest.raises(ExchangeStopped):
                _read(transport, server.url, lambda: True, LONG)
        eventually(lambda: sorted(seen), [1, 2])


def test_a_server_that_never_pauses_is_hung_up_on(transport: HttpTransport) -> None:
    said, hung_up = Event(), Event()

    def talk(connection: socket.socket, number: int) -> None:
        heard(connection)
        connection.sendall(BEGUN)
        try:
            while True:
                # Comments of a stream: they are no words, and come faster than anybody looks.
                connection.sendall(b"2\r\n:\n\r\n")
                said.set()
        except OSError:
            hung_up.set()

    with listening(talk) as server:
        with pytest.raises(ExchangeStopped):
            _read(transport, server.url, said.is_set, LONG)
        assert hung_up.wait(LONG)
