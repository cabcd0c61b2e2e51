"""Character sets of mails: those of Japan, with vendors' signs, wrong names and broken bytes."""

import pytest

from opencrab.domain.email.charset import decode_email_header, decode_email_text

TEXT = "蟹と海老、カニとﾃｽﾄ"


def vendor_jis(text: str) -> bytes:
    """ISO-2022-JP as Windows programs write it: also ① and ㈱."""
    found = b""
    for each in text:
        shifted = each.encode("cp932")
        if len(shifted) == 1:
            found += b"\x1b(I" + bytes((shifted[0] & 0x7F,)) if shifted[0] > 0x80 else shifted
            continue
        first, second = shifted
        row = (first - (0x70 if first < 0xA0 else 0xB0)) * 2
        is_even = second >= 0x9F
        cell = second - (0x7E if is_even else 0x20 if second > 0x7E else 0x1F)
        found += b"\x1b$B" + bytes((row if is_even else row - 1, cell)) + b"\x1b(B"
    return found


@pytest.mark.parametrize(
    ("charset", "content"),
    [
        ("utf-8", TEXT.encode()),
        ("UTF8", TEXT.encode()),
        ("Shift_JIS", TEXT.encode("cp932")),
        ("x-sjis", TEXT.encode("cp932")),
        ("EUC-JP", TEXT.encode("euc_jp")),
        ("ISO-2022-JP", vendor_jis(TEXT)),
        ("iso-2022-jp-2", vendor_jis(TEXT)),
        ("", vendor_jis(TEXT)),
        ("", TEXT.encode()),
        ("us-ascii", TEXT.encode()),
        ("x-unknown", TEXT.encode()),
        ("x\0y", TEXT.encode()),
        ("utf-8", TEXT.encode("cp932")),
    ],
)
def test_text_is_read_by_its_set_or_by_what_it_is(charset: str, content: bytes) -> None:
    assert decode_email_text(content, charset) == TEXT


def test_signs_of_vendors_are_read_and_the_rest_agrees_with_python() -> None:
    assert decode_email_text(vendor_jis("①㈱髙"), "iso-2022-jp") == "①㈱髙"
    plain = "日本語の、ふつうの文章。"
    assert decode_email_text(plain.encode("iso2022_jp"), "iso-2022-jp") == plain
    lines = "一行目\r\n二行目"
    assert decode_email_text(lines.encode("iso2022_jp"), "iso-2022-jp") == lines


@pytest.mark.parametrize(
    "content", [b"\x1b$B$", b"\x1b$B\xff\xff", b"\x1b$B\x1b", b"\xff\xfe\x00", b"\x1b$B" + b"0" * 9]
)
@pytest.mark.parametrize("charset", ["iso-2022-jp", "utf-8", "utf-16", "punycode", "base64", ""])
def test_broken_bytes_never_fail(content: bytes, charset: str) -> None:
    decode_email_text(content, charset).encode("utf-8", "surrogatepass")


def test_escapes_of_programs_are_no_characters() -> None:
    for charset in ("unicode-escape", "Raw_Unicode_Escape", "punycode", "idna"):
        assert decode_email_text(b"xn--ls8h \\u202e-a", charset) == "xn--ls8h \\u202e-a"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("=?ISO-2022-JP?B?GyRCMyobKEI=?= <x>", "蟹 <x>"),
        ("=?utf-8?q?=E8=9F=B9?=\r\n =?utf-8?b?44Go?=", "蟹と"),
        ("=?utf-8?B?6J8=?= =?utf-8?B?uQ==?=", "蟹"),
        ("=?shift_jis?B?iUI=?=", "隠"),
        ("plain\r\n folded", "plain folded"),
        ("蟹".encode().decode("ascii", "surrogateescape"), "蟹"),
        ("蟹".encode("cp932").decode("ascii", "surrogateescape"), "蟹"),
        ("=?utf-8?B?****?=", ""),
    ],
)
def test_headers_are_read(raw: str, text: str) -> None:
    assert decode_email_header(raw) == text
