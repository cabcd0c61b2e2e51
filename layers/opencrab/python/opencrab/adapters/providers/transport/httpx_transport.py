"""Requests over httpx: which of its errors mean that nothing left, and which that it may have."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from ipaddress import ip_address
from ssl import SSLContext
from time import monotonic
from typing import Any, Self
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from opencrab.adapters.providers.transport.exchange import (
    REPLY_BYTES,
    STOP_CHECK_SECONDS,
    ExchangeStopped,
    IsStopped,
    OpenReply,
    Reply,
    provider_exchange_never_stopped,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.models.fault import Fault, ModelCallFailed

_NEW = httpx.Limits(max_connections=100, max_keepalive_connections=0)
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=300.0)
_HEADERS = {"user-agent": "opencrab", "accept-encoding": "identity"}
_tls_context = cache(httpx.create_ssl_context)  # it reads all certificates: 20 ms of CPU
_NOTHING_LEFT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
    httpx.InvalidURL,
    UnicodeError,
)
_UNTOLD = (httpx.LocalProtocolError, httpx.InvalidURL, UnicodeError)
"""Errors whose own words may quote a header or an address."""


def new_client() -> httpx.BaseTransport:
    """Create a pooled httpx transport; the caller shares and closes it.

    httpx's client is not used: cookies, redirects and authentication are not needed, and without
    them each request takes a third less CPU. The environment's proxies are used, except for this
    machine, where local models run. Raises Invalid if a proxy cannot be used.
    """
    context = _tls_context()
    proxies = {
        scheme: proxy
        for scheme, proxy in getproxies().items()
        if scheme in {"http", "https", "all"}
    }
    proxied = {
        scheme: _proxy_transport(scheme, proxy, context) for scheme, proxy in proxies.items()
    }
    return _ByProxy(_Way(context), proxied)


def _proxy_transport(scheme: str, proxy: str, context: SSLContext) -> httpx.BaseTransport:
    """Create a transport through a proxy; errors do not quote its URL and password."""
    try:
        return _Way(context, proxy if "://" in proxy else f"http://{proxy}")
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        name = f"{scheme.upper()}_PROXY"
        why = "" if isinstance(error, httpx.InvalidURL | UnicodeError) else f": {error}"
        raise Invalid(
            f"the proxy in {name} of the environment cannot be used{why}",
            cure=f"correct or unset {name}",
        ) from None


class _Pool(httpx.HTTPTransport):
    """A connection pool that enforces each request's deadline, which httpx cannot."""

    def __init__(self, context: SSLContext, limits: httpx.Limits, proxy: str | None) -> None:
        super().__init__(verify=context, limits=limits, proxy=proxy)
        self._pool._network_backend = TimedBackend()  # noqa: SLF001


class _Way(httpx.BaseTransport):
    """A transport that reuses connections, and resends on a new one if a reused one was closed."""

    def __init__(self, context: SSLContext, proxy: str | None = None) -> None:
        self._kept = _Pool(context, _LIMITS, proxy)
        self._new = _Pool(context, _NEW, proxy)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return self._kept.handle_request(request)
        except NeverHeard:
            return self._new.handle_request(request)

    def close(self) -> None:
        self._kept.close()
        self._new.close()


class _ByProxy(httpx.BaseTransport):
    """One transport without a proxy, and one for each proxy of the environment."""

    def __init__(
        self, direct: httpx.BaseTransport, proxied: Mapping[str, httpx.BaseTransport]
    ) -> None:
        self._direct = direct
        self._proxied = proxied

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._way(request.url).handle_request(request)

    def close(self) -> None:
        for way in (self._direct, *self._proxied.values()):
            way.close()

    def _way(self, url: httpx.URL) -> httpx.BaseTransport:
        if not self._proxied or _is_here(url.host) or proxy_bypass(url.host):
            return self._direct
        return self._proxied.get(url.scheme) or self._proxied.get("all") or self._direct


class HttpxTransport:
    """`Transport` over a shared httpx transport."""

    def __init__(self, client: httpx.BaseTransport) -> None:
        self._client = client

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        with self._opened(url, headers, body, timeout_seconds) as opened:
            return Reply(opened.status, b"".join(opened.chunks), opened.headers)

    @contextmanager
    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> Iterator[OpenReply]:
        with self._opened(url, headers, body, timeout_seconds, is_stopped) as opened:
            yield opened

    @contextmanager
    def _opened(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> Iterator[OpenReply]:
        deadline = Deadline(monotonic() + timeout_seconds, is_stopped)
        exchange = _Exchange(_origin(url), timeout_seconds, deadline)
        with exchange.explained():
            patience = dict.fromkeys(("connect", "read", "write"), deadline)
            request = _request(url, headers, body, {**patience, "pool": timeout_seconds})
            response = self._client.handle_request(request)
        try:
            yield OpenReply(response.status_code, dict(response.headers), exchange.chunks(response))
        finally:
            with suppress(httpx.HTTPError):
                response.close()


def _request(
    url: str, headers: Mapping[str, str], body: bytes | None, patience: Mapping[str, float]
) -> httpx.Request:
    """Build a request; its timeouts are deadlines, as TimedStream expects, except `pool`."""
    request = httpx.Request(
        "GET" if body is None else "POST",
        _parsed_url(url),
        headers={**_HEADERS, **headers},
        content=body,
        extensions={"timeout": dict(patience)},
    )
    if not request.url.host:
        raise httpx.UnsupportedProtocol("the address has no host")
    return request


@lru_cache(maxsize=64)
def _parsed_url(url: str) -> httpx.URL:
    """Parse an address once: the same few are called again and again."""
    return httpx.URL(url)


@dataclass(frozen=True)
class _Exchange:
    """One request: server, timeout, and deadline in monotonic time, for error messages."""

    origin: str
    timeout_seconds: float
    deadline: float

    def chunks(self, response: httpx.Response) -> Iterator[bytes]:
        """Yield the body; raise ModelCallFailed if it is too large or too slow."""
        size = 0
        with self.explained(begun=True):
            for chunk in response.iter_bytes():
                self._check_time()
                size += len(chunk)
                if size > REPLY_BYTES:
                    message = f"the answer of {self.origin} is larger than {REPLY_BYTES} bytes"
                    raise ModelCallFailed(message, Fault.BROKEN_OFF)
                yield chunk
            self._check_time()

    @contextmanager
    def explained(self, *, begun: bool = False) -> Iterator[None]:
        """Translate httpx's errors into faults.

        After the response began, nothing is UNREACHABLE.
        """
        try:
            yield
        except httpx.TimeoutException as error:
            if isinstance(error, _NOTHING_LEFT) and not begun:
                raise self._unreachable(error) from None
            raise self._too_late() from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            if isinstance(error, _NOTHING_LEFT) and not begun:
                raise self._unreachable(error) from None
            if monotonic() >= self.deadline:
                raise self._too_late() from None
            message = f"{self.origin} closed the connection: {_error_message(error)}"
            raise ModelCallFailed(message, Fault.BROKEN_OFF) from None

    def _check_time(self) -> None:
        if monotonic() >= self.deadline:
            raise httpx.ReadTimeout("the response was too slow")

    def _unreachable(self, error: Exception) -> ModelCallFailed:
        return ModelCallFailed(
            f"no connection to {self.origin}: {_error_message(error)}",
            Fault.UNREACHABLE,
            cure="check the base_url of the provider, and that its server runs",
        )

    def _too_late(self) -> ModelCallFailed:
        message = f"{self.origin} did not answer within {self.timeout_seconds:g} s"
        return ModelCallFailed(message, Fault.TIMEOUT)


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _origin(url: str) -> str:
    """Return scheme, host and port, so that errors do not quote the whole URL."""
    return "/".join(url.split("/", 3)[:3])


def _error_message(error: Exception) -> str:
    if isinstance(error, _UNTOLD):
        return "the address or a header contains characters that HTTP does not allow"
    return str(error) or type(error).__name__


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
