"""Verdicts: only our server's topmost is believed, whatever a sender writes into it or below."""

import pytest

from opencrab.domain.email.authentication import (
    EmailVerdict,
    authserv_id_of_headers,
    verdict_of_email_headers,
)

GMAIL = """mx.google.com;
       dkim=pass header.i=@example.org header.s=s1 header.b="a;b=c";
       spf=pass (google.com: domain of me@example.org (a (nested) one) designates 1.2.3.4
 as permitted sender) smtp.mailfrom=me@example.org;
       dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.org"""
GOOD = "mx; dmarc=pass header.from=example.org"


def verdict(*headers: str, server: str = "mx", address: str = "me@example.org") -> EmailVerdict:
    told = [("authentication-results", each) for each in headers]
    return verdict_of_email_headers(told, server, address)


@pytest.mark.parametrize(
    ("header", "server"),
    [
        (GMAIL, "mx.google.com"),
        (GMAIL, "MX.Google.com"),
        (GOOD, "mx"),
        ("mx 1; dmarc/1 = pass header.from=EXAMPLE.org", "mx"),
        ("mx; spf=pass smtp.mailfrom=a@example.org; dkim=pass header.d=example.org", "mx"),
        (
            "mx; dmarc=none header.from=example.org; spf=pass smtp.mailfrom=b@example.org;"
            " dkim=fail header.d=example.org; dkim=pass header.i=@example.org",
            "mx",
        ),
    ],
)
def test_what_our_server_vouches_for_passes(header: str, server: str) -> None:
    assert verdict(header, server=server) is EmailVerdict.PASS


@pytest.mark.parametrize(
    "header",
    [
        "other; dmarc=pass header.from=example.org",
        "mx.evil; dmarc=pass header.from=example.org",
        "mx; dmarc=pass header.from=evil.net",
        "mx; dmarc=pass",
        "mx; dmarc=temperror header.from=example.org",
        "mx; dmarc=pass header.from=example.org; dmarc=pass header.from=example.org",
        "mx; dmarc=pass header.from=evil.net header.from=example.org",
        "mx; none",
        "mx",
        "",
        "mx; dmarc=pass (open header.from=example.org",
        "mx; dmarc=pass header.from=example.org)",
        'mx; spf=pass smtp.mailfrom="a; dmarc=pass header.from=example.org"@evil.net',
        "mx; spf=pass (x; dmarc=pass header.from=example.org) smtp.mailfrom=a@evil.net",
        "mx; spf=pass smtp.mailfrom=a@example.org",
        "mx; dkim=pass header.d=example.org",
        "mx; spf=pass smtp.mailfrom=a@evil.net; dkim=pass header.d=example.org",
        "mx; spf=pass smtp.mailfrom=a@example.org; dkim=pass header.d=evil.net",
        "mx; spf=pass smtp.mailfrom=a@org; dkim=pass header.d=org",
        "mx; xdmarc=pass header.from=example.org",
        "mx; dmarc=passed header.from=example.org",
        "mx; x dmarc=pass header.from=example.org",
        f"mx; {'x' * 9_000}; dmarc=pass header.from=example.org",
    ],
)
def test_anything_else_vouches_for_nobody(header: str) -> None:
    assert verdict(header) is EmailVerdict.NONE


def test_only_the_topmost_header_counts() -> None:
    assert verdict("other; dmarc=fail", GOOD) is EmailVerdict.NONE
    assert verdict("mx; dmarc=fail header.from=example.org", GOOD) is EmailVerdict.FAIL
    assert verdict(GOOD, "mx; dmarc=fail") is EmailVerdict.PASS
    assert verdict(GOOD, server="") is EmailVerdict.NONE


def test_a_domain_above_the_senders_vouches_and_one_beside_it_does_not() -> None:
    told = "mx; spf=pass smtp.mailfrom=b@{0}; dkim=pass header.d={0}"
    address = "me@mail.example.org"
    assert verdict(told.format("example.org"), address=address) is EmailVerdict.PASS
    for other in ("x.mail.example.org", "ample.org", "example.org.evil.net"):
        assert verdict(told.format(other), address=address) is EmailVerdict.NONE


def test_the_name_of_the_server_is_read() -> None:
    assert authserv_id_of_headers([("authentication-results", GMAIL)]) == "mx.google.com"
    assert authserv_id_of_headers([("from", "x")]) == ""
