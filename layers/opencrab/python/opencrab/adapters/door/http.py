"""Plain HTTP/1.1: small requests to one host over a socket of one's own, each within its time.

For the function whose cold start is counted in milliseconds: `http.client` brings along a parser
of mail and takes longer to load than both requests to make. It knows neither AWS nor Discord.
"""

import logging
import os
import socket
import ssl
import sys
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, BinaryIO, NamedTuple

from opencrab.domain.errors import Unavailable

MOST_BYTES = 1 << 20
"""No answer that we wait for is longer."""

IDLE_SECONDS = 45.0
"""A connection that was silent for longer is taken for closed."""

_LINE_BYTES, _HEADERS = 1 << 14, 100
_PORTS = {"https": 443, "http": 80}
_INFORMATION = 200
_EMPTY = (204, 304)

log = logging.getLogger(__name__)


class HttpResponse(NamedTuple):
    """Status code, body and entity tag of an HTTP response; the tag is empty if it has none."""

    status: int
    content: bytes
    etag: str = ""


class PlainHttp:
    """An HTTP client for one host that reuses its connections."""

    def __init__(self, url: str, trust: ssl.SSLContext | None = None) -> None:
        scheme, _, rest = url.partition("://")
        self.host, slash, path = rest.partition("/")
        self._path = f"{slash}{path}".rstrip("/")
        name, _, port = self.host.partition(":")
        # As bytes: for a text Python loads the tables of international names, in vain.
        self._address = (name.encode("ascii"), int(port or _PORTS[scheme]))
        self._trust = trust if scheme == "https" else None
        self._kept: list[_Connection] = []

    def post(
        self, path: str, body: bytes, headers: Mapping[str, str], *, seconds: float
    ) -> HttpResponse:
        """Send a POST that is safe to repeat, and return the response.

        If a reused connection was closed, the request is sent again on a new one. Raises
        Unavailable if there is no response in time; whether the request arrived is then unknown.
        """
        given = {"content-length": str(len(body)), **headers}
        return self._send("POST", path, given, body, seconds)

    def get(self, path: str, headers: Mapping[str, str], *, seconds: float) -> HttpResponse:
        """Send a GET, as `post` does."""
        return self._send("GET", path, headers, b"", seconds)

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> HttpResponse:
        deadline = time.monotonic() + seconds
        given = {"host": self.host, **headers}
        lines = "".join(f"{name}: {text}\r\n" for name, text in given.items())
        head = f"{method} {self._path}{path} HTTP/1.1\r\n{lines}\r\n"
        try:
            return self._asked(head.encode("latin-1") + body, deadline)
        except (OSError, ValueError) as error:
            why = f"no response from {self.host}: {type(error).__name__}"
            raise Unavailable(why, cure="wait and try again") from error

    def _asked(self, request: bytes, deadline: float) -> HttpResponse:
        connection = self._taken()
        if connection is not None:
            try:
                return self._exchanged(connection, request, deadline)
            except TimeoutError:
                raise
            except (OSError, ValueError):
                log.info("reused connection was closed: host=%s", self.host)
        return self._exchanged(_Connection(self._opened(deadline)), request, deadline)

    def _opened(self, deadline: float) -> socket.socket:
        address: Any = self._address  # typeshed knows no name as bytes
        opened = socket.create_connection(address, timeout=_left(deadline))
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._trust is None:
                return opened
            opened.settimeout(_left(deadline))
            return self._trust.wrap_socket(opened, server_hostname=self._address[0])
        except BaseException:
            opened.close()
            raise

    def _taken(self) -> "_Connection | None":
        try:
            connection = self._kept.pop()
        except IndexError:
            return None
        if time.monotonic() - connection.used <= IDLE_SECONDS:
            return connection
        connection.close()
        return None

    def _exchanged(
        self, connection: "_Connection", request: bytes, deadline: float
    ) -> HttpResponse:
        try:
            answered = connection.exchange(request, deadline)
        except BaseException:
            connection.close()
            raise
        if connection.stays_open:
            self._kept.append(connection)
        else:
            connection.close()
        return answered


class _Connection:
    """One HTTP/1.1 connection; it reads the parts of RFC 9112 that responses need."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._file: BinaryIO = opened.makefile("rb")
        self.stays_open = True
        self.used = 0.0

    def __del__(self) -> None:
        self.close()

    def exchange(self, request: bytes, deadline: float) -> HttpResponse:
        """Send a request and read its response; raise OSError, or ValueError for invalid HTTP."""
        self._socket.settimeout(_left(deadline))
        self._socket.sendall(request)
        status, headers = _INFORMATION - 1, dict[str, str]()
        while status < _INFORMATION:
            self._socket.settimeout(_left(deadline))
            status, headers = self._head()
        self._socket.settimeout(_left(deadline))
        content = b"" if status in _EMPTY else self._content(headers)
        self.stays_open &= headers.get("connection", "").lower() != "close"
        self.used = time.monotonic()
        return HttpResponse(status, content, headers.get("etag", ""))

    def close(self) -> None:
        """Close the socket and its file."""
        self._file.close()
        self._socket.close()

    def _head(self) -> tuple[int, dict[str, str]]:
        version, status, *_ = [*self._line().split(" ", 2), ""]
        if not version.startswith("HTTP/1."):
            raise ValueError("invalid HTTP/1 response")
        self.stays_open = version == "HTTP/1.1"
        headers: dict[str, str] = {}
        while line := self._line():
            name, _, text = line.partition(":")
            headers[name.lower()] = text.strip()
            if len(headers) > _HEADERS:
                raise ValueError("too many headers")
        return int(status), headers

    def _content(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        if "content-length" in headers:
            return self._exactly(int(headers["content-length"]))
        self.stays_open = False
        return self._file.read(MOST_BYTES)

    def _chunks(self) -> bytes:
        content = b""
        while size := int(self._line().partition(";")[0], 16):
            content += self._exactly(size)
            if self._line() or len(content) > MOST_BYTES:
                raise ValueError("chunk length mismatch")
        while self._line():
            continue
        return content

    def _exactly(self, size: int) -> bytes:
        if not 0 <= size <= MOST_BYTES:
            raise ValueError("response too large")
        content = self._file.read(size)
        if len(content) != size:
            raise ConnectionError("response truncated")
        return content

    def _line(self) -> str:
        line = self._file.readline(_LINE_BYTES)
        if not line.endswith(b"\n"):
            raise ConnectionError("response truncated")
        return line.decode("latin-1").rstrip("\r\n")


@cache
def door_tls_context(bundle: str = "") -> ssl.SSLContext:
    """Return a TLS context that trusts a bundle of root certificates, or the layer's folder.

    From the folder, each root is loaded when needed. A bundle is loaded whole, some 140
    certificates, longer than all else that a small function does. Without bundle
    and folder, the system's roots are trusted.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if bundle:
        context.load_verify_locations(cafile=bundle)
    elif folder := _roots():
        context.load_verify_locations(capath=folder)
    else:
        context.load_default_certs()
    return context


def _roots() -> str | None:
    """Return the folder written by layers/dependencies/roots.py; None if there is none."""
    places = (f"{folder}/certifi/roots" for folder in sys.path)
    # Not by pathlib, which costs milliseconds to load.
    return next((place for place in places if os.path.isdir(place)), None)  # noqa: PTH112


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("request timed out")
    return left
