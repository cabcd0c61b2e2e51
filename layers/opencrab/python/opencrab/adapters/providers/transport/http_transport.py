"""Requests over HTTP: which errors mean that nothing left, and which that it may have."""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from time import monotonic
from urllib.parse import quote, urlsplit

import httpcore

from opencrab.adapters.providers.transport.exchange import (
    REPLY_BYTES,
    IsStopped,
    OpenReply,
    Reply,
    provider_exchange_never_stopped,
)
from opencrab.adapters.providers.transport.http_connections import Deadline, RequestHandler
from opencrab.domain.errors import Invalid
from opencrab.domain.models.fault import Fault, ModelCallFailed

_HEADERS = {"user-agent": "opencrab", "accept-encoding": "identity"}
_PORTS = {"http": 80, "https": 443}
_TARGET = "/%:;@!$&'()*+,=?~-._[]"
"""What stays as it is in a path and a query; all else outside letters and digits is quoted."""

_GZIP = b"\x1f"
"""How a further stream of gzip begins."""

_TIMEOUTS = httpcore.TimeoutException
_FAILURES = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    UnicodeError,
)
_NOTHING_LEFT = (
    httpcore.ConnectError,
    httpcore.ConnectTimeout,
    httpcore.PoolTimeout,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    httpcore.LocalProtocolError,
    UnicodeError,
)
_UNTOLD = (httpcore.LocalProtocolError, UnicodeError)
"""Errors whose own words may quote a header or an address."""


class HttpTransport:
    """`Transport` over shared connections."""

    def __init__(self, connections: RequestHandler) -> None:
        self._connections = connections

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
            response = self._connections.handle_request(request)
        told = _headers_of_response(response)
        try:
            chunks = exchange.chunks(response, told.get("content-encoding", ""))
            yield OpenReply(response.status, told, chunks)
        finally:
            with suppress(_TIMEOUTS, *_FAILURES):
                response.close()


def _request(
    url: str, headers: Mapping[str, str], body: bytes | None, patience: Mapping[str, float]
) -> httpcore.Request:
    """Build a request; its timeouts are deadlines, as TimedStream expects, except `pool`."""
    address, host = _parsed_url(url)
    sent = {"host": host, **_HEADERS, **headers}
    if body is not None:
        sent["content-length"] = str(len(body))
    return httpcore.Request(
        "GET" if body is None else "POST",
        address,
        headers=[(name.encode("ascii"), value.encode("ascii")) for name, value in sent.items()],
        content=body,
        extensions={"timeout": dict(patience)},
    )


@lru_cache(maxsize=64)
def _parsed_url(url: str) -> tuple[httpcore.URL, str]:
    """Parse an address once, with its Host header: the same few are called again and again.

    Raises httpcore.UnsupportedProtocol if it is none, or its host is not in ASCII, as its owner was
    told to write it.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise httpcore.UnsupportedProtocol("it is no address") from None
    is_plain = host.isascii() and url.isprintable()
    if parts.scheme not in _PORTS or not host or not is_plain:
        raise httpcore.UnsupportedProtocol("the address has no host, or is not one of HTTP")
    target = quote(parts.path or "/", safe=_TARGET)
    if parts.query:
        target += "?" + quote(parts.query, safe=_TARGET + "/")
    shown = f"[{host}]" if ":" in host else host
    if port is not None and port != _PORTS[parts.scheme]:
        shown += f":{port}"
    return httpcore.URL(scheme=parts.scheme, host=host, port=port, target=target), shown


def _headers_of_response(response: httpcore.Response) -> dict[str, str]:
    """Return headers by their names in lower case; those that come several times are joined."""
    told: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1").lower(), _header_text(raw_value)
        told[name] = f"{told[name]}, {value}" if name in told else value
    return told


def _header_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _decode_body(pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Decode a body that is compressed, which nobody asked for; raises zlib.error."""
    if encoding.strip().lower() in {"gzip", "x-gzip", "deflate"}:
        return _decompress_streams(pieces)
    return pieces


def _decompress_streams(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress streams that follow each other; what comes after them is left out."""
    stream, is_whole = _decompressor(), True
    for piece in pieces:
        rest = piece
        while rest and (not stream.eof or rest.startswith(_GZIP)):
            if stream.eof:
                stream = _decompressor()
            yield stream.decompress(rest, REPLY_BYTES + 1)
            rest, is_whole = stream.unused_data, stream.eof
    if not is_whole:
        raise zlib.error("the compressed answer is unfinished")


def _decompressor() -> "zlib._Decompress":
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)


@dataclass(frozen=True)
class _Exchange:
    """One request: server, timeout, and deadline in monotonic time, for error messages."""

    origin: str
    timeout_seconds: float
    deadline: float

    def chunks(self, response: httpcore.Response, encoding: str) -> Iterator[bytes]:
        """Yield the body; raise ModelCallFailed if it is too large or too slow."""
        size = 0
        with self.explained(begun=True):
            for chunk in _decode_body(self._pieces(response), encoding):
                size += len(chunk)
                if size > REPLY_BYTES:
                    message = f"the answer of {self.origin} is larger than {REPLY_BYTES} bytes"
                    raise ModelCallFailed(message, Fault.BROKEN_OFF)
                yield chunk

    def _pieces(self, response: httpcore.Response) -> Iterator[bytes]:
        stream: Iterable[bytes] = response.iter_stream()
        for piece in stream:
            self._check_time()
            yield piece
        self._check_time()

    @contextmanager
    def explained(self, *, begun: bool = False) -> Iterator[None]:
        """Translate errors of httpcore and of the environment into faults.

        After the response began, nothing is UNREACHABLE.
        """
        try:
            yield
        except Invalid as error:
            raise ModelCallFailed(error.message, Fault.UNREACHABLE, cure=error.cure) from None
        except _TIMEOUTS as error:
            if isinstance(error, _NOTHING_LEFT) and not begun:
                raise self._unreachable(error) from None
            raise self._too_late() from None
        except (*_FAILURES, zlib.error) as error:
            if isinstance(error, _NOTHING_LEFT) and not begun:
                raise self._unreachable(error) from None
            if monotonic() >= self.deadline:
                raise self._too_late() from None
            message = f"{self.origin} closed the connection: {_error_message(error)}"
            raise ModelCallFailed(message, Fault.BROKEN_OFF) from None

    def _check_time(self) -> None:
        if monotonic() >= self.deadline:
            raise httpcore.ReadTimeout("the response was too slow")

    def _unreachable(self, error: Exception) -> ModelCallFailed:
        return ModelCallFailed(
            f"no connection to {self.origin}: {_error_message(error)}",
            Fault.UNREACHABLE,
            cure="check the base_url of the provider, and that its server runs",
        )

    def _too_late(self) -> ModelCallFailed:
        message = f"{self.origin} did not answer within {self.timeout_seconds:g} s"
        return ModelCallFailed(message, Fault.TIMEOUT)


def _origin(url: str) -> str:
    """Return scheme, host and port, so that errors do not quote the whole URL."""
    return "/".join(url.split("/", 3)[:3])


def _error_message(error: Exception) -> str:
    if isinstance(error, _UNTOLD):
        return "the address or a header contains characters that HTTP does not allow"
    return str(error) or type(error).__name__
