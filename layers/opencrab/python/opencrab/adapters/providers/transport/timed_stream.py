"""Connections that keep to a deadline however slowly bytes drip, and know if nobody heard them.

httpx and httpcore grant each read and each write a timeout of its own. Here the timeouts of a
request are points in time instead, as `time.monotonic` tells them.
"""

import ssl
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

import httpcore

CONNECT_SECONDS = 10.0

PROMPT_SECONDS = 2.0
"""A server that hangs up later than this after a request may have worked on it."""

Clock = Callable[[], float]

_PIECE_BYTES = 64 * 1024


class NeverHeard(Exception):
    """A kept connection had ended when a request was sent on it, which thus reached nobody."""


class TimedBackend(httpcore.NetworkBackend):
    """Makes such connections."""

    def __init__(self) -> None:
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        left = min(_left(timeout, httpcore.ConnectTimeout, monotonic), CONNECT_SECONDS)
        return TimedStream(
            self._backend.connect_tcp(host, port, left, local_address, socket_options)
        )


class TimedStream(httpcore.NetworkStream):
    """One connection; `clock` counts seconds as `time.monotonic` does."""

    def __init__(self, stream: httpcore.NetworkStream, clock: Clock = monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._is_kept = False
        self._heard = False
        self._written = 0.0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = _left(timeout, httpcore.ReadTimeout, self._clock)
        try:
            received = self._stream.read(max_bytes, left)
        except httpcore.ReadError:
            self._check_heard()
            raise
        if not received:
            self._check_heard()
        self._heard = True
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._heard:
            self._is_kept, self._heard = True, False
        self._written = self._clock()
        for start in range(0, len(buffer), _PIECE_BYTES):
            piece = buffer[start : start + _PIECE_BYTES]
            self._stream.write(piece, _left(timeout, httpcore.WriteTimeout, self._clock))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = min(_left(timeout, httpcore.ConnectTimeout, self._clock), CONNECT_SECONDS)
        stream = self._stream.start_tls(ssl_context, server_hostname, left)
        return TimedStream(stream, self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _check_heard(self) -> None:
        """Raise NeverHeard where an end can only be the one that came before the request.

        That is so on a connection over which an earlier request was answered, if it ends at once
        and without a byte.
        """
        at_once = self._clock() - self._written < PROMPT_SECONDS
        if self._is_kept and not self._heard and at_once:
            raise NeverHeard from None


def _left(deadline: float | None, error: type[httpcore.TimeoutException], clock: Clock) -> float:
    left = 0.0 if deadline is None else deadline - clock()
    if left <= 0:
        raise error("the time is over")
    return left
