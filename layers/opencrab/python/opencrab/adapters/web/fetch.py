"""Fetching a page: every hop is judged by name and by number, and bounded in size and time."""

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from time import monotonic

import httpcore
import httpx

from opencrab.adapters.web.address import Address, AllowList
from opencrab.adapters.web.body import body_of
from opencrab.adapters.web.charset import decode_page
from opencrab.adapters.web.connection import Clock, PinnedBackend, Resolve, resolve_web_host
from opencrab.adapters.web.extraction import extract_page
from opencrab.adapters.web.plain import (
    clip_page_text,
    one_visible_page_line,
    strip_invisible_page_text,
)
from opencrab.domain.errors import Invalid, Refused, Unavailable
from opencrab.ports.web import WebPage

SECONDS = 20.0
HOPS = 5
TEXT_BYTES = 20 * 1024
_READ = 4 * TEXT_BYTES
"""Characters that are looked at, many of which may be invisible."""

_TITLE = 200
_ACCEPTED = "text/html,text/plain,text/markdown,application/json,application/xml;q=0.9"
_HEADERS = [("user-agent", "opencrab"), ("accept", _ACCEPTED), ("accept-encoding", "gzip")]
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_PLAIN = frozenset(
    {"text/plain", "text/markdown", "application/json", "application/xml", "text/xml"}
)
_OK = 200
_MOVED = frozenset({301, 302, 303, 307, 308})
_TOO_MANY = 429
_SERVER_ERROR = 500


class HttpPages:
    """`ports.web.Web`: GET without cookies, keys and referrer, over a new connection each time.

    Errors never quote what a server says, since error texts do not count as external words.

    Args:
        allowed: The URLs that may be fetched.
        connector: Connects to numeric addresses; its timeouts are deadlines.
        resolve: Resolves a host name.
        clock: Monotonic seconds, the same clock as the connector's.
        new_tls: Creates the TLS context that verifies servers.
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
        self._backend = PinnedBackend(connector, resolve, clock)
        self._clock = clock
        self._new_tls = new_tls

    def prefix(self, url: str) -> str | None:
        return self._allowed.prefix(Address.of(url))

    def fetch(self, url: str) -> WebPage:
        address, deadline = Address.of(url), self._clock() + SECONDS
        if self._allowed.prefix(address) is None:
            raise Refused(
                "this address is not allowed", cure=f"allowed are addresses below {self._allowed}"
            )
        for _ in range(HOPS + 1):
            answer = self._answer(address, deadline)
            if isinstance(answer, WebPage):
                return answer
            address = answer
        raise Refused(f"the page redirects more than {HOPS} times", cure="use another address")

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._new_tls()

    def _answer(self, address: Address, deadline: float) -> WebPage | Address:
        """Return the page, or the address that it redirects to."""
        url = httpcore.URL(
            scheme=address.scheme.encode(),
            host=address.host.encode(),
            port=None,
            target=(address.path + address.query).encode(),
        )
        patience = dict.fromkeys(("connect", "read", "write"), deadline)
        with (
            self._explained(),
            httpcore.HTTPConnection(
                origin=url.origin, ssl_context=self._tls, network_backend=self._backend
            ) as connection,
            connection.stream(
                "GET", url, headers=_HEADERS, extensions={"timeout": patience}
            ) as response,
        ):
            headers = {
                name.decode("latin-1").lower(): value.decode("utf-8", "replace")
                for name, value in response.headers
            }
            if response.status in _MOVED:
                return self._moved(address, headers.get("location", ""))
            _check_status(response.status)
            kind = _kind(headers)
            chunks = self._in_time(response.iter_stream(), deadline)
            body = body_of(chunks, headers.get("content-encoding", "").strip().lower())
            return self._page(address, kind, decode_page(body, headers["content-type"]), deadline)

    def _moved(self, address: Address, location: str) -> Address:
        try:
            target = address.resolve(location)
        except Invalid:
            target = None
        if target is None or self._allowed.prefix(target) is None:
            raise Refused(
                "the page redirects to an address that is not allowed",
                cure="use another page, or ask your owner to allow the target",
            )
        return target

    def _page(self, address: Address, kind: str, text: str, deadline: float) -> WebPage:
        title, more = "", False
        if kind in _HTML:
            title, text, more = extract_page(text, _READ, lambda: self._check_time(deadline))
        shown, cut = clip_page_text(strip_invisible_page_text(text[:_READ]), TEXT_BYTES)
        return WebPage(
            url=address.url,
            title=one_visible_page_line(title, _TITLE),
            text=shown,
            cut=cut or more or len(text) > _READ,
        )

    def _in_time(self, chunks: Iterator[bytes], deadline: float) -> Iterator[bytes]:
        for chunk in chunks:
            self._check_time(deadline)
            yield chunk

    def _check_time(self, deadline: float) -> None:
        if self._clock() >= deadline:
            raise httpcore.ReadTimeout

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Translate httpcore's errors, without text from the server."""
        try:
            yield
        except httpcore.TimeoutException:
            raise Unavailable(
                f"the page did not load within {SECONDS:g} s",
                cure="try again later, or use another page",
            ) from None
        except (httpcore.ConnectError, httpcore.UnsupportedProtocol):
            raise Unavailable(
                "no TLS connection to the page's server",
                cure="try again later, or use another page",
            ) from None
        except (httpcore.NetworkError, httpcore.ProtocolError):
            raise Unavailable(
                "the page's server closed the connection",
                cure="try again later, or use another page",
            ) from None


def _check_status(status: int) -> None:
    if status == _OK:
        return
    if status == _TOO_MANY or status >= _SERVER_ERROR:
        raise Unavailable(
            f"the page's server returned status {status}",
            cure="try again later, or use another page",
        )
    raise Invalid(f"the page's server returned status {status}", cure="use another address")


def _kind(headers: Mapping[str, str]) -> str:
    """Return the media type; raise Invalid unless it is a text format."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_xml = kind.startswith("application/") and kind.endswith("+xml")
    if kind not in _HTML | _PLAIN and not is_xml:
        raise Invalid(
            "the page is not text: only HTML, plain text, Markdown, JSON and XML are read",
            cure="use another address",
        )
    return kind
