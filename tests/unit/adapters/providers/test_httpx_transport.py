"""Requests over real HTTP on this machine: what provably never left, and what may have arrived."""

import socket
from collections.abc import Iterator
from threading import Event

import httpx
import pytest

from opencrab.adapters.providers.httpx_transport import HttpxTransport, new_client
from opencrab.adapters.providers.transport import REPLY_BYTES, excerpt
from opencrab.domain.errors import Invalid, NeverSent, Unavailable
from tests.unit.adapters.providers.stub import Canned, serving

SECRET = "sk-of-the-crab"


@pytest.fixture
def transport() -> Iterator[HttpxTransport]:
    with new_client() as client:
        yield HttpxTransport(client)


def test_a_body_is_posted_and_the_answer_comes_back(transport: HttpxTransport) -> None:
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


def test_without_a_body_it_only_asks(transport: HttpxTransport) -> None:
    with serving(lambda got: Canned(body=got.method.encode())) as stub:
        assert transport.send(stub.url, headers={}, timeout_seconds=5).body == b"GET"


def test_nobody_listening_means_never_sent(transport: HttpxTransport) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(NeverSent, match=url):
            transport.send(f"{url}/v1?key={SECRET}", headers={}, body=b"{}", timeout_seconds=5)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://", "nonsense", "http://127.0.0.1:x/"])
def test_an_address_that_is_none_means_never_sent(transport: HttpxTransport, url: str) -> None:
    with pytest.raises(NeverSent):
        transport.send(url, headers={}, body=b"{}", timeout_seconds=5)


def test_a_server_that_does_not_speak_tls_means_never_sent(transport: HttpxTransport) -> None:
    with serving(lambda got: Canned()) as stub, pytest.raises(NeverSent):
        transport.send(
            stub.url.replace("http:", "https:"), headers={}, body=b"{}", timeout_seconds=5
        )


def test_silence_means_that_it_may_have_arrived(transport: HttpxTransport) -> None:
    with (
        serving(lambda got: Canned(silent=True)) as stub,
        pytest.raises(Unavailable, match=r"within 0\.2 s") as caught,
    ):
        transport.send(stub.url, headers={}, body=b"{}", timeout_seconds=0.2)
    assert not isinstance(caught.value, NeverSent)
    assert len(stub.received) == 1


def test_an_answer_that_breaks_off_may_have_been_billed(transport: HttpxTransport) -> None:
    with (
        serving(lambda got: Canned(body=b'{"half":', length=1_000)) as stub,
        pytest.raises(Unavailable, match="broke off") as caught,
    ):
        transport.send(f"{stub.url}/?{SECRET}", headers={}, body=b"{}", timeout_seconds=5)
    assert not isinstance(caught.value, NeverSent)
    assert SECRET not in caught.value.message


def test_an_answer_that_trickles_is_given_up_in_time() -> None:
    hurry = Event()

    class Trickle(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for _ in range(100):
                hurry.wait(0.02)
                yield b" "

    answering = httpx.MockTransport(lambda request: httpx.Response(200, stream=Trickle()))
    with answering as client, pytest.raises(Unavailable, match="within"):
        HttpxTransport(client).send("http://crab", headers={}, body=b"", timeout_seconds=0.1)


def test_an_endless_answer_is_not_read_to_its_end(transport: HttpxTransport) -> None:
    body = b"x" * (REPLY_BYTES + 100_000)
    with serving(lambda got: Canned(body=body)) as stub, pytest.raises(Unavailable, match="larger"):
        transport.send(stub.url, headers={}, body=b"{}", timeout_seconds=20)


def test_the_largest_answer_that_is_allowed_is_read(transport: HttpxTransport) -> None:
    with serving(lambda got: Canned(body=b"x" * REPLY_BYTES)) as stub:
        reply = transport.send(stub.url, headers={}, timeout_seconds=20)
    assert len(reply.body) == REPLY_BYTES


def test_a_redirect_is_not_followed(transport: HttpxTransport) -> None:
    with serving(lambda got: Canned(302, headers={"location": "/elsewhere"})) as stub:
        reply = transport.send(
            stub.url, headers={"authorization": SECRET}, body=b"{}", timeout_seconds=5
        )
    assert reply.status == 302
    assert [received.path for received in stub.received] == ["/"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError, NeverSent), (httpx.ConnectTimeout, NeverSent),
        (httpx.PoolTimeout, NeverSent), (httpx.ProxyError, NeverSent),
        (httpx.LocalProtocolError, NeverSent), (httpx.ReadTimeout, Unavailable),
        (httpx.WriteTimeout, Unavailable), (httpx.ReadError, Unavailable),
        (httpx.WriteError, Unavailable), (httpx.RemoteProtocolError, Unavailable),
        (httpx.DecodingError, Unavailable),
    ],
)  # fmt: skip
def test_only_what_failed_before_sending_counts_as_never_sent(
    error: type[httpx.RequestError], kind: type[Unavailable]
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error("失敗")

    with httpx.MockTransport(fail) as client:
        with pytest.raises(Unavailable) as caught:
            HttpxTransport(client).send("http://crab/", headers={}, timeout_seconds=1)
        assert type(caught.value) is kind


def test_this_machine_is_reached_without_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with serving(lambda got: Canned(body=b"direct")) as stub, new_client() as client:
        reply = HttpxTransport(client).send(stub.url, headers={}, timeout_seconds=5)
    assert reply.body == b"direct"


def test_a_proxy_that_cannot_be_used_is_named_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://127.0.0.1:9")
    with pytest.raises(Invalid, match="proxy") as caught:
        new_client()
    assert "ALL_PROXY" in (caught.value.cure or "")


def test_an_excerpt_is_one_short_line_without_control_characters() -> None:
    assert excerpt("一行目\n\t二行目\x07\x1b[31m".encode()) == "一行目 二行目 [31m"
    assert excerpt("蟹".encode() * 500) == "蟹" * 200 + "…"
    assert excerpt(b"\xff\xfe") == "\ufffd\ufffd"
    assert excerpt(b"") == ""


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
        with new_client() as client:
            reply = HttpxTransport(client).send(
                "http://model.example/v1", headers={}, timeout_seconds=5
            )
    assert reply.body == b"by proxy"
    (received,) = stub.received
    assert received.path == "http://model.example/v1"
