"""The body of a reply: unpacked as it arrives, and never larger than allowed."""

import zlib
from collections.abc import Iterable, Iterator

from opencrab.domain.errors import Invalid, TooLarge, Unavailable

BODY_BYTES = 2 * 1024 * 1024
"""Of a body as it travels, and again of what it is unpacked to."""

_GZIP = 16 + zlib.MAX_WBITS


def web_response_body(chunks: Iterable[bytes], encoding: str) -> bytes:
    """Read and decompress the body.

    Raise TooLarge, Unavailable, or Invalid for another encoding.
    """
    packed = _limit_body_size(chunks)
    if encoding in {"", "identity"}:
        return b"".join(packed)
    if encoding not in {"gzip", "x-gzip"}:
        raise Invalid("the page's content encoding is not gzip", cure="use another page")
    try:
        return b"".join(_limit_body_size(_decompress_gzip(packed)))
    except zlib.error:
        raise Unavailable(
            "the page's gzip data is invalid", cure="try again later, or use another page"
        ) from None


def _limit_body_size(chunks: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > BODY_BYTES:
            raise TooLarge(
                f"the page is larger than {BODY_BYTES} bytes", cure="look for a smaller page"
            )
        yield chunk


def _decompress_gzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield decompressed pieces of limited size, whatever the compression ratio."""
    unpacker = zlib.decompressobj(_GZIP)
    for chunk in chunks:
        rest = chunk
        while rest and not unpacker.eof:
            yield unpacker.decompress(rest, BODY_BYTES)
            rest = unpacker.unconsumed_tail
    if not unpacker.eof:
        raise Unavailable(
            "the connection closed before the page was complete",
            cure="try again later, or use another page",
        )
