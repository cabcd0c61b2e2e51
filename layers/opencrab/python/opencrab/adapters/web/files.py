"""Fetching a file from the few hosts that may keep it, without redirects and within limits."""

import ssl
from collections.abc import Callable, Iterable
from time import monotonic

import httpcore
import httpx

from opencrab.adapters.web.address import Address, AllowList
from opencrab.adapters.web.connection import Clock, Resolve, resolve_web_host
from opencrab.adapters.web.guarded_get import (
    MOVED,
    GuardedGet,
    require_web_status_200,
    web_response_headers,
)
from opencrab.domain.errors import NotFound, Refused, TooLarge, Unavailable

_HEADERS = [("user-agent", "opencrab"), ("accept", "*/*"), ("accept-encoding", "identity")]
_GONE = frozenset({403, 404, 410})


class HttpFiles:
    """`ports.conversation.file_source.FileSource` for files below allowed addresses.

    Its arguments are those of `HttpPages`.
    """

    def __init__(
        self,
        allowed: AllowList,
        connector: httpcore.NetworkBackend,
        resolve: Resolve = resolve_web_host,
        clock: Clock = monotonic,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
    ) -> None:
        self._allowed = allowed
        self._clock = clock
        self._get = GuardedGet(connector, resolve, clock, new_tls, what="file", allowance="in time")

    def fetch(
        self, url: str, *, most: int, seconds: float, headers: Iterable[tuple[str, str]] = ()
    ) -> bytes:
        """Return a file; `headers` are sent to allowed addresses only."""
        address, deadline = Address.of(url), self._clock() + seconds
        if self._allowed.prefix(address) is None:
            raise Refused("this address is not allowed")
        with self._get.opened(address, [*_HEADERS, *headers], deadline) as response:
            told = web_response_headers(response)
            if response.status in MOVED:
                raise Refused("the file's server redirects")
            if response.status in _GONE:
                raise NotFound(f"the file's server returned status {response.status}")
            require_web_status_200("file", response.status)
            if told.get("content-encoding", "identity").strip().lower() != "identity":
                raise Unavailable("the file came packed, although it was asked for as it is")
            announced = told.get("content-length", "")
            if announced.isascii() and announced.isdecimal() and int(announced[:20]) > most:
                raise _too_large(most)
            return _read_at_most(self._get.pieces(response, deadline), most)


def _read_at_most(pieces: Iterable[bytes], most: int) -> bytes:
    whole = bytearray()
    for piece in pieces:
        whole += piece
        if len(whole) > most:
            raise _too_large(most)
    return bytes(whole)


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"the file is larger than {most:,} bytes")
