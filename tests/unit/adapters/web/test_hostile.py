"""Hostile hosts, paths, redirects and look-ups, made up by the thousand: none escapes.

`make soak` makes thousands of them, `make test` a few hundred.
"""

import ipaddress
import posixpath
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import unquote

import hypothesis
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.web.address import Address
from opencrab.domain.errors import Invalid, OpenCrabError
from tests.soak import count
from tests.unit.adapters.web.net import OTHER, PUBLIC, Net, moved, reply

EXAMPLES = count("strange addresses")
ALLOWED = ("https://docs.example.org/3/", "https://*.wild.example.net/w/", "http://xn--r8jz45g.jp/")
SECRET = b"inner secret"

_HOSTS = """
docs.example.org DOCS.Example.ORG docs.example.org. docs.example.org.. docs.example.org:443
docs.example.org:80 docs.example.org:443@evil.com:443 docs.example.org:0443 docs.example.org:
docs.example.org:\uff18\uff10 [docs.example.org] docs.example.org.evil.com evil-docs.example.org
evil.com#docs.example.org evil.com?docs.example.org evil.com\\docs.example.org
docs.example.org\\@evil.com docs.example.org@evil.com evil.com@docs.example.org
docs.example.org%2eevil.com %64ocs.example.org docs.example.org\x00.evil.com
docs\u3002example\u3002org docs\uff0eexample\uff0eorg \uff44ocs.example.org d\u043ecs.example.org
docs.example.org\u200b docs.exam\u00adple.org \u202edocs.example.org
a.wild.example.net wild.example.net a.b.wild.example.net evilwild.example.net .wild.example.net
*.wild.example.net a.wild.example.net.evil.com a..wild.example.net
例え.jp 例え\u3002jp xn--r8jz45g.jp XN--R8JZ45G.JP a.例え.jp faß.jp \u212aa.jp
localhost localhost. intranet 127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 [::1]
[::ffff:127.0.0.1] \u2460\u2461\u2466.0.0.1 \u24dbocalhost 169.254.169.254 metadata db.internal
metadata.google.internal
"""
_PARTS = """
3 w .. . %2e%2e %2E. .%2e %2f %5c \\ ..; ..;x=1 %252e%252e %c0%ae %00 %0d%0a admin 蟹 %E8%9F%B9 %
%zz ? # x \uff0e\uff0e \u2024\u2024 ..%20 ... %2e%2e%2f @ //evil.com
"""

hosts = st.one_of(
    st.sampled_from(["", " docs.example.org", "docs.example.org\t", *_HOSTS.split()]),
    st.ip_addresses().map(str),
    st.ip_addresses(v=6).map(lambda number: f"[{number}]"),
    st.ip_addresses(v=4).map(lambda number: str(int(number))),
    st.text("docs.example.org\u3002\uff0e/\\@:#?%[]*0\uff11a\u200b\u202e 例え", max_size=24),
    st.text("a.-", max_size=12).map(lambda text: f"{text}.wild.example.net"),
    st.text(max_size=12).map(lambda text: f"docs.example.org{text}"),
)  # fmt: skip
parts = st.lists(st.sampled_from(["", "a b", *_PARTS.split()]), max_size=6)
schemes = st.sampled_from(
    [
        "https://",
        "http://",
        "HTTPS://",
        "https:/",
        "https:",
        "//",
        "",
        "ftp://",
        "file://",
        "https:///",
    ]
)
urls = st.builds(
    lambda scheme, host, path: f"{scheme}{host}/{'/'.join(path)}", schemes, hosts, parts
)
fair = st.sampled_from(
    ["https://docs.example.org/3/", "https://a.wild.example.net/w/", "http://例え.jp/"]
)
starts = st.one_of(urls, fair, st.builds(lambda base, path: base + "/".join(path), fair, parts))
locations = st.one_of(starts, parts.map("/".join), hosts.map(lambda host: f"//{host}/3/"))
inner = st.sampled_from(
    [
        "127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::1", "fd00::1", "fe80::1",
        "::ffff:192.168.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "192.0.0.192",
        "fe80::1%eth0", "::", "::127.0.0.1", "2001:0:7f00:1::", "64:ff9b:1::1", "localhost",
        "0x7f.1",
    ]
)  # fmt: skip
numbers = st.lists(
    st.one_of(st.just(PUBLIC), st.just(OTHER), inner, st.ip_addresses().map(str)), max_size=3
)


class Hostile(Net):
    """Every look-up answers something else, and every server redirects as long as it can."""

    def __init__(self, locations: Sequence[str], numbers: Sequence[Sequence[str]]) -> None:
        super().__init__(self._next)
        self._locations, self._answers = list(locations), list(numbers)
        self.hops: list[str] = []

    def resolve(self, name: str, port: int) -> Sequence[str]:
        self.looked_up.append(name)
        return self._answers.pop(0) if self._answers else (PUBLIC,)

    def _next(self, url: str) -> list[bytes]:
        self.hops.append(url)
        if not self._locations:
            return reply(SECRET)
        try:
            return moved(self._locations.pop(0).replace("\r", "").replace("\n", ""))
        except UnicodeEncodeError:
            return reply(SECRET)


def _is_outside(number: str) -> bool:
    """Judged by the standard library alone, and more strictly than the product does."""
    address = ipaddress.ip_address(number)
    if isinstance(address, ipaddress.IPv6Address):
        stood = address.ipv4_mapped or address.sixtofour
        if stood is None and address in ipaddress.ip_network("64:ff9b::/96"):
            stood = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        address = stood or address
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_link_local or address.is_private
    )


def _is_allowed(url: str) -> bool:
    """Whether a request went below a prefix, however often its path is unescaped."""
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    path = path.partition("?")[0]
    for _ in range(3):
        path = unquote(path).replace("\\", "/").replace(";", "/")
    where = posixpath.normpath(f"/{path}")
    if host == "docs.example.org":
        return scheme == "https" and f"{where}/".startswith("/3/")
    if host.endswith(".wild.example.net"):
        return scheme == "https" and f"{where}/".startswith("/w/")
    return (scheme, host) == ("http", "xn--r8jz45g.jp")


many = hypothesis.settings(max_examples=EXAMPLES)


@many
@given(starts, st.lists(locations, max_size=7), st.lists(numbers, max_size=7))
def test_nothing_is_dialled_but_public_numbers_of_allowed_names(
    url: str, locations: list[str], numbers: list[list[str]]
) -> None:
    net = Hostile(locations, numbers)
    with suppress(OpenCrabError):
        net.pages(*ALLOWED).fetch(url)
    assert all(_is_outside(number) for number, _ in net.dialled), net.dialled
    assert {port for _, port in net.dialled} <= {80, 443}
    assert all(_is_allowed(hop) for hop in net.hops), net.hops
    assert len(net.looked_up) <= 6
    assert len(net.dialled) <= len(net.looked_up), "one look-up for each connection"
    names = [hop.partition("://")[2].partition("/")[0] for hop in net.hops]
    assert names == net.looked_up[: len(names)], "the name that was judged is the one that is asked"
    proved = [name for hop, name in zip(net.hops, names, strict=True) if hop.startswith("https")]
    assert net.proved == proved, "and the one that has to prove who it is"


@many
@given(st.one_of(starts, st.text(max_size=60)))
def test_an_address_is_always_written_in_the_same_way(url: str) -> None:
    try:
        address = Address.of(url)
    except Invalid:
        return
    assert Address.of(address.url) == address
    assert address.url.isascii()
    assert address.url.isprintable()
    assert " " not in address.url
    assert "/../" not in f"{address.path}/"


def test_what_is_made_up_reaches_servers_and_is_led_on() -> None:
    def led(case: tuple[str, list[str], list[list[str]]]) -> bool:
        url, locations, numbers = case
        net = Hostile(locations, numbers)
        with suppress(OpenCrabError):
            net.pages(*ALLOWED).fetch(url)
        return len(net.hops) > 1

    cases = st.tuples(starts, st.lists(locations, max_size=7), st.lists(numbers, max_size=7))
    assert hypothesis.find(cases, led)
