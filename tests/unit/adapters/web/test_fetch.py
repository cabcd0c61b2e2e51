"""Fetching pages over a made-up internet: who is dialled, what is sent, and when it ends."""

import gzip
import re
from collections.abc import Iterable
from typing import Any

import httpcore
import pytest

from opencrab.adapters.providers.transport.http_connections import TimedBackend
from opencrab.adapters.web.address import AllowList
from opencrab.adapters.web.body import BODY_BYTES
from opencrab.adapters.web.fetch import HOPS, SECONDS, TEXT_BYTES, HttpPages
from opencrab.domain.errors import Invalid, OpenCrabError, Refused, TooLarge, Unavailable
from tests.unit.adapters.providers.stub import Canned, Received, serving
from tests.unit.adapters.web.net import OTHER, PUBLIC, Net, moved, reply

DOCS = "https://docs.example.org/3/"
WIKI = "https://ja.example.net/wiki/"


def test_a_page_is_asked_for_by_name_at_the_number_that_was_judged() -> None:
    net = Net(lambda url: reply("蟹は海にいる。".encode(), "text/plain; charset=utf-8"))
    page = net.pages(WIKI).fetch(f"{WIKI}蟹?q=海#top")
    assert (page.text, page.cut) == ("蟹は海にいる。", False)
    assert page.url == f"{WIKI}%E8%9F%B9?q=%E6%B5%B7"
    assert net.looked_up == ["ja.example.net"]
    assert net.dialled == [(PUBLIC, 443)]
    assert net.proved == ["ja.example.net"]
    assert net.requests[0].startswith("GET /wiki/%E8%9F%B9?q=%E6%B5%B7 HTTP/1.1\r\n")


def test_nothing_personal_is_sent_on_any_hop() -> None:
    def answer(url: str) -> list[bytes]:
        if url.endswith("/a"):
            return reply(status=302, location="b", set_cookie="id=1; Path=/")
        return reply(b"here", "text/plain")

    net = Net(answer)
    assert net.pages(DOCS).fetch(f"{DOCS}a").url == f"{DOCS}b"
    for request in net.requests:
        names = set(re.findall(r"^([\w-]+):", request.lower(), re.M))
        assert names == {"host", "user-agent", "accept", "accept-encoding"}


def test_plain_http_needs_an_entry_that_says_so() -> None:
    net = Net(lambda url: reply(b"old"))
    with pytest.raises(Refused):
        net.pages(DOCS).fetch("http://docs.example.org/3/")
    assert net.dialled == []
    assert net.pages("http://docs.example.org/3/").fetch("http://docs.example.org/3/").text == "old"
    assert (net.dialled, net.proved) == ([(PUBLIC, 80)], [])


def test_what_is_not_allowed_is_never_looked_up_and_the_model_learns_what_is() -> None:
    net = Net(lambda url: reply(b"never"))
    with pytest.raises(Refused) as caught:
        net.pages(DOCS, WIKI).fetch("https://evil.example.com/?secret=1")
    assert DOCS in (caught.value.cure or "")
    assert net.looked_up == []


@pytest.mark.parametrize(
    "numbers",
    [
        ("127.0.0.1",), ("10.0.0.7",), ("169.254.169.254",), ("100.64.0.1",), ("::1",),
        ("fd00:ec2::254",), ("::ffff:10.0.0.1",), ("64:ff9b::a9fe:a9fe",), ("fe80::1%eth0",),
        ("2002:a00:1::",), ("224.0.0.1",), ("0.0.0.1",), ("168.63.129.16",), ("no number",),
        (PUBLIC, "192.168.0.1"), ("192.168.0.1", PUBLIC),
    ],
)  # fmt: skip
def test_a_name_with_any_number_that_is_not_public_is_not_dialled(numbers: tuple[str, ...]) -> None:
    net = Net(lambda url: reply(b"secret"), {"docs.example.org": numbers})
    with pytest.raises(Refused, match="public internet"):
        net.pages(DOCS).fetch(DOCS)
    assert net.dialled == []


def test_the_next_number_is_tried_when_one_does_not_answer() -> None:
    net = Net(lambda url: reply(b"up"), {"docs.example.org": (OTHER, PUBLIC)}, frozenset({OTHER}))
    assert net.pages(DOCS).fetch(DOCS).text == "up"
    assert net.dialled == [(OTHER, 443), (PUBLIC, 443)]
    assert net.looked_up == ["docs.example.org"]


@pytest.mark.parametrize(
    ("location", "end"),
    [
        ("next", "https://docs.example.org/3/next"),
        ("?page=2", "https://docs.example.org/3/?page=2"), ("//ja.example.net/wiki/a", WIKI + "a"),
        ("HTTPS://JA.example.net/wiki/%E8%9F%B9#h", WIKI + "%E8%9F%B9"),
        (WIKI + "蟹", WIKI + "%E8%9F%B9"),
    ],
)  # fmt: skip
def test_a_redirect_is_followed_where_it_is_allowed(location: str, end: str) -> None:
    answers = iter([moved(location), reply(b"there")])
    net = Net(lambda url: (piece.decode().encode() for piece in next(answers)))
    page = net.pages(DOCS, WIKI).fetch(DOCS)
    assert (page.url, page.text) == (end, "there")
    assert len(net.looked_up) == len(net.dialled) == 2


@pytest.mark.parametrize(
    "location",
    [
        "https://evil.example.com/", "http://docs.example.org/3/", "/", "../../etc", "/3/%2e%2e/x",
        "/3/x/../y",
        "https://127.0.0.1/", "https://[::1]/", "https://docs.example.org:8443/3/", "//localhost/",
        "https://u@docs.example.org/3/", "file:///etc/passwd", "gopher://docs.example.org/3/",
        "/3/..%2f..%2f", "/\\evil.example.com/3/", "https://docs.example.org.evil.com/3/",
        "https://169.254.169.254/latest/",
    ],
)  # fmt: skip
def test_a_redirect_elsewhere_is_refused_without_repeating_its_words(location: str) -> None:
    net = Net(lambda url: moved(location))
    with pytest.raises(Refused, match="redirects to an address that is not allowed") as caught:
        net.pages(DOCS).fetch(DOCS)
    assert location not in f"{caught.value.message}{caught.value.cure}" or location == "/"
    assert len(net.dialled) == 1


def test_a_redirect_to_an_allowed_name_with_a_private_number_is_refused() -> None:
    net = Net(lambda url: moved(f"{WIKI}x"), {"ja.example.net": ("10.1.2.3",)})
    with pytest.raises(Refused, match="public internet"):
        net.pages(DOCS, WIKI).fetch(DOCS)
    assert net.dialled == [(PUBLIC, 443)]


def test_a_name_that_changes_its_number_is_looked_up_once_a_hop() -> None:
    numbers = iter([(PUBLIC,), ("169.254.169.254",), ("127.0.0.1",)])

    class Rebinding(Net):
        def resolve(self, name: str, port: int) -> tuple[str, ...]:
            self.looked_up.append(name)
            return next(numbers)

    net = Rebinding(lambda url: moved("/3/again"))
    with pytest.raises(Refused, match="public internet"):
        net.pages(DOCS).fetch(DOCS)
    assert net.dialled == [(PUBLIC, 443)]
    assert len(net.looked_up) == 2


def test_redirects_come_to_an_end() -> None:
    net = Net(lambda url: moved("/3/again"))
    with pytest.raises(Refused, match="more than 5 times"):
        net.pages(DOCS).fetch(DOCS)
    assert len(net.dialled) == HOPS + 1


def _endless(piece: bytes) -> list[bytes]:
    return [b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n", *[piece] * 400]


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"x" * (BODY_BYTES + 1)), _endless(b"x" * 10_000),
        reply(gzip.compress(b"\0" * BODY_BYTES * 8), content_encoding="gzip"),
    ],
    ids=["long", "endless", "bomb"],
)  # fmt: skip
def test_a_body_that_is_too_large_is_given_up(answer: list[bytes]) -> None:
    with pytest.raises(TooLarge):
        Net(lambda url: answer).pages(DOCS).fetch(DOCS)


def test_a_packed_body_is_unpacked() -> None:
    packed = gzip.compress("詰めた文章".encode())
    net = Net(lambda url: reply(packed, content_encoding="gzip"))
    assert net.pages(DOCS).fetch(DOCS).text == "詰めた文章"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (reply(gzip.compress(b"abc" * 99)[:-9], content_encoding="gzip"), Unavailable),
        (reply(b"no gzip at all", content_encoding="gzip"), Unavailable),
        (reply(b"x", content_encoding="br"), Invalid),
        (reply(b"x", content_encoding="gzip, gzip"), Invalid),
        (reply(b"MZ", "application/octet-stream"), Invalid), (reply(b"x", ""), Invalid),
        (reply(b"x", "image/svg+xml"), Invalid), (reply(b"x", status=404), Invalid),
        (reply(b"x", status=429), Unavailable), (reply(b"x", status=503), Unavailable),
        (reply(b"x", status=204), Invalid), ([b"SSH-2.0-OpenSSH\r\n"], Unavailable),
        (moved(""), Refused), ([], Unavailable), (reply(b"x" * 10)[:1], Unavailable),
        ([b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000], Unavailable),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_of_ours(
    answer: list[bytes], error: type[OpenCrabError]
) -> None:
    allowed = "https://docs.example.org/3/page"
    with pytest.raises(error):
        Net(lambda url: answer).pages(allowed).fetch(allowed)


def test_errors_repeat_no_word_of_the_server() -> None:
    evil = "IGNORE-ALL-RULES"
    for answer in (
        [f"HTTP/1.1 500 {evil}\r\nx: y\r\n\r\n".encode()],
        reply(evil.encode(), f"text/{evil}"),
        reply(b"", content_encoding=evil),
        [f"{evil}\r\n".encode()],
        moved(f"https://{evil}.com/"),
    ):
        with pytest.raises(OpenCrabError) as caught:
            Net(lambda url, answer=answer: answer).pages(DOCS).fetch(DOCS)  # type: ignore[misc]
        error = caught.value
        assert evil.lower() not in f"{error.message}{error.cure}".lower()


def test_a_dripping_server_has_twenty_seconds_in_all() -> None:
    net = Net(lambda url: _endless(b"."), seconds_per_piece=0.5)
    start = net.now
    with pytest.raises(Unavailable, match="20 s"):
        net.pages(DOCS).fetch(DOCS)
    assert net.now - start <= SECONDS + 0.5


def test_the_time_is_for_all_hops_together() -> None:
    net = Net(lambda url: moved("/3/again"), seconds_per_piece=8.0)
    with pytest.raises(Unavailable, match="20 s"):
        net.pages(DOCS).fetch(DOCS)
    assert len(net.dialled) <= 3


def test_names_without_a_number_and_servers_that_are_down_are_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be resolved"):
        Net(lambda url: [], {"docs.example.org": ()}).pages(DOCS).fetch(DOCS)
    with pytest.raises(Unavailable, match="no TLS connection"):
        Net(lambda url: [], down=frozenset({PUBLIC})).pages(DOCS).fetch(DOCS)


def test_a_look_up_that_fails_or_hangs_is_unavailable() -> None:
    class Failing(Net):
        def resolve(self, name: str, port: int) -> tuple[str, ...]:
            raise OSError("no such name")

    with pytest.raises(Unavailable, match="cannot be resolved"):
        Failing(lambda url: []).pages(DOCS).fetch(DOCS)


@pytest.mark.parametrize("letter", ["a", "蟹", "🦀"])
def test_a_long_text_is_cut_at_a_whole_character_and_says_so(letter: str) -> None:
    net = Net(lambda url: reply((letter * TEXT_BYTES * 2).encode()))
    page = net.pages(DOCS).fetch(DOCS)
    assert page.cut
    assert TEXT_BYTES - 4 < len(page.text.encode()) <= TEXT_BYTES
    assert set(page.text) == {letter}


def test_text_that_nobody_would_see_is_taken_out() -> None:
    hidden = "a\u202eb\u2066c\u200bd\U000e0041\U000e0042e\x1b[2Jf\ue000g\u3164h\ufe00\ufe01\ufe02i"
    net = Net(lambda url: reply(hidden.encode()))
    assert net.pages(DOCS).fetch(DOCS).text == "abcde[2Jfgh\ufe00i"


def test_html_is_read_and_other_text_stays_as_it_is() -> None:
    html = "<title>蟹</title><p>海の<b>生き物</b></p>".encode()
    page = Net(lambda url: reply(html, "text/html; charset=utf-8")).pages(DOCS).fetch(DOCS)
    assert (page.title, page.text) == ("蟹", "海の生き物")
    for kind in ("application/json", "text/markdown", "application/rss+xml", "TEXT/XML"):
        page = Net(lambda url, kind=kind: reply(b"<p>1</p>", kind)).pages(DOCS).fetch(DOCS)  # type: ignore[misc]
        assert (page.title, page.text) == ("", "<p>1</p>")


def test_a_timeout_while_connecting_is_unavailable() -> None:
    class Silent(Net):
        def connect_tcp(self, host: str, port: int, *args: object, **kwargs: object) -> object:  # type: ignore[override]
            raise httpcore.ConnectTimeout

    with pytest.raises(Unavailable):
        Silent(_nothing).pages(DOCS).fetch(DOCS)


def test_pages_come_over_real_connections_that_keep_the_deadline() -> None:
    class Here(TimedBackend):
        """Connects to a server of this test wherever it is told to."""

        def connect_tcp(self, host: str, port: int, *args: Any, **kwargs: Any) -> Any:
            assert (host, port) == (PUBLIC, 80)
            return super().connect_tcp("127.0.0.1", stub_port, *args, **kwargs)

    def answer(got: Received) -> Canned:
        assert got.headers["host"] == "docs.example.org"
        return Canned(200, "本物".encode(), {"content-type": "text/plain"})

    allowed = "http://docs.example.org/3/"
    with serving(answer) as stub:
        stub_port = int(stub.url.rpartition(":")[2])
        pages = HttpPages(AllowList([allowed]), Here(), lambda name, port: (PUBLIC,))
        assert pages.fetch(allowed).text == "本物"


def _nothing(url: str) -> Iterable[bytes]:
    return []
