"""Addresses of pages and the list of those allowed, in Japanese and English."""

import pytest

from opencrab.adapters.web.address import Address, AllowList
from opencrab.domain.errors import Invalid
from tests.cases import for_each

ALLOWED = AllowList(
    [
        "https://docs.example.org/3/",
        "https://docs.example.org/3/library",
        "https://*.wild.example.net",
        "https://例え.jp/記事/",
    ]
)


@for_each(
    ("url", "written"),
    [
        ("https://example.org", "https://example.org/"),
        ("HTTPS://Example.ORG.:443/A%7e?q=%e8%9f%b9#x", "https://example.org/A~?q=%E8%9F%B9"),
        ("https://例え.jp/蟹", "https://xn--r8jz45g.jp/%E8%9F%B9"),
        ("https://xn--r8jz45g.jp/%e8%9f%b9", "https://xn--r8jz45g.jp/%E8%9F%B9"),
        ("https://example.org?x=a+b&y[]=%20", "https://example.org/?x=a+b&y[]=%20"),
    ],
)
def test_an_address_is_written_in_one_way(url: str, written: str) -> None:
    assert Address.of(url).url == written


@for_each(
    "url",
    [
        "", "example.org", "//example.org/", "ftp://example.org/", "javascript:alert(1)",
        "https://", "https:///a", "https://u@example.org/", "https://u:p@example.org/",
        "https://example.org:8443/", "https://example.org:80/", "http://example.org:443/",
        "https://127.0.0.1/", "https://[::1]/", "https://2130706433/", "https://0x7f.1/",
        "https://localhost/", "https://intranet/", "https://db.internal/", "https://a.lan/",
        "https://1.0.0.127.in-addr.arpa/", "https://a_b.org/", "https://-a.org/", "https://a..org/",
        "https://example\u3002org/", "https://ex\uff41mple.org/", "https://\u212aa.jp/",
        "https://faß.jp/", "https://ex%61mple.org/", "https://example.org\\@evil.com/",
        "https://example.org /", " https://example.org/", "https://example.org/\n", "https://a.org/\u202e",
        "http://example.org:80/a/./b/../c", "https://example.org/a/..", "https://a.org/b/.",
        "https://example.org/a/%2E%2e/%2e%2E/b/.", "https://a.org/..;x=1/b",
        "https://docs.example.org/3/../", "https://docs.example.org/3/%2e%2e/x",
        "https://a.org/\x00", "https://a.org/\u200b", "https://a.org/%2e%2e%2f", "https://a.org/%5C",
        "https://a.org/%00", "https://a.org/%0a", "https://a.org/%252e%252e/", "https://a.org/%zz",
        "https://a.org/..;/x", "https://a.org/%c0%ae%c0%ae/", "https://a.org/%",
        f"https://{'a' * 64}.org/", f"https://{'a.' * 130}org/", f"https://a.org/{'蟹' * 300}",
        f"https://a.org/{'a' * 2048}",
    ],
)  # fmt: skip
def test_what_is_odd_is_no_address_and_is_not_repeated(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        Address.of(url)
    assert caught.value.field == "url"
    assert len(caught.value.message) < 100
    assert "evil" not in caught.value.message


@for_each(
    ("url", "prefix"),
    [
        ("https://docs.example.org/3/", "https://docs.example.org/3/"),
        ("https://docs.example.org/3/x?y=1", "https://docs.example.org/3/"),
        ("https://docs.example.org/3/library", "https://docs.example.org/3/library"),
        ("https://docs.example.org/3/library/os.html", "https://docs.example.org/3/library"),
        ("https://docs.example.org/3/library-x", "https://docs.example.org/3/"),
        ("https://a.b.wild.example.net/x", "https://*.wild.example.net/"),
        ("https://例え.jp/記事/蟹", "https://xn--r8jz45g.jp/%E8%A8%98%E4%BA%8B/"),
        ("https://docs.example.org/3", None),
        ("https://docs.example.org/31/", None),
        ("http://docs.example.org/3/", None),
        ("https://docs.example.org.evil.com/3/", None),
        ("https://wild.example.net/", None),
        ("https://evilwild.example.net/", None),
        ("https://例え.jp/", None),
    ],
)
def test_the_longest_prefix_that_covers_an_address_is_found(url: str, prefix: str | None) -> None:
    assert ALLOWED.prefix(Address.of(url)) == prefix


@pytest.mark.parametrize(
    "entry",
    [
        "docs.example.org", "*", "https://*", "https://*.org", "https://*.*.example.org/",
        "https://example.org/?q", "https://example.org/#a", "https://10.0.0.1/",
        "https://example.org:8443/", "https://localhost/", "",
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_used_is_named(entry: str) -> None:
    with pytest.raises(Invalid) as caught:
        AllowList([entry])
    assert repr(entry) in caught.value.message
    assert caught.value.field == "web.allow"


def test_nothing_is_allowed_by_an_empty_list() -> None:
    assert AllowList([]).prefix(Address.of("https://docs.example.org/3/")) is None
