"""What is sent and read: addresses, headers, and compressed answers."""

import gzip
import zlib

import httpcore
import pytest

from opencrab.adapters.providers.transport.exchange import REPLY_BYTES
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.domain.models.fault import Fault, ModelCallFailed
from tests.unit.adapters.providers.answering import Answering


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP", "deflate"])
def test_a_compressed_answer_that_nobody_asked_for_is_read(encoding: str) -> None:
    told = "蟹の答え".encode() * 50
    packed = zlib.compress(told) if encoding == "deflate" else gzip.compress(told)
    pieces = [packed[at : at + 7] for at in range(0, len(packed), 7)]
    answering = Answering(pieces, headers=((b"Content-Encoding", encoding.encode()),))
    reply = HttpTransport(answering).send("http://crab/", headers={}, timeout_seconds=5)
    assert reply.body == told


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (b"no gzip", "closed the connection"),
        (gzip.compress(b"crab" * 50)[:-9], "unfinished"),
        (gzip.compress(b"crab") + gzip.compress(b"crab")[:4], "unfinished"),
        (gzip.compress(bytes(REPLY_BYTES * 3)), "larger"),
        (gzip.compress(bytes(REPLY_BYTES // 2)) * 3, "larger"),
    ],
    ids=["broken", "cut", "cut later", "bomb", "bombs"],
)
def test_a_compressed_answer_that_is_broken_or_a_bomb_is_broken_off(
    body: bytes, match: str
) -> None:
    answering = Answering([body], headers=((b"content-encoding", b"gzip"),))
    with pytest.raises(ModelCallFailed, match=match) as caught:
        HttpTransport(answering).send("http://crab/", headers={}, timeout_seconds=5)
    assert caught.value.fault is Fault.BROKEN_OFF


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("after", [b"", b"\0" * 9, b"more"])
def test_a_compressed_answer_of_several_streams_is_read_whole(size: int, after: bytes) -> None:
    packed = gzip.compress(b"one, ") + gzip.compress(b"two") + after
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    answering = Answering(pieces, headers=((b"content-encoding", b"gzip"),))
    reply = HttpTransport(answering).send("http://crab/", headers={}, timeout_seconds=5)
    assert reply.body == b"one, two"


def test_an_empty_answer_is_not_an_unfinished_one() -> None:
    answering = Answering(headers=((b"content-encoding", b"gzip"),))
    reply = HttpTransport(answering).send("http://crab/", headers={}, timeout_seconds=5)
    assert reply.body == b""


@pytest.mark.parametrize(
    "url", ["http://crab/a\nb", "http://cr\tab/", "http://crab/\x7f", "http://①27.0.0.1/"]
)
def test_an_address_with_control_characters_or_a_host_in_other_letters_is_none(url: str) -> None:
    with pytest.raises(ModelCallFailed) as caught:
        HttpTransport(Answering()).send(url, headers={}, timeout_seconds=5)
    assert caught.value.fault is Fault.UNREACHABLE


def test_headers_that_come_twice_are_joined_and_those_in_no_ascii_are_read() -> None:
    headers = ((b"X-Sea", b"deep"), (b"x-sea", "青".encode()), (b"X-Old", b"caf\xe9"))
    reply = HttpTransport(Answering(headers=headers)).send(
        "http://crab/", headers={}, timeout_seconds=5
    )
    assert reply.headers == {"x-sea": "deep, 青", "x-old": "café"}


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("https://crab.example", "crab.example", "/"),
        ("https://crab.example:443/v1?a=b&c=d/e", "crab.example", "/v1?a=b&c=d/e"),
        ("http://crab.example:8080/v1", "crab.example:8080", "/v1"),
        ("http://[::1]:8080/", "[::1]:8080", "/"),
        ("http://owner:secret@crab.example/", "crab.example", "/"),
        (
            "http://crab.example/海 辺?問=い",
            "crab.example",
            "/%E6%B5%B7%20%E8%BE%BA?%E5%95%8F=%E3%81%84",
        ),
        ("http://my_host/a%20b/m:generate", "my_host", "/a%20b/m:generate"),
    ],
)
def test_an_address_becomes_a_host_and_a_target(url: str, host: str, target: str) -> None:
    sent: list[httpcore.Request] = []

    class Listening(Answering):
        def handle_request(self, request: httpcore.Request) -> httpcore.Response:
            sent.append(request)
            return super().handle_request(request)

    HttpTransport(Listening()).send(url, headers={}, body="蟹".encode(), timeout_seconds=5)
    (request,) = sent
    assert dict(request.headers)[b"host"].decode() == host
    assert dict(request.headers)[b"content-length"] == b"3"
    assert request.url.target.decode() == target
    assert request.url.host.decode() == host.partition(":8080")[0].strip("[]")
