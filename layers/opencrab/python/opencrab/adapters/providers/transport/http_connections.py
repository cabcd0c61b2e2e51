"""Connections over httpcore: kept or new, direct or through the environment's proxies.

httpx, whose connections these are, is not loaded: importing it takes five times as long, and a
request a quarter more CPU. It is asked only to open the way through a proxy.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from ipaddress import ip_address
from ssl import SSLContext, create_default_context
from threading import Lock
from time import monotonic
from typing import Any, Protocol, Self
from urllib.request import getproxies, proxy_bypass

import httpcore

from opencrab.adapters.providers.transport.exchange import (
    STOP_CHECK_SECONDS,
    ExchangeStopped,
    IsStopped,
    provider_exchange_never_stopped,
)
from opencrab.domain.errors import Invalid

_MOST = 100
_KEPT = 20
_KEPT_SECONDS = 300.0


class RequestHandler(Protocol):
    """Whatever sends a request of httpcore, as its pools do."""

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request whose timeouts are deadlines; raises httpcore's errors."""

    def close(self) -> None:
        """Close all connections."""


class HttpConnections:
    """Pooled connections that all requests of a process share; the caller closes them.

    The environment's proxies are used, except for this machine, where local models run. Creating
    it raises Invalid if a proxy cannot be used; so do requests without the certificates they need.
    """

    def __init__(self) -> None:
        proxies = {
            scheme: proxy
            for scheme, proxy in getproxies().items()
            if scheme in {"http", "https", "all"}
        }
        self._lock = Lock()
        self._direct = dict[str, RequestHandler]()
        self._proxied = {scheme: _way_through(scheme, proxy) for scheme, proxy in proxies.items()}

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close all connections."""
        self.close()

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request; raises httpcore's errors."""
        return self._way(request.url).handle_request(request)

    def close(self) -> None:
        """Close all connections."""
        for way in (*self._direct.values(), *self._proxied.values()):
            way.close()

    def _way(self, url: httpcore.URL) -> RequestHandler:
        scheme, host = url.scheme.decode("ascii"), url.host.decode("ascii")
        proxied = self._proxied.get(scheme) or self._proxied.get("all")
        if proxied is None or _is_here(host) or proxy_bypass(host):
            return self._direct_way(scheme)
        return proxied

    def _direct_way(self, scheme: str) -> RequestHandler:
        """Return the way without a proxy; only TLS needs the certificates."""
        with self._lock:
            if scheme not in self._direct:
                context = tls_context() if scheme == "https" else None
                self._direct[scheme] = _Way(_direct_pool(_KEPT, context), _direct_pool(0, context))
            return self._direct[scheme]


class _Way:
    """Reuses connections, and resends on a new one if a reused one was closed."""

    def __init__(self, kept: RequestHandler, new: RequestHandler) -> None:
        self._kept = kept
        self._new = new

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        try:
            return self._kept.handle_request(request)
        except NeverHeard:
            return self._new.handle_request(request)

    def close(self) -> None:
        self._kept.close()
        self._new.close()


@cache
def tls_context() -> SSLContext:
    """Return the process's TLS context; reading all certificates takes 20 ms of CPU.

    `SSL_CERT_FILE` and `SSL_CERT_DIR` of the environment replace certifi's certificates, as with
    httpx. Raises Invalid if they cannot be read.
    """
    file, folder = map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR"))  # noqa: TID251 - OpenSSL's
    if file or folder:
        try:
            return create_default_context(cafile=file or None, capath=None if file else folder)
        except OSError:
            name = "SSL_CERT_FILE" if file else "SSL_CERT_DIR"
            raise Invalid(
                f"the certificates in {name} of the environment cannot be read",
                cure=f"correct or unset {name}",
            ) from None
    import certifi  # noqa: PLC0415 - only then

    return create_default_context(cafile=certifi.where())


def _direct_pool(kept: int, context: SSLContext | None) -> httpcore.ConnectionPool:
    return httpcore.ConnectionPool(
        context,
        max_connections=_MOST,
        max_keepalive_connections=kept,
        keepalive_expiry=_KEPT_SECONDS,
        network_backend=TimedBackend(),
    )


def _way_through(scheme: str, proxy: str) -> RequestHandler:
    """Open the way through a proxy; errors do not quote its URL and password."""
    import httpx  # noqa: PLC0415 - few have a proxy

    url = proxy if "://" in proxy else f"http://{proxy}"
    try:
        kept, new = (_pool_through(httpx, url, each) for each in (_KEPT, 0))
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        name = f"{scheme.upper()}_PROXY"
        why = "" if isinstance(error, httpx.InvalidURL | UnicodeError) else f": {error}"
        raise Invalid(
            f"the proxy in {name} of the environment cannot be used{why}",
            cure=f"correct or unset {name}",
        ) from None
    return _Way(kept, new)


def _pool_through(httpx: Any, url: str, kept: int) -> RequestHandler:
    limits = httpx.Limits(
        max_connections=_MOST, max_keepalive_connections=kept, keepalive_expiry=_KEPT_SECONDS
    )
    pool: Any = httpx.HTTPTransport(verify=tls_context(), limits=limits, proxy=url)._pool  # noqa: SLF001
    pool._network_backend = TimedBackend()  # noqa: SLF001 - it has no parameter for it
    handler: RequestHandler = pool
    return handler


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


CONNECT_SECONDS = 10.0

PROMPT_SECONDS = 2.0
"""A server that hangs up later than this after a request may have worked on it."""

Clock = Callable[[], float]

_PIECE_BYTES = 64 * 1024


class NeverHeard(Exception):
    """A reused connection was already closed, so the request did not reach the server."""


class TimedBackend(httpcore.NetworkBackend):
    """An httpcore backend that opens TimedStreams."""

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


class Deadline(float):
    """A deadline in seconds of a clock, and who is asked meanwhile whether to stop.

    httpcore hands a request's timeouts to its connection as they are, so this reaches TimedStream.
    """

    is_stopped: IsStopped

    def __new__(cls, seconds: float, is_stopped: IsStopped) -> Self:
        """Create a deadline."""
        deadline = super().__new__(cls, seconds)
        deadline.is_stopped = is_stopped
        return deadline


class TimedStream(httpcore.NetworkStream):
    """A connection whose timeouts are deadlines on `clock`, as of `time.monotonic`."""

    def __init__(self, stream: httpcore.NetworkStream, clock: Clock = monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._is_kept = False
        self._heard = False
        self._written = 0.0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            received = self._read(max_bytes, timeout)
        except httpcore.ReadError:
            self._check_heard()
            raise
        if not received:
            self._check_heard()
        self._heard = True
        return received

    def _read(self, max_bytes: int, timeout: float | None) -> bytes:
        """Read in slices of time if there is somebody to ask in between whether to stop.

        Asked before each read, too: what arrives need not be words.
        """
        never = provider_exchange_never_stopped
        if not isinstance(timeout, Deadline) or timeout.is_stopped is never:
            left = _left(timeout, httpcore.ReadTimeout, self._clock)
            return self._stream.read(max_bytes, left)
        while not timeout.is_stopped():
            left = _left(timeout, httpcore.ReadTimeout, self._clock)
            with suppress(httpcore.ReadTimeout):
                return self._stream.read(max_bytes, min(left, STOP_CHECK_SECONDS))
        raise ExchangeStopped

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
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        left = min(_left(timeout, httpcore.ConnectTimeout, self._clock), CONNECT_SECONDS)
        stream = self._stream.start_tls(ssl_context, server_hostname, left)
        return TimedStream(stream, self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _check_heard(self) -> None:
        """Raise NeverHeard if the connection was closed before the request reached the server.

        That is so if an earlier request was answered on it, and it ends at once without a byte.
        """
        at_once = self._clock() - self._written < PROMPT_SECONDS
        if self._is_kept and not self._heard and at_once:
            raise NeverHeard from None


def _left(deadline: float | None, error: type[httpcore.TimeoutException], clock: Clock) -> float:
    left = 0.0 if deadline is None else deadline - clock()
    if left <= 0:
        raise error("timed out")
    return left
