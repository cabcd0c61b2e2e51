"""Fetching files over a made-up internet: only from allowed hosts, and not more than wanted."""

import pytest

from opencrab.domain.errors import Invalid, NotFound, OpenCrabError, Refused, TooLarge, Unavailable
from tests.unit.adapters.web.net import PUBLIC, Net, moved, reply

CDN = "https://cdn.example.org/"
FILE = f"{CDN}attachments/1/2/_.png?ex=68dc7ce1&is=68db2b61&hm=5954f9&"
CONTENT = bytes(range(256)) * 8


def fetched(net: Net, url: str = FILE, *, most: int = 10_000, seconds: float = 10.0) -> bytes:
    return net.files(CDN).fetch(url, most=most, seconds=seconds)


def test_a_file_is_fetched_by_its_whole_signed_address_and_nothing_personal_is_sent() -> None:
    net = Net(lambda url: reply(CONTENT, "image/png"))
    assert fetched(net) == CONTENT
    assert net.requests == [
        "GET /attachments/1/2/_.png?ex=68dc7ce1&is=68db2b61&hm=5954f9& HTTP/1.1\r\n"
        "Host: cdn.example.org\r\nuser-agent: opencrab\r\naccept: */*\r\n"
        "accept-encoding: identity\r\n\r\n"
    ]
    assert net.dialled == [(PUBLIC, 443)]
    assert net.proved == ["cdn.example.org"]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a.png", "http://cdn.example.org/a.png", "http://169.254.169.254/",
        "https://cdn.example.org.evil.com/a", "https://u@cdn.example.org/a", "file:///etc/passwd",
        "https://cdn.example.org:8443/a", "https://[::1]/a", "//cdn.example.org/a", "",
    ],
)  # fmt: skip
def test_another_address_is_refused_before_anything_is_looked_up(url: str) -> None:
    net = Net(lambda url: reply(b"never"))
    with pytest.raises((Refused, Invalid)):
        fetched(net, url)
    assert net.looked_up == []


def test_a_name_with_a_private_number_is_not_dialled() -> None:
    net = Net(lambda url: reply(b"secret"), {"cdn.example.org": (PUBLIC, "10.0.0.7")})
    with pytest.raises(Refused, match="public internet"):
        fetched(net)
    assert net.dialled == []


@pytest.mark.parametrize("location", [f"{CDN}b.png", "/b.png", "https://example.com/", ""])
def test_no_redirect_is_followed(location: str) -> None:
    net = Net(lambda url: moved(location))
    with pytest.raises(Refused, match="redirects"):
        fetched(net)
    assert len(net.requests) == 1


def _endless() -> list[bytes]:
    return [b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 1_000] * 50]


def test_a_file_may_be_as_large_as_wanted() -> None:
    assert fetched(Net(lambda url: reply(CONTENT)), most=len(CONTENT)) == CONTENT


@pytest.mark.parametrize(
    "answer", [reply(CONTENT), reply(CONTENT)[:1], _endless()], ids=["long", "announced", "endless"]
)
def test_a_larger_file_is_given_up(answer: list[bytes]) -> None:
    with pytest.raises(TooLarge, match="2,047 bytes"):
        fetched(Net(lambda url: answer), most=len(CONTENT) - 1)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (reply(status=404), NotFound), (reply(status=403), NotFound),
        (reply(status=410), NotFound), (reply(status=429), Unavailable),
        (reply(status=503), Unavailable), (reply(status=204), Invalid),
        (reply(status=400), Invalid), ([], Unavailable), (reply(b"x" * 10)[:1], Unavailable),
        (reply(b"x", content_encoding="gzip"), Unavailable),
        ([b"SSH-2.0-OpenSSH\r\n"], Unavailable),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: " + b"9" * 5_000 + b"\r\n\r\n"], OpenCrabError),
    ],
)  # fmt: skip
def test_what_cannot_be_fetched_is_an_error_of_ours(
    answer: list[bytes], error: type[OpenCrabError]
) -> None:
    with pytest.raises(error):
        fetched(Net(lambda url: answer))


def test_a_file_that_trickles_is_given_up_in_time() -> None:
    net = Net(lambda url: [*reply(CONTENT)[:1], *[b"x"] * 100], seconds_per_piece=3.0)
    with pytest.raises(Unavailable, match="in time"):
        fetched(net)
    assert net.now <= 1_012.0
