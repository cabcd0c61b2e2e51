"""Addresses: one sender is read or none, and ids are nobody else's."""

import pytest

from opencrab.domain.email.address import (
    email_addresses_in_header,
    email_event_id,
    email_person_id,
    email_room_id,
    email_thread_id,
    normalize_email_address,
    one_line_of_email,
    parse_email_sender,
    quote_email_address,
)


@pytest.mark.parametrize(
    ("header", "sender"),
    [
        ('"山田" <Taro@Example.net>', ("山田", "taro@example.net")),
        ("taro@example.net", ("", "taro@example.net")),
        ("taro@example.net (Taro)", ("Taro", "taro@example.net")),
        ('"owner@example.org" <evil@example.net>', ("owner@example.org", "evil@example.net")),
        ('"a \\" <b@c.d>" <evil@example.net>', ('a " <b@c.d>', "evil@example.net")),
        ("Taro\r\n <taro@example.net>", ("Taro", "taro@example.net")),
        ("taro+crab@example.net", ("", "taro+crab@example.net")),
        ("taro..y@docomo.ne.jp", ("", "taro..y@docomo.ne.jp")),
        ('"山田" <"Taro..Y."@DOCOMO.ne.jp>', ("山田", "taro..y.@docomo.ne.jp")),
        ("太郎 <.taro-@ezweb.ne.jp>", ("太郎", ".taro-@ezweb.ne.jp")),
        ('"plain"@au.com', ("", "plain@au.com")),
    ],
)
def test_one_sender_is_read(header: str, sender: tuple[str, str]) -> None:
    assert parse_email_sender(header) == sender


@pytest.mark.parametrize(
    "header",
    [
        "a@example.net, b@example.net",
        "A <a@example.net>, B <b@example.net>",
        "<a@example.net> <b@example.net>",
        "owner@example.org evil@example.net",
        "a@example.net\r\nBcc: b@example.net",
        '"quoted part"@example.net',
        '"quoted"@example.net',
        "taro..y@example.ne.jp",
        "taro..y@docomo.ne.jp.example.net",
        '"taro..y@docomo.ne.jp',
        '"a@b"@docomo.ne.jp',
        "a..b@x@docomo.ne.jp",
        "a@[127.0.0.1]",
        "太郎@example.net",
        "a@b@c.d",
        "a\0@example.net",
        "x" * 65 + "@example.net",
        "a@" + "b" * 300,
        "undisclosed",
        "",
        '"' * 1_000,
    ],
)
def test_what_programs_read_differently_is_nobody(header: str) -> None:
    assert parse_email_sender(header) is None


def test_recipients_are_found_in_any_form() -> None:
    header = '"蟹" <Crab@Example.org>, b@example.net (x), a@example.org;crab@example.org'
    assert email_addresses_in_header(header) == (
        "crab@example.org",
        "b@example.net",
        "a@example.org",
    )
    assert normalize_email_address("a..b@example.org") is None


@pytest.mark.parametrize(
    ("address", "quoted"),
    [
        ("taro@example.net", "taro@example.net"),
        ("taro.y@docomo.ne.jp", "taro.y@docomo.ne.jp"),
        ("taro..y@docomo.ne.jp", '"taro..y"@docomo.ne.jp'),
        (".taro@ezweb.ne.jp", '".taro"@ezweb.ne.jp'),
        ("taro.@au.com", '"taro."@au.com'),
    ],
)
def test_an_address_of_a_carrier_is_quoted_where_it_is_written(address: str, quoted: str) -> None:
    assert quote_email_address(address) == quoted
    assert normalize_email_address(quoted) == normalize_email_address(address) == address


def test_an_unverified_sender_is_another_person_and_equal_beginnings_differ() -> None:
    verified, forged = (email_person_id("a@b.c", verified=each) for each in (True, False))
    assert verified != forged
    rooms = {
        email_room_id(person, alias, email_thread_id(root))
        for person in (verified, forged)
        for alias in ("x@y", "x@z")
        for root in ("<1@a>", "<11@a>")
    }
    assert len(rooms) == 8
    # Parts do not run into each other.
    assert email_event_id(verified, "ab", "c") != email_event_id(verified, "a", "bc")
    assert len(email_event_id(verified, "\ud83d")) <= 64


def test_a_line_has_no_controls_no_directions_and_no_halves() -> None:
    assert one_line_of_email("a\r\nBcc: x\0\u202e\ud83d蟹\t\u3000b", 40) == "a Bcc: x\ufffd蟹 b"
    assert one_line_of_email("か\u3099" * 10, 5) == "ががが" + "が…"
