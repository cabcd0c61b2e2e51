"""Which characters the bytes of a page stand for, as header and page say; else UTF-8."""

import codecs
import re

_HEAD_BYTES = 4_096
_HEADER = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{1,500}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml[^>]{1,200}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CODECS = {
    **dict.fromkeys(("utf-8", "utf8"), "utf-8"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji"), "cp932"),
    **dict.fromkeys(("windows-31j", "cp932", "ms932", "csshiftjis"), "cp932"),
    **dict.fromkeys(("euc-jp", "x-euc-jp", "eucjp", "cseucpkdfmtjapanese"), "euc_jp"),
    **dict.fromkeys(("iso-2022-jp", "csiso2022jp"), "iso2022_jp"),
    **dict.fromkeys(("us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252"), "cp1252"),
    **{f"iso-8859-{part}": f"iso8859-{part}" for part in (2, 5, 7, 9, 15)},
    **{f"windows-{page}": f"cp{page}" for page in (1250, 1251, 1253, 1254)},
    **dict.fromkeys(("gb2312", "gbk", "gb18030"), "gb18030"),
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "koi8-r": "koi8-r",
    "utf-16": "utf-16-le",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
}
"""Names as pages write them; Python knows codecs by more names, and some decode no text."""


def decode_web_page(body: bytes, content_type: str) -> str:
    """Decode a body by byte order mark, header or meta tag; replace invalid bytes."""
    for mark, codec in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    return body.decode(_codec(body, content_type), "replace")


def _codec(body: bytes, content_type: str) -> str:
    head = body[:_HEAD_BYTES]
    told = _HEADER.search(content_type)
    written = _META.search(head) or _XML.search(head)
    named = told[1] if told else written[1].decode("ascii", "replace") if written else ""
    return _CODECS.get(named.lower(), "utf-8")
