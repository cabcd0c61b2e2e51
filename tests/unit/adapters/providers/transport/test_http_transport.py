"""Requests over real HTTP on this machine: what provably never left, and what may have arrived."""

import socket
import traceback
from collections.abc import Iterable, Iterator
from threading import Event

import httpcore
import pytest

from opencrab.adapters.providers.transport.exchange import REPLY_BYTES, OpenReply, response_excerpt
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.domain.errors import Invalid
from opencrab.domain.models.fault import Fault, ModelCallFailed
from tests.contract.waiting import eventually
from tests.unit.adapters.providers.answering import Answering
from tests.unit.adapters.providers.stub import Canned, serving

SECRET = "sk-of-the-crab"


class Pieces:
    """A body that comes in pieces; `error` comes last, and `closed` tells whether it was let go."""

    def __init__(self, *pieces: bytes, pause: float = 0.0, error: Exception | None = None) -> None:
        self._pieces = pieces
        self._pause = pause
        self._error = error
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            Event().wait(self._pause)
            yield piece
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        self.closed = True


def _over(body: Iterable[bytes]) -> HttpTransport:
    return HttpTransport(Answering(body))


def _late(opened: OpenReply) -> Iterator[bytes]:
    """The rest, for which only half of the time is left."""
    Event().wait(0.5)
    yield from opened.chunks


@pytest.fixture
def transport() -> Iterator[HttpTransport]:
    with HttpConnections() as client:
        yield HttpTransport(client)


def test_a_body_is_posted_and_the_answer_comes_back(transport: HttpTransport) -> None:
    with serving(lambda got: Canned(201, got.body * 2, {"X-Sea": "deep"})) as stub:
        reply = transport.send(
            f"{stub.url}/v1/chat",
            headers={"authorization": SECRET},
            body="蟹".encode(),
            timeout_seconds=5,
        )
    assert (reply.status, reply.body.decode()) == (201, "蟹蟹")
    assert reply.headers["x-sea"] == "deep"
    (received,) = stub.received
    assert (received.method, received.path) == ("POST", "/v1/chat")
    assert received.headers["authorization"] == SECRET
    assert received.headers["user-agent"] == "opencrab"
    assert received.headers["accept-encoding"] == "identity"


def test_without_a_body_it_only_asks(transport: HttpTransport) -> None:
    with serving(lambda got: Canned(body=got.method.encode())) as stub:
        assert transport.send(stub.url, headers={}, timeout_seconds=5).body == b"GET"


def test_nobody_listening_is_unreachable(transport: HttpTransport) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ModelCallFailed, match=url) as caught:
            transport.send(f"{url}/v1?key={SECRET}", headers={}, body=b"{}", timeout_seconds=5)
    assert caught.value.fault is Fault.UNREACHABLE
    assert not caught.value.may_be_billed
    assert "base_url" in (caught.value.cure or "")
    assert SECRET not in caught.value.message


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://", "nonsense", "http://127.0.0.1:x/"])
def test_an_address_that_is_none_is_unreachable(transport: HttpTransport, url: str) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        transport.send(url, headers={}, body=b"{}", timeout_seconds=5)
    assert caught.value.fault is Fault.UNREACHABLE


@pytest.mark.parametrize("host", [f"{'a' * 64}.example", "a..b"])
def test_a_host_that_no_name_can_be_is_unreachable(transport: HttpTransport, host: str) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        transport.send(f"http://{host}/v1", headers={}, body=b"{}", timeout_seconds=5)
    assert (caught.value.fault, caught.value.may_be_billed) == (Fault.UNREACHABLE, False)


def test_a_server_that_does_not_speak_tls_is_unreachable(transport: HttpTransport) -> None:
    with serving(lambda got: Canned()) as stub, pytest.raises(ModelCallFailed) as caught:
        transport.send(
            stub.url.replace("http:", "https:"), headers={}, body=b"{}", timeout_seconds=5
        )
    assert caught.value.fault is Fault.UNREACHABLE


def test_silence_means_that_it_may_have_arrived(transport: HttpTransport) -> None:
    with (
        serving(lambda got: Canned(silent=True)) as stub,
        pytest.raises(ModelCallFailed, match=r"within 0\.2 s") as caught,
    ):
        transport.send(stub.url, headers={}, body=b"{}", timeout_seconds=0.2)
    assert caught.value.fault is Fault.TIMEOUT
    assert caught.value.may_be_billed
    eventually(lambda: len(stub.received), 1)


def test_an_answer_that_breaks_off_may_have_been_billed(transport: HttpTransport) -> None:
    with (
        serving(lambda got: Canned(body=b'{"half":', length=1_000)) as stub,
        pytest.raises(ModelCallFailed, match="closed the connection") as caught,
    ):
        transport.send(f"{stub.url}/?{SECRET}", headers={}, body=b"{}", timeout_seconds=5)
    assert caught.value.fault is Fault.BROKEN_OFF
    assert caught.value.may_be_billed
    assert SECRET not in caught.value.message


def test_an_answer_that_trickles_is_given_up_in_time() -> None:
    body = Pieces(*[b" "] * 100, pause=0.02)
    with pytest.raises(ModelCallFailed, match="within") as caught:
        _over(body).send("http://crab", headers={}, body=b"", timeout_seconds=0.1)
    assert caught.value.fault is Fault.TIMEOUT
    assert body.closed


def test_silence_in_the_middle_lasts_no_longer_than_what_is_left(
    transport: HttpTransport,
) -> None:
    received: list[bytes] = []
    with (
        serving(lambda got: Canned(body=b"data: 1", length=100, lingers=True)) as stub,
        pytest.raises(ModelCallFailed, match="within") as caught,
        transport.open(stub.url, headers={}, body=b"{}", timeout_seconds=1.0) as opened,
    ):
        received.extend(_late(opened))
    assert caught.value.fault is Fault.TIMEOUT
    assert received == [b"data: 1"]


def test_what_comes_is_handed_over_as_it_comes() -> None:
    body = Pieces("蟹".encode(), b"\n")
    with _over(body).open("http://crab", headers={}, body=b"", timeout_seconds=5) as opened:
        assert opened.status == 200
        assert next(opened.chunks) == "蟹".encode()
        assert not body.closed
        assert list(opened.chunks) == [b"\n"]
    assert body.closed


def test_an_answer_that_nobody_reads_is_closed() -> None:
    body = Pieces(b"x")
    with (
        pytest.raises(KeyError),
        _over(body).open("http://crab", headers={}, body=b"", timeout_seconds=5),
    ):
        raise KeyError
    assert body.closed


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (httpcore.ReadTimeout, Fault.TIMEOUT), (httpcore.ReadError, Fault.BROKEN_OFF),
        (httpcore.RemoteProtocolError, Fault.BROKEN_OFF), (httpcore.ConnectError, Fault.BROKEN_OFF),
        (httpcore.PoolTimeout, Fault.TIMEOUT),
    ],
)  # fmt: skip
def test_what_fails_in_the_middle_may_have_been_billed(
    error: type[Exception], fault: Fault
) -> None:
    body = Pieces(b"data: 1", error=error("失敗"))
    with (
        pytest.raises(ModelCallFailed) as caught,
        _over(body).open("http://crab", headers={}, body=b"", timeout_seconds=5) as opened,
    ):
        list(opened.chunks)
    assert caught.value.fault is fault
    assert caught.value.may_be_billed
    assert body.closed


def test_a_connection_is_kept_for_the_next_request(transport: HttpTransport) -> None:
    with serving(lambda got: Canned(keeps=True)) as stub:
        for _ in range(3):
            with transport.open(stub.url, headers={}, body=b"{}", timeout_seconds=5) as opened:
                assert list(opened.chunks) == [b"{}"]
    assert len({received.port for received in stub.received}) == 1
    assert len(stub.received) == 3


def test_a_failure_comes_out_when_the_reply_is_opened() -> None:
    failing = HttpTransport(Answering(error=httpcore.ConnectError("失敗")))
    with (
        pytest.raises(ModelCallFailed) as caught,
        failing.open("http://crab", headers={}, body=b"", timeout_seconds=5),
    ):
        pass
    assert caught.value.fault is Fault.UNREACHABLE


@pytest.mark.parametrize("value", [f"{SECRET}\r\nx: y", f"{SECRET}蟹", f"{SECRET}\x00"])
def test_a_header_that_cannot_be_sent_is_not_quoted(transport: HttpTransport, value: str) -> None:
    with serving(lambda got: Canned()) as stub, pytest.raises(ModelCallFailed) as caught:
        transport.send(stub.url, headers={"x-key": value}, body=b"{}", timeout_seconds=5)
    assert caught.value.fault is Fault.UNREACHABLE
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert stub.received == []


def test_an_endless_answer_is_not_read_to_its_end(transport: HttpTransport) -> None:
    body = b"x" * (REPLY_BYTES + 100_000)
    with (
        serving(lambda got: Canned(body=body)) as stub,
        pytest.raises(ModelCallFailed, match="larger") as caught,
    ):
        transport.send(stub.url, headers={}, body=b"{}", timeout_seconds=20)
    assert caught.value.fault is Fault.BROKEN_OFF


def test_the_largest_answer_that_is_allowed_is_read(transport: HttpTransport) -> None:
    with serving(lambda got: Canned(body=b"x" * REPLY_BYTES)) as stub:
        reply = transport.send(stub.url, headers={}, timeout_seconds=20)
    assert len(reply.body) == REPLY_BYTES


def test_a_redirect_is_not_followed(transport: HttpTransport) -> None:
    with serving(lambda got: Canned(302, headers={"location": "/elsewhere"})) as stub:
        reply = transport.send(
            stub.url, headers={"authorization": SECRET}, body=b"{}", timeout_seconds=5
        )
    assert reply.status == 302
    assert [received.path for received in stub.received] == ["/"]


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (httpcore.ConnectError, Fault.UNREACHABLE), (httpcore.ConnectTimeout, Fault.UNREACHABLE),
        (httpcore.PoolTimeout, Fault.UNREACHABLE), (httpcore.ProxyError, Fault.UNREACHABLE),
        (httpcore.LocalProtocolError, Fault.UNREACHABLE), (httpcore.ReadTimeout, Fault.TIMEOUT),
        (httpcore.WriteTimeout, Fault.TIMEOUT), (httpcore.ReadError, Fault.BROKEN_OFF),
        (httpcore.WriteError, Fault.BROKEN_OFF), (httpcore.RemoteProtocolError, Fault.BROKEN_OFF),
    ],
)  # fmt: skip
def test_only_what_failed_before_sending_cost_nothing(error: type[Exception], fault: Fault) -> None:
    failing = HttpTransport(Answering(error=error("失敗")))
    with pytest.raises(ModelCallFailed) as caught:
        failing.send("http://crab/", headers={}, timeout_seconds=1)
    assert caught.value.fault is fault
    assert caught.value.may_be_billed is (fault is not Fault.UNREACHABLE)


def test_this_machine_is_reached_without_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with serving(lambda got: Canned(body=b"direct")) as stub, HttpConnections() as client:
        reply = HttpTransport(client).send(stub.url, headers={}, timeout_seconds=5)
    assert reply.body == b"direct"


def test_a_proxy_that_cannot_be_used_is_named_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://127.0.0.1:9")
    with pytest.raises(Invalid, match="proxy") as caught:
        HttpConnections()
    assert "ALL_PROXY" in (caught.value.cure or "")


@pytest.mark.parametrize("proxy", ["http://proxy:abc", "http://crab:geheim/1@proxy:1"])
def test_a_proxy_whose_address_is_none_is_named_and_its_password_is_not(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(Invalid, match="HTTPS_PROXY") as caught:
        HttpConnections()
    told = "".join(traceback.format_exception(caught.value))
    assert "geheim" not in told


def test_an_excerpt_is_one_short_line_without_control_characters() -> None:
    assert response_excerpt("一行目\n\t二行目\x07\x1b[31m".encode()) == "一行目 二行目 [31m"
    assert response_excerpt("蟹".encode() * 500) == "蟹" * 200 + "…"
    assert response_excerpt(b"\xff\xfe") == "\ufffd\ufffd"
    assert response_excerpt(b"") == ""


@pytest.mark.parametrize("scheme", ["http://", ""])
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
def test_another_computer_is_reached_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, variable: str, scheme: str
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with serving(lambda got: Canned(body=b"by proxy")) as stub:
        monkeypatch.setenv(variable, scheme + stub.url.removeprefix("http://"))
        with HttpConnections() as client:
            reply = HttpTransport(client).send(
                "http://model.example/v1", headers={}, timeout_seconds=5
            )
    assert reply.body == b"by proxy"
    (received,) = stub.received
    assert received.path == "http://model.example/v1"
