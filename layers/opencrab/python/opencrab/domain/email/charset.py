"""Texts of mails and headers in the character sets that mails use, also broken and unnamed ones."""

import binascii
import codecs
import re
from email.header import decode_header

_ALIASES = {
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "x-sjis": "cp932",
    "ms_kanji": "cp932",
    "windows-31j": "cp932",
    "x-euc-jp": "euc_jp",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "iso-8859-1": "cp1252",
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "unknown-8bit": "utf-8",
    "utf8": "utf-8",
    "utf-7": "ascii",
}
"""What is declared, and by which Python codec it is read: programs mean the wider one."""

_NO_CHARSETS = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "mbcs", "oem"}
)
"""Codecs of Python that no mail is written in: some need very long, some read escapes."""

_LONGEST = 4_000
_ESCAPE = re.compile(rb"\x1b(\$[@B]|\$\([@B]|\([BJIH])")
_WORD = re.compile(r"=\?[^?\s]{1,60}\?[bBqQ]\?[^?\s]*\?=")


def decode_email_text(content: bytes, charset: str = "") -> str:
    """Return text by its declared character set, else by what it looks like; never fails."""
    declared = charset.strip().strip('"').lower().partition("*")[0]
    if declared.startswith("iso-2022-jp") or (not declared and b"\x1b$" in content):
        return _japanese_of_iso_2022(content)
    codec = _codec(_ALIASES.get(declared, declared))
    for each in (codec, "utf-8", "cp932", "euc_jp"):
        try:
            if each:
                return content.decode(each)
        except (LookupError, ValueError):
            continue
    if b"\x1b$" in content:
        return _japanese_of_iso_2022(content)
    try:
        return content.decode(codec or "utf-8", "replace")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def _codec(name: str) -> str:
    """Return the name of a codec, "" for an unknown one, and for what is no character set."""
    try:
        codec = codecs.lookup(name).name if name else ""
    except (LookupError, ValueError):
        return ""
    return "" if codec in _NO_CHARSETS else codec


def decode_email_header(raw: str) -> str:
    """Return a header's text: encoded words (RFC 2047), and bytes that nobody encoded."""
    line = re.sub(r"\r?\n[ \t]?", " ", raw[:_LONGEST])
    if _WORD.search(line) is None:
        return _decode_plain_header(line)
    try:
        parts = decode_header(line)
    except (ValueError, LookupError, TypeError, binascii.Error):
        return _decode_plain_header(line)
    return "".join(
        each if isinstance(each, str) else decode_email_text(each, charset or "")
        for each, charset in parts
    )


def _decode_plain_header(line: str) -> str:
    return decode_email_text(line.encode("utf-8", "surrogateescape"))


def _japanese_of_iso_2022(content: bytes) -> str:
    """Return ISO-2022-JP with the signs of vendors (such as ① and ㈱), which Python's lacks."""
    text, mode, start = "", b"(B", 0
    for found in (*_ESCAPE.finditer(content), None):
        piece = content[start : len(content) if found is None else found.start()]
        text += _piece(piece, mode)
        if found is not None:
            mode, start = found[1], found.end()
    return text


def _piece(piece: bytes, mode: bytes) -> str:
    if mode == b"(I":
        return bytes(each | 0x80 for each in piece).decode("cp932", "replace")
    if not mode.startswith(b"$"):
        return piece.decode("utf-8", "replace")
    shifted, rest = bytearray(), iter(piece)
    for row in rest:
        if row in b"\r\n":
            shifted.append(row)
            continue
        cell = next(rest, None)
        if cell is None or not (0x21 <= row <= 0x7E and 0x21 <= cell <= 0x7E):  # noqa: PLR2004
            shifted += b"?"
            continue
        shifted += _shift_jis(row, cell)
    return shifted.decode("cp932", "replace")


def _shift_jis(row: int, cell: int) -> bytes:
    """Return a pair of JIS X 0208 in Shift_JIS."""
    is_odd = row % 2
    first = (row + 1) // 2 + (0x70 if row <= 0x5E else 0xB0)  # noqa: PLR2004 - where rows split
    second = cell + ((0x20 if cell >= 0x60 else 0x1F) if is_odd else 0x7E)  # noqa: PLR2004
    return bytes((first, second))
