"""Plain HTTP: answers as servers really send them, and an end to every wait."""

import ssl
from itertools import count

import pytest

from opencrab.adapters.door.http import MOST_BYTES, HttpResponse, PlainHttp, door_tls_context
from opencrab.domain.errors import Unavailable
from tests.unit.adapters.listening import Heard, answer, listening


def posted(said: bytes | None, *, seconds: float = 5) -> HttpResponse:
    """What a request is answered with by a server that says this."""
    with listening(lambda _: said) as server:
        return server.client().post("/p", b"body", {}, seconds=seconds)


def test_a_request_arrives_whole() -> None:
    with listening(lambda _: answer(200, b"{}")) as server:
        http = server.client("/api/v10/")
        sent = {"Content-Type": "application/json"}
        assert http.post("/x/y", "蟹".encode(), sent, seconds=5) == HttpResponse(200, b"{}")
    (heard,) = server.heard
    assert heard.line == "POST /api/v10/x/y HTTP/1.1"
    assert heard.body == "蟹".encode()
    assert heard.headers == {
        "host": f"127.0.0.1:{server.port}",
        "content-length": "3",
        "content-type": "application/json",
    }


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", HttpResponse(204, b"")),
        (b"HTTP/1.1 204\r\nX: y\r\n\r\n", HttpResponse(204, b"")),
        (answer(500, b"oh"), HttpResponse(500, b"oh")),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: u\r\n\r\n",
            HttpResponse(200, b"abc0123456789"),
        ),
        (
            b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + answer(200, b"late"),
            HttpResponse(200, b"late"),
        ),
        (b"HTTP/1.0 200 OK\nContent-Length: 2\n\nok", HttpResponse(200, b"ok")),
    ],
)
def test_answers_are_read_as_they_are_meant(said: bytes, answered: HttpResponse) -> None:
    assert posted(said) == answered


@pytest.mark.parametrize(
    "said",
    [
        None,
        b"HTTP/1.1",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 fine\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (MOST_BYTES + 1),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 3 + b"".join(b"H%d: x\r\n" % n for n in range(200)),
        b"HTTP/1.1 200 " + b"x" * (1 << 15),
    ],
    ids=lambda said: str(said)[:40],
)
def test_what_is_no_answer_is_an_error_like_silence(said: bytes | None) -> None:
    with pytest.raises(Unavailable):
        posted(said, seconds=0.2)


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"])
def test_an_answer_that_does_not_come_is_not_waited_for(said: bytes) -> None:
    with pytest.raises(Unavailable, match="TimeoutError"):
        posted(said, seconds=0.05)


def test_nobody_there_is_an_error() -> None:
    with listening(lambda _: None) as server:
        url = server.url
    with pytest.raises(Unavailable, match="ConnectionRefusedError"):
        PlainHttp(url).post("/", b"", {}, seconds=1)


def test_a_connection_is_kept_and_one_that_was_closed_is_opened_again() -> None:
    numbers = count()

    def reply(_: Heard) -> bytes | None:
        return None if next(numbers) == 2 else answer(200, b"x")

    with listening(reply) as server:
        http = server.client()
        for _ in range(4):
            assert http.post("/", b"again", {}, seconds=5).content == b"x"
        assert (server.connections, len(server.heard)) == (2, 5)


def test_a_connection_that_the_server_ends_is_not_kept() -> None:
    with listening(lambda _: answer(200, b"x", "Connection: close")) as server:
        http = server.client()
        for _ in range(2):
            http.post("/", b"", {}, seconds=5)
        assert server.connections == 2


def test_no_time_is_no_request() -> None:
    with listening(lambda _: answer(200)) as server:
        with pytest.raises(Unavailable):
            server.client().post("/", b"", {}, seconds=0)
        assert not server.heard


def test_hosts_are_verified_by_the_roots_of_the_system_or_of_a_bundle() -> None:
    context = door_tls_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    with pytest.raises(FileNotFoundError):
        door_tls_context("/nowhere/bundle.pem")


def test_a_server_without_tls_is_no_server_with_it() -> None:
    with listening(lambda _: answer(200)) as server:
        http = PlainHttp(server.url.replace("http:", "https:"), door_tls_context())
        with pytest.raises(Unavailable):
            http.post("/", b"", {}, seconds=0.2)
