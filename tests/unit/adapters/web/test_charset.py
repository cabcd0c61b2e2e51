"""Charsets as Japanese pages declare them, in header, page or not at all."""

import codecs

import pytest

from opencrab.adapters.web.charset import decode_web_page

JAPANESE = "蟹は横に歩く。ガザミ、〜①髙"
PLAIN = "蟹は横に歩く。ガザミ、ズワイ"


@pytest.mark.parametrize(
    ("name", "codec", "text"),
    [
        ("Shift_JIS", "cp932", JAPANESE.replace("〜", "～")),
        ("x-sjis", "shift_jis", PLAIN),
        ("Windows-31J", "cp932", PLAIN),
        ("EUC-JP", "euc_jp", PLAIN),
        ("ISO-2022-JP", "iso2022_jp", PLAIN),
        ("UTF-8", "utf-8", JAPANESE),
        ("utf-16be", "utf-16-be", JAPANESE),
    ],
)
def test_a_declared_charset_is_used(name: str, codec: str, text: str) -> None:
    assert decode_web_page(text.encode(codec), f"text/html; charset={name}") == text
    assert decode_web_page(text.encode(codec), f'text/html;charset="{name.lower()}"') == text


@pytest.mark.parametrize(
    "head",
    [
        '<html><head><meta charset="{}">',
        "<meta http-equiv='Content-Type' content='text/html; charset={}'>",
        '<?xml version="1.0" encoding="{}"?><p>',
    ],
)
@pytest.mark.parametrize(
    ("name", "codec"), [("Shift_JIS", "cp932"), ("EUC-JP", "euc_jp"), ("iso-2022-jp", "iso2022_jp")]
)
def test_a_page_may_declare_it_itself(head: str, name: str, codec: str) -> None:
    page = f"{head.format(name)}{PLAIN}"
    assert decode_web_page(page.encode(codec), "text/html") == page


def test_the_header_wins_over_the_page_and_a_mark_over_both() -> None:
    page = f'<meta charset="euc-jp">{PLAIN}'
    assert decode_web_page(page.encode("cp932"), "text/html; charset=shift_jis") == page
    marked = codecs.BOM_UTF8 + page.encode()
    assert decode_web_page(marked, "text/html; charset=shift_jis") == page
    assert decode_web_page(codecs.BOM_UTF16_LE + page.encode("utf-16-le"), "text/html") == page


@pytest.mark.parametrize(
    "name", ["", "unknown", "rot13", "punycode", "idna", "unicode_escape", "zlib", "utf-7", "../x"]
)
def test_an_unknown_charset_is_read_as_utf_8(name: str) -> None:
    assert decode_web_page("蟹 crab".encode(), f"text/html; charset={name}") == "蟹 crab"
    assert (
        decode_web_page(b"\xff crab \xe8\x9f", f"text/plain; charset={name}")
        == "\ufffd crab \ufffd"
    )


def test_english_in_an_old_charset_is_read() -> None:
    assert decode_web_page("café – “crab”".encode("cp1252"), "text/html; charset=ISO-8859-1") == (
        "café – “crab”"
    )
